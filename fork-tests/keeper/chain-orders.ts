/** Orders and cover made by transactions of their own, where no api builds any. */
import { type Address, erc20Abi, type Hex, parseEventLogs } from 'viem';
import { USD } from '../../contracts-abi/constants.ts';
import {
  basketZapperAbi,
  coverMarketAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  navOracleAbi,
  scheduleEscrowAbi,
} from '../../contracts-abi/generated/index.ts';
import { write } from '../chain/client.ts';
import type { Fork } from '../harness/fork.ts';
import { buySwaps } from '../harness/trade.ts';

const DAY = 86_400;
const NEVER = 4_000_000_000n;

const alice = (fork: Fork) => fork.accounts.alice.account;

async function approve(fork: Fork, token: Address, spender: Address): Promise<void> {
  const args = [spender, 10n ** 30n] as const;
  await write(fork.client, alice(fork), {
    address: token,
    abi: erc20Abi,
    functionName: 'approve',
    args,
  });
}

function only<T>(logs: readonly { args: T }[], what: string): T {
  const [first] = logs;
  if (first === undefined) throw new Error(`no ${what}`);
  return first.args;
}

/** Dollars x 1e18. */
export async function referenceNav(fork: Fork, vault: Address): Promise<bigint> {
  return await fork.client.readContract({
    address: fork.deployment.oracle,
    abi: navOracleAbi,
    functionName: 'referenceNav',
    args: [vault],
  });
}

/** Alice buys so many dollars of a basket. */
export async function buy(fork: Fork, vault: Address, dollars: bigint): Promise<bigint> {
  const { client, deployment } = fork;
  await approve(fork, deployment.usdg, deployment.zapper);
  const nav = await referenceNav(fork, vault);
  const shares = (dollars * 10n ** 36n) / nav;
  const { swaps, cost } = await buySwaps(client, deployment, vault, (shares * 1001n) / 1000n);
  const owner = alice(fork).address;
  await write(client, alice(fork), {
    address: deployment.zapper,
    abi: basketZapperAbi,
    functionName: 'buyExact',
    args: [vault, shares, (cost * 102n) / 100n, swaps, owner, owner, NEVER],
  });
  return shares;
}

/** Alice's stop at `percent` of the reference now. */
export async function stop(
  fork: Fork,
  vault: Address,
  shares: bigint,
  percent: bigint,
): Promise<Hex> {
  const { client, deployment } = fork;
  await approve(fork, vault, deployment.exitEscrow);
  const terms = {
    vault,
    shares,
    stopNav: ((await referenceNav(fork, vault)) * percent) / 100n,
    tpNav: 0n,
    hardFloorNav: 0n,
    slippageBps: 0,
    capBps: 0,
    deadline: (await fork.now()) + DAY,
  };
  const { logs } = await write(client, alice(fork), {
    address: deployment.exitEscrow,
    abi: exitEscrowAbi,
    functionName: 'create',
    args: [terms],
  });
  return only(parseEventLogs({ abi: exitEscrowAbi, eventName: 'ExitCreated', logs }), 'exit').id;
}

/** Alice's limit buy at `percent` of the reference now. */
export async function limit(
  fork: Fork,
  vault: Address,
  dollars: bigint,
  percent: bigint,
): Promise<Hex> {
  const { client, deployment } = fork;
  await approve(fork, deployment.usdg, deployment.limitEscrow);
  const terms = {
    vault,
    amount: dollars * USD,
    triggerNav: ((await referenceNav(fork, vault)) * percent) / 100n,
    slippageBps: 0,
    capBps: 0,
    deadline: (await fork.now()) + DAY,
  };
  const { logs } = await write(client, alice(fork), {
    address: deployment.limitEscrow,
    abi: limitEscrowAbi,
    functionName: 'create',
    args: [terms],
  });
  return only(parseEventLogs({ abi: limitEscrowAbi, eventName: 'LimitCreated', logs }), 'limit').id;
}

export async function cancelLimit(fork: Fork, id: Hex): Promise<void> {
  await write(fork.client, alice(fork), {
    address: fork.deployment.limitEscrow,
    abi: limitEscrowAbi,
    functionName: 'cancel',
    args: [id],
  });
}

/** Alice's schedule of hourly slots of $50, the first due at once. */
export async function schedule(fork: Fork, vault: Address, slots: number): Promise<Hex> {
  const { client, deployment } = fork;
  await approve(fork, deployment.usdg, deployment.scheduleEscrow);
  const total = 50n * USD * BigInt(slots) + 1n;
  const terms = { kind: 0, vault, total, slots, interval: 3_600, startAt: 0 };
  const { logs } = await write(client, alice(fork), {
    address: deployment.scheduleEscrow,
    abi: scheduleEscrowAbi,
    functionName: 'create',
    args: [{ ...terms, slippageBps: 0, capBps: 0 }],
  });
  const created = parseEventLogs({ abi: scheduleEscrowAbi, eventName: 'ScheduleCreated', logs });
  return only(created, 'schedule').id;
}

/** Alice buys $200 of each offer from 3% on of the week trading now; each sale is a position. */
export async function takeCover(
  fork: Fork,
  vault: Address,
): Promise<{ week: number; close: number; settle: number }> {
  const { client, deployment } = fork;
  const market = { address: deployment.coverMarket, abi: coverMarketAbi } as const;
  const [, week] = await client.readContract({ ...market, functionName: 'currentWeek' });
  const times = await client.readContract({ ...market, functionName: 'weekOf', args: [week] });
  const logs = await client.getLogs({
    address: deployment.coverMarket,
    fromBlock: BigInt(deployment.startBlock),
  });
  const ids = parseEventLogs({ abi: coverMarketAbi, eventName: 'Listed', logs })
    .map(({ args }) => args)
    .filter(({ terms }) => terms.week === week && terms.vault === vault && terms.fromBps === 300)
    .map(({ id }) => id);
  await approve(fork, deployment.usdg, deployment.coverMarket);
  const each = ids.map(() => 200n);
  await write(client, alice(fork), {
    ...market,
    functionName: 'take',
    args: [ids, each, 200n * BigInt(ids.length), 10n ** 12n],
  });
  return { week, ...times };
}
