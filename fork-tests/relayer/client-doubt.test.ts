/** Whatever is lost between the client and the relayer, an intent runs once, and its end is told when it is known. */
import type { Hex } from 'viem';
import { afterEach, describe, expect, it } from 'vitest';
import { sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { type ActionJson, actionFromJson } from '../../contracts-abi/typed-data.ts';
import { createMemoryJournal, type Journal, type Outcome } from '../../relayer/client/index.ts';
import { executions, mine, signedBody } from './agent.ts';
import { type RelayerChild, startRelayerChild } from './child.ts';
import { hashOf, planned, useClientScene, withoutChain } from './client-scene.ts';
import { clientOf, inPool, relayerEnv, until } from './relayer.ts';

const scene = useClientScene();

describe('an answer that is lost', () => {
  it.each([
    ['with the connection, before the relayer had the body', { fault: 'drop', forwarded: false }],
    ['with the connection, after it was executed', { fault: 'drop', forwarded: true }],
    ['behind a gateway’s 502', { fault: 'answer', status: 502, text: '<html>Bad Gateway</html>' }],
    ['behind a 200 of somebody else', { fault: 'answer', status: 200, text: 'sign in' }],
    ['for ever', { fault: 'hang' }],
  ] as const)('%s is found, and nothing is sent twice', async (_, fault) => {
    for (const change of [{}, withoutChain]) {
      const before = await scene.hashes();
      const { run } = await scene.client(createMemoryJournal(), {
        ...change,
        timing: { pollMs: 50, totalMs: 30_000, postTimeoutMs: 3_000 },
      });
      // The quote comes through; what is lost is the answer to the paid action.
      const one = scene.intent('lost');
      scene.proxy.faults = [fault];
      const hash = hashOf(await run(one));
      expect(scene.proxy.faults).toEqual([]);
      expect(await scene.hashes()).toEqual([...before, hash]);
      expect(one.asked).toHaveLength(1);

      const next = scene.intent('lost too');
      scene.proxy.faults = [fault];
      const other = hashOf(await run(next));
      expect(await scene.hashes()).toEqual([...before, hash, other]);
      // Paid right the first time, so that the lost answer was that of the execution.
      const nonce = scene.proxy.posts.at(-1)?.action.nonce;
      const versions = new Set(
        scene.proxy.posts
          .filter(({ action }) => action.nonce === nonce)
          .map(({ action }) => action.fee),
      );
      expect(versions.size).toBe(1);
    }
  });

  it('to a process that ends there is found by the next one, wherever between signature and answer it ended', async () => {
    const journal = createMemoryJournal();
    const hash = hashOf(await (await scene.client(journal)).run(scene.intent('cut')));
    const posts = scene.proxy.posts.length;
    const cuts = journal.records.filter(({ state }) => state !== 'settled').length;
    expect(cuts).toBe(6);
    // With only the plan on record nothing was signed, and nothing can have run: from the signature on.
    for (let cut = 4; cut <= cuts; cut += 1) {
      for (const change of [{}, withoutChain]) {
        const copy = createMemoryJournal(journal.records.slice(0, cut));
        const next = await scene.client(copy, change);
        expect(hashOf(await next.run(planned('cut')))).toBe(hash);
        const [recovered] = await (
          await scene.client(createMemoryJournal(journal.records.slice(0, cut)), change)
        ).recover();
        expect(hashOf(recovered ?? null)).toBe(hash);
      }
    }
    expect(scene.proxy.posts).toHaveLength(posts);
    expect(await scene.hashes()).toEqual([hash]);
  });

  it('before it could be asked for, since the journal failed: nothing was posted, and the next process posts it', async () => {
    const journal = createMemoryJournal();
    const full: Journal = {
      read: journal.read,
      append: (record) =>
        record.state === 'submitted'
          ? Promise.reject(new Error('disk full'))
          : journal.append(record),
    };
    const { run } = await scene.client(full);
    await expect(run(scene.intent('begun'))).rejects.toThrow('disk full');
    expect(scene.proxy.posts).toEqual([]);
    expect(journal.records.map(({ state }) => state)).toEqual(['planned', 'signed']);
    const hash = hashOf(await (await scene.client(journal)).run(planned('begun')));
    expect(await scene.hashes()).toEqual([hash]);
  });

  it('is told as unknown when the time is up, with what to do, and known later', async () => {
    const journal = createMemoryJournal();
    scene.proxy.upstream = null;
    const soon = { pollMs: 20, totalMs: 300 };
    const { run } = await scene.client(journal, { timing: soon });
    const outcome = await run(scene.intent('later'));
    expect(outcome).toMatchObject({ tag: 'unknown', hash: null, digest: /^0x/ });
    expect(outcome).toMatchObject({
      message: expect.stringMatching(/build nothing else/) as string,
    });
    scene.proxy.upstream = scene.relayer.url;
    const hash = hashOf(await (await scene.client(journal)).run(planned('later')));
    expect(await scene.hashes()).toEqual([hash]);
  });
});

describe('an action that does not run', () => {
  /** Another host with the same key: the same nonce, other terms. */
  async function executedByRival(plan: unknown): Promise<Hex> {
    const action = actionFromJson((plan as { action: ActionJson }).action);
    const other = { ...action, limit: action.limit - 1n };
    const { signature } = await signedBody(scene.fork, scene.agent, other);
    const hash = await scene.fork.userClient('dave').writeContract({
      address: scene.fork.deployment.sessionModule,
      abi: sessionModuleAbi,
      functionName: 'execute',
      args: [other, signature],
      gas: 5_000_000n,
      chain: null,
      maxFeePerGas: 2_000_000_000n,
      maxPriorityFeePerGas: 0n,
    });
    await mine(scene.fork, hash);
    return hash;
  }

  /** In the pool and never mined, its deadline passed, its place taken: it can no longer run. */
  async function dropped(hash: unknown): Promise<void> {
    await inPool(scene.fork, hash);
    await scene.fork.client.increaseTime({ seconds: 400 });
    const { address } = scene.fork.accounts.relayer.account;
    await scene.fork.userClient('relayer').sendTransaction({
      to: address,
      value: 1n,
      nonce: await scene.fork.client.getTransactionCount({ address }),
      gas: 21_000n,
      chain: null,
      maxFeePerGas: 20_000_000_000n,
      maxPriorityFeePerGas: 10_000_000_000n,
    });
    await scene.fork.client.mine({ blocks: 30 });
    await scene.fork.client.setAutomine(true);
  }

  it.each([
    ['by the chain', {}],
    ['by the relayer’s word alone', withoutChain],
  ])('is known never to run %s, and then begins again under another nonce', async (_, change) => {
    const journal = createMemoryJournal();
    const options = { ...change, timing: { pollMs: 50, totalMs: 25_000 } };
    const { run, settle } = await scene.client(journal, options);
    hashOf(await run(scene.intent('fee')));
    await scene.fork.client.setAutomine(false);
    const waiting = run(scene.intent('dropped'));
    const digest = await until('a post', async () => {
      const last = journal.records.at(-1);
      return last?.id === 'dropped' && 'digest' in last ? last.digest : null;
    });
    const pending = await until('broadcast', async () => {
      const { body } = await scene.relayer.get(`/relay/v1/actions/${digest}`);
      return body.status === 'pending' ? body : null;
    });
    await dropped(pending.hash);
    expect(await waiting).toEqual({
      tag: 'neverExecuted',
      id: 'dropped',
      reason: 'expired',
      hash: null,
    });
    expect(await settle('dropped')).toMatchObject({ tag: 'neverExecuted' });
    expect(await scene.hashes()).toHaveLength(1);
    await scene.api.marksSettled();
    if (change !== withoutChain) {
      const hash = hashOf(await run(scene.intent('dropped')));
      expect((await scene.hashes()).at(-1)).toBe(hash);
      const nonces = (await executions(scene.fork, scene.agent.account)).map(
        ({ args }) => args.nonce,
      );
      expect(new Set(nonces).size).toBe(2);
    }
  });

  it('is known never to run by the relayer’s word alone though nobody waited when it expired', async () => {
    const journal = createMemoryJournal();
    await scene.fork.client.setAutomine(false);
    const soon = { ...withoutChain, timing: { pollMs: 20, totalMs: 100 } };
    const { run } = await scene.client(journal, soon);
    const left = await run(scene.intent('left'));
    expect(left).toMatchObject({
      tag: 'unknown',
      hash: expect.stringMatching(/^0x/) as string,
    });
    const { digest, hash } = left as Extract<Outcome, { tag: 'unknown' }>;
    await dropped(hash);
    await until('the second try was refused', async () => {
      const { body } = await scene.relayer.get(`/relay/v1/actions/${digest}`);
      return body.status === 'accepted' ? body : null;
    });
    const { settle } = await scene.client(journal, withoutChain);
    expect(await settle('left')).toMatchObject({ tag: 'neverExecuted', reason: 'expired' });
    expect(await scene.hashes()).toEqual([]);
  });

  it('because another action used its nonce is told so', async () => {
    const { run } = await scene.client(createMemoryJournal());
    const one = scene.intent('rival');
    let rival: Hex | null = null;
    const outcome = await run({
      ...one,
      plan: async (fee) => {
        const plan = await one.plan(fee);
        rival = await executedByRival(plan);
        return plan;
      },
    });
    expect(outcome).toEqual({
      tag: 'neverExecuted',
      id: 'rival',
      reason: 'nonce_used_elsewhere',
      hash: rival,
    });
    expect(await scene.hashes()).toEqual([rival]);
  });

  it.each([
    ['another transaction than the one that executed it', { ran: 'ours' }],
    ['that it ran where another action used its nonce', { ran: 'rival' }],
  ] as const)('is not taken from a relayer that says %s', async (_, { ran }) => {
    const { run } = await scene.client(createMemoryJournal());
    hashOf(await run(scene.intent('fee')));
    const one = scene.intent('other hash');
    const lie = { ok: true, hash: `0x${'ab'.repeat(32)}`, blockNumber: 1, gasUsed: 1 };
    scene.proxy.faults = [{ fault: 'answer', status: 200, text: JSON.stringify(lie) }];
    const outcome = await run({
      ...one,
      plan: async (fee) => {
        const plan = await one.plan(fee);
        if (ran === 'rival') await executedByRival(plan);
        return plan;
      },
    });
    const hash = (await scene.hashes()).at(-1);
    expect(outcome).toMatchObject({
      tag: ran === 'ours' ? 'executed' : 'neverExecuted',
      hash,
    });
  });

  it('is believed to have run only when the chain shows it', async () => {
    const { run } = await scene.client(createMemoryJournal(), {
      timing: { pollMs: 20, totalMs: 1_500 },
    });
    const lie = JSON.stringify({
      ok: true,
      hash: `0x${'ab'.repeat(32)}`,
      blockNumber: 1,
      gasUsed: 1,
    });
    scene.proxy.faults = [{ fault: 'answer', status: 200, text: lie }];
    const outcome = await run(scene.intent('lie'));
    // The chain does not show it; the status route and the same body then tell the truth.
    hashOf(outcome);
    expect(await scene.hashes()).toEqual([hashOf(outcome)]);
  });
});

describe('a relayer that is killed', () => {
  const children: RelayerChild[] = [];
  afterEach(async () => {
    await Promise.all(children.splice(0).map(({ child }) => child.stop(5_000)));
  });
  const launch = async (): Promise<RelayerChild> => {
    const started = await startRelayerChild(
      scene.data.path,
      relayerEnv(scene.fork, scene.data, { RELAY_WAIT_MS: '2000' }),
    );
    children.push(started);
    scene.proxy.upstream = started.url;
    return started;
  };

  it('with the action in flight is asked again when it is back: one execution', async () => {
    await scene.relayer.stop();
    const first = await launch();
    const journal = createMemoryJournal();
    const { run } = await scene.client(journal);
    hashOf(await run(scene.intent('fee')));
    await scene.fork.client.setAutomine(false);
    const one = scene.intent('killed');
    const running = run(one);
    const pending = await until('broadcast', async () => {
      const last = journal.records.at(-1);
      if (last === undefined || last.id !== 'killed' || !('digest' in last)) return null;
      const { status, body } = await clientOf(first.url).get(`/relay/v1/actions/${last.digest}`);
      return status === 200 && body.status === 'pending' ? body : null;
    });
    await inPool(scene.fork, pending.hash);
    first.child.kill();
    await first.child.exited;
    scene.proxy.upstream = null;
    await scene.fork.client.setAutomine(true);
    await scene.fork.client.mine({ blocks: 1 });
    await launch();
    const hash = hashOf(await running);
    expect(await scene.hashes()).toHaveLength(2);
    expect((await scene.hashes()).at(-1)).toBe(hash);
    expect(one.asked).toHaveLength(1);
  });
});
