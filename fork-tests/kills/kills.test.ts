/**
 * Real SIGKILLs of the relayer and keeper processes with work in flight, at every durable point of the sender and at
 * random moments. Judged by the chain's events: nothing accepted is lost, nothing runs twice, no nonce is stuck.
 * KILLS sets how many (default 60, half for each process). `npm run kills`.
 */
import { join } from 'node:path';
import { type Address, erc20Abi, type Hex, parseEventLogs } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { limitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { type Action, actionDigest } from '../../contracts-abi/typed-data.ts';
import { DURABLE_POINTS } from '../../runtime/sender/context.ts';
import { receiptOf } from '../chain/client.ts';
import type { Role } from '../chain/seed/accounts.ts';
import { createStack, type ProcessName, type Stack, until } from '../e2e/stack.ts';
import { type Fork, startFork } from '../harness/fork.ts';
import {
  type Agent,
  buyAction,
  executions,
  mine,
  openAgent,
  signedBody,
} from '../relayer/agent.ts';
import { Histogram, phasesLeft } from './journal.ts';
import { type Kill, needsStall, planKills, settingsFor } from './plan.ts';

const KILLS = Number(process.env.KILLS ?? '60');
const OWNERS: readonly Role[] = ['alice', 'bob', 'carol', 'dave'];
const PLAIN = { chain: null, maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 0n } as const;
const here = import.meta.dirname;

let fork: Fork;
let stack: Stack;
const states = new Histogram();
const points = new Histogram();

/** A small generator with a fixed seed: the same run again gives the same moments. */
let seed = 4663;
function random(): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return seed / 2_147_483_648;
}

beforeAll(async () => {
  fork = await startFork();
  stack = await createStack({ rpcUrl: fork.url, deployment: fork.deployment });
  await stack.start('api');
});

afterAll(async () => {
  await stack?.stop();
  await fork?.anvil.stop();
});

/** Starts the process with the kill armed, gives it work, and returns once it is dead. */
async function killWithWork(
  name: ProcessName,
  kill: Kill,
  give: () => Promise<unknown>,
): Promise<void> {
  const stalled = needsStall(kill.at);
  if (stalled) await fork.client.setAutomine(false);
  const entry = join(here, `${name}-entry.ts`);
  const env: Record<string, string> = { ...settingsFor(kill.at) };
  if (kill.at !== 'any') Object.assign(env, { CRASH_AT: kill.at, CRASH_NTH: String(kill.nth) });
  const started = await stack.start(name, { entry, env }).catch(async (error: unknown) => {
    // The round before left something to repair, and the point came while the process was starting.
    const code = await stack.running.get(name)?.child.exited;
    if (code !== null) throw error;
    return null;
  });
  // Answers break off with the process: that is the point.
  const given = give().catch(() => undefined);
  if (started !== null) {
    const { child } = started;
    if (kill.at === 'any') setTimeout(child.kill, kill.afterMs);
    let dead = false;
    void child.exited.then(() => {
      dead = true;
    });
    await until(`${name} killed at ${kill.at}`, async () => (dead ? true : null), 45_000);
  }
  await given;
  points.add(`${name} ${kill.at}`);
  const when = started === null ? ' while starting' : '';
  states.add(`${name}${when} left ${phasesLeft(stack.database(name), OWNERS.length)}`);
  if (stalled) {
    await fork.client.setAutomine(true);
    await fork.client.mine({ blocks: 1 });
  }
}

async function restart(name: ProcessName): Promise<() => Promise<void>> {
  const { child } = await stack.start(name, {
    entry: join(here, `${name}-entry.ts`),
    env: settingsFor('any'),
  });
  return () => child.stop(15_000);
}

/** No transaction of the wallet waits for a nonce that never comes. */
async function expectNoStuckNonce(role: Role): Promise<void> {
  const { address } = fork.accounts[role].account;
  await until(`${role} has nothing pending`, async () => {
    const [latest, pending] = await Promise.all([
      fork.client.getTransactionCount({ address, blockTag: 'latest' }),
      fork.client.getTransactionCount({ address, blockTag: 'pending' }),
    ]);
    return latest === pending ? true : null;
  });
  const content = await fork.client.getTxpoolContent();
  expect(Object.keys(content.queued).map((key) => key.toLowerCase())).not.toContain(
    address.toLowerCase(),
  );
}

