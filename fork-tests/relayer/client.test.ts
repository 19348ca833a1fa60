/** The relayer's client between a real api and a real relayer: one intent, one execution, within the host's policy. */
import { describe, expect, it } from 'vitest';
import { createMemoryJournal } from '../../relayer/client/index.ts';
import { executions } from './agent.ts';
import { hashOf, planned, sellTerms, useClientScene } from './client-scene.ts';

const scene = useClientScene();

describe('an intent', () => {
  it('is planned, signed with the quoted fee, and executed once; the next pays right the first time', async () => {
    const journal = createMemoryJournal();
    const { run } = await scene.client(journal);
    const first = scene.intent('first');
    const hash = hashOf(await run(first));
    expect(await scene.hashes()).toEqual([hash]);
    expect(first.asked).toEqual([0n]);
    expect(scene.proxy.statuses).toEqual([402, 200]);
    const [unpaid, paid] = scene.proxy.posts;
    expect({ ...paid?.action, fee: '' }).toEqual({ ...unpaid?.action, fee: '' });
    expect(journal.records.map(({ state }) => state)).toEqual([
      'planned',
      'signed',
      'submitted',
      'signed',
      'submitted',
      'accepted',
      'settled',
    ]);
    const receipt = journal.records.find((record) => record.state === 'accepted')?.receipt;
    expect(receipt?.signer).toBe(scene.fork.accounts.relayer.account.address);

    const second = scene.intent('second');
    const other = hashOf(await run(second));
    expect(await scene.hashes()).toEqual([hash, other]);
    expect(scene.proxy.statuses).toEqual([402, 200, 200]);
    expect(second.asked[0]).toBeGreaterThan(0n);
    expect(BigInt(scene.proxy.posts[2]?.action.fee ?? '0')).toBe(second.asked[0]);

    // A restart remembers both: the ends and the fee.
    const again = await scene.client(journal);
    expect(hashOf(await again.run(planned('first')))).toBe(hash);
    expect(scene.proxy.posts).toHaveLength(3);
    const third = scene.intent('third', sellTerms(10n ** 16n));
    await expect(again.run(third)).rejects.toMatchObject({
      name: 'PlanError',
      code: 'BAD_REQUEST',
    });
  });

  it('asked for by many callers at once is one', async () => {
    const { run, settle } = await scene.client(createMemoryJournal());
    const one = scene.intent('one');
    const outcomes = await Promise.all([run(one), settle('one'), run(one), run(one)]);
    expect(new Set(outcomes.map(hashOf)).size).toBe(1);
    expect(one.asked).toHaveLength(1);
    expect(await scene.hashes()).toHaveLength(1);
    expect(await settle('never heard of')).toBeNull();
  });

  it('to sell sells exactly the shares asked for', async () => {
    const { run } = await scene.client(createMemoryJournal());
    hashOf(await run(scene.intent('buy')));
    const [bought] = await executions(scene.fork, scene.agent.account);
    const shares = bought?.args.shares ?? 0n;
    hashOf(await run(scene.intent('sell', sellTerms(shares))));
    expect((await executions(scene.fork, scene.agent.account))[1]?.args).toMatchObject({
      kind: 1,
      shares,
    });
  });

  it('whose plan is not what was asked is neither signed nor posted', async () => {
    const journal = createMemoryJournal();
    const { run } = await scene.client(journal);
    const honest = scene.intent('tampered');
    const vault = scene.fork.vault('MAG7');
    const outcome = await run({
      ...honest,
      plan: async (fee) => scene.tampered(await honest.plan(fee), { vault }),
    });
    expect(outcome).toMatchObject({
      tag: 'refused',
      by: 'policy',
      next: 'ask_host',
      openUntil: null,
    });
    expect(outcome).toMatchObject({ message: expect.stringMatching(/^vault: /) as string });
    expect(scene.proxy.posts).toEqual([]);
    expect(journal.records).toEqual([]);
  });

  it('is not paid above the cap of the host', async () => {
    const { run } = await scene.client(createMemoryJournal(), {
      policy: { ...scene.policy, maxFee: 1n },
    });
    expect(await run(scene.intent('dear'))).toMatchObject({
      tag: 'refused',
      by: 'policy',
      code: 'FEE_REQUIRED',
      next: 'ask_host',
    });
    expect(scene.proxy.statuses).toEqual([402]);
    expect(await scene.hashes()).toEqual([]);
  });

  it('that would revert is built again under the same nonce, so that one of the two runs at most', async () => {
    const { run } = await scene.client(createMemoryJournal());
    const one = scene.intent('moved');
    const refused = await run({
      ...one,
      plan: async (fee) => scene.tampered(await one.plan(fee), { limit: '1' }),
    });
    expect(refused).toMatchObject({ tag: 'refused', by: 'relayer', next: 'rebuild' });
    const hash = hashOf(await run(one));
    const [execution] = await executions(scene.fork, scene.agent.account);
    expect(await scene.hashes()).toEqual([hash]);
    expect(execution?.args.nonce).toBe(BigInt(scene.proxy.posts[0]?.action.nonce ?? '0'));
  });
});