it('kills the relayer: every action ran once, or was reported never to run and did not', async () => {
  const agents: Agent[] = [];
  for (const owner of OWNERS) {
    agents.push(await openAgent(fork, owner, 20_000n * USD, { dailyLimit: 50_000n * USD }));
  }
  const url = `${stack.urls.relayer}/relay/v1/account/execute`;
  let fee = 50_000n;
  let executed = 0;
  let refused = 0;

  for (const kill of planKills(Math.ceil(KILLS / 2), random, 3)) {
    const actions: { agent: Agent; action: Action }[] = [];
    for (const agent of agents) {
      actions.push({ agent, action: await buyAction(fork, agent, 20n * USD, { fee }) });
    }
    // An agent's way: on a 402 the same action with the fee asked.
    const post = async (entry: { agent: Agent; action: Action }) => {
      const answer = await stack.post(url, await signedBody(fork, entry.agent, entry.action));
      if (answer.status !== 402) return answer;
      fee = BigInt(String(answer.body.requiredFee));
      entry.action = { ...entry.action, fee };
      return stack.post(url, await signedBody(fork, entry.agent, entry.action));
    };
    await killWithWork('relayer', kill, () => Promise.allSettled(actions.map(post)));

    const stop = await restart('relayer');
    for (const entry of actions) {
      // Then the same body again until there is a final answer.
      const answer = await until(`an answer after ${kill.at}`, async () => {
        const got = await post(entry);
        return [202, 402, 500, 502, 503, 504].includes(got.status) ? null : got;
      });
      const digest = actionDigest(entry.action, fork.deployment.sessionModule);
      const runs = (await executions(fork, entry.agent.account)).filter(
        ({ args }) => args.digest === digest || args.nonce === entry.action.nonce,
      );
      if (answer.status === 200) {
        executed += 1;
        expect([kill.at, runs.length, runs[0]?.transactionHash]).toEqual([
          kill.at,
          1,
          answer.body.hash,
        ]);
      } else {
        refused += 1;
        expect([kill.at, answer.status, answer.body.code, runs.length]).toEqual([
          kill.at,
          answer.status,
          answer.body.code,
          0,
        ]);
        expect(answer.status).toBeGreaterThanOrEqual(400);
      }
    }
    await expectNoStuckNonce('relayer');
    await stop();
  }
  process.stdout.write(
    `relayer: ${executed} actions executed once, ${refused} reported not executed\n`,
  );
  expect(executed).toBeGreaterThan(0);
}, 3_600_000);

it('kills the keeper: every due order is filled once and every fee arrived', async () => {
  const vault = fork.vault('HEALTH');
  const escrow = fork.deployment.limitEscrow;
  const keeper = fork.accounts.keeper.account.address;
  const usdg = () =>
    fork.client.readContract({
      address: fork.deployment.usdg,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [keeper],
    });
  for (const owner of OWNERS) {
    const hash = await fork.userClient(owner).writeContract({
      address: fork.deployment.usdg,
      abi: erc20Abi,
      functionName: 'approve',
      args: [escrow, 1_000_000n * USD],
      ...PLAIN,
    });
    await mine(fork, hash);
  }
  const start = await usdg();
  const ids: Hex[] = [];

  // All that is due goes out in one transaction.
  for (const kill of planKills(Math.floor(KILLS / 2), random, 1)) {
    const given: Hex[] = [];
    const give = async (): Promise<void> => {
      for (const owner of OWNERS) {
        const hash = await fork.userClient(owner).writeContract({
          address: escrow,
          abi: limitEscrowAbi,
          functionName: 'create',
          args: [
            {
              vault,
              amount: 40n * USD,
              triggerNav: 0n,
              slippageBps: 300,
              capBps: 500,
              deadline: (await fork.now()) + 86_400,
            },
          ],
          ...PLAIN,
        });
        given.push(hash);
      }
      // With mining stopped the orders must be on chain before the keeper can send anything.
      if (needsStall(kill.at)) await fork.client.mine({ blocks: 1 });
    };
    await killWithWork('keeper', kill, give);
    const stop = await restart('keeper');
    for (const hash of given) {
      const receipt = await receiptOf(fork.client, hash, 60_000);
      const [event] = parseEventLogs({
        abi: limitEscrowAbi,
        eventName: 'LimitCreated',
        logs: receipt.logs,
      });
      if (event !== undefined) ids.push(event.args.id);
    }
    await until(
      `every order filled after ${kill.at}`,
      async () => {
        const filled = await fills(escrow);
        return ids.every((id) => filled.has(id)) ? true : null;
      },
      60_000,
    );
    await expectNoStuckNonce('keeper');
    await stop();
  }
  const filled = await fills(escrow);
  expect(ids.length).toBe(Math.floor(KILLS / 2) * OWNERS.length);
  expect(
    [...filled.values()].every(({ count, executor }) => count === 1 && executor === keeper),
  ).toBe(true);
  expect((await usdg()) - start).toBe([...filled.values()].reduce((sum, { fee }) => sum + fee, 0n));
  process.stdout.write(`keeper: ${ids.length} orders filled once\n`);
}, 3_600_000);

async function fills(escrow: Address) {
  const logs = await fork.client.getContractEvents({
    address: escrow,
    abi: limitEscrowAbi,
    eventName: 'OrderFilled',
    fromBlock: BigInt(fork.deployment.startBlock),
    strict: true,
  });
  const byId = new Map<Hex, { count: number; fee: bigint; executor: Address }>();
  for (const { args } of logs) {
    const seen = byId.get(args.id);
    byId.set(args.id, {
      count: (seen?.count ?? 0) + 1,
      fee: (seen?.fee ?? 0n) + args.executorFee,
      executor: args.executor,
    });
  }
  return byId;
}

it('hit every durable point in both processes', () => {
  process.stdout.write(`kills at:\n${points.render()}\njournal found:\n${states.render()}\n`);
  expect(points.total).toBe(KILLS);
  if (KILLS >= 60) {
    for (const name of ['relayer', 'keeper']) {
      for (const point of DURABLE_POINTS)
        expect([name, point, points.has(`${name} ${point}`)]).toEqual([name, point, true]);
    }
  }
});
