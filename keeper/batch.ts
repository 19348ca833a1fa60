/**
 * Sends fills that are ready: alone, or several in one transaction of Multicall3 where that is cheaper. A member that
 * fails on chain does not sink the others: each call may fail by itself. Its gas is not estimated anew: the members' own
 * estimates together suffice for it, since each holds a whole transaction and cold pools. (An estimate that lets calls
 * fail would find the gas at which they all run dry.) Members that were simulated one behind another, in this order and
 * behind nobody else, are proven so; others are simulated as a batch first, with no call allowed to fail.
 */
import { encodeFunctionData, type Hex, multicall3Abi, toHex } from 'viem';
import { intentKeyOf } from './attempts.ts';
import type { Place } from './chain/together.ts';
import type { World } from './chain/world.ts';
import { keccak256 } from '../runtime/keys/keccak.ts';
import type { IntentState } from '../runtime/sender/types.ts';
import type { KeeperContext } from './context.ts';
import type { NewAttempt } from './journal/journal.ts';
import { applyEvent, recordOutcome } from './outcome.ts';
import { cutIntoBatches, isCheaper } from './policy/batch.ts';
import { withHeadroom } from './policy/fill.ts';
import { judgeProfit } from './policy/profit.ts';
import { openedWith, rowOf, SEND_WITHIN_SECONDS, send, type Terms } from './send.ts';
import { judgeOne } from './variants.ts';
import type { Fill } from './work.ts';

/** A fill that passed its simulation and pays. */
export type Ready = {
  work: Fill;
  attempt: number;
  terms: Terms;
  /** The node's estimate, without headroom. */
  gas: bigint;
  gainUsdg: bigint;
  /** Where it was simulated behind others; null: by itself. */
  place: Place | null;
  fingerprint: string;
};

/**
 * Sends each of `ready` once: in a batch, or by itself. What is left when the time is over comes with a later tick.
 * Never throws.
 * @returns how many of them are under way now
 * @param on.fault told of each job whose own sending failed, or whose batch did
 * @param on.sent given what is left to write down of a batch: before the tick ends, and after others were sent
 * @param isOver asked before each batch
 */
export async function sendReady(
  context: KeeperContext,
  ready: readonly Ready[],
  world: World,
  on: {
    fault: (jobKey: string, fault: unknown) => Promise<void>;
    sent: (record: () => Promise<void>) => void;
  },
  isOver: () => boolean,
): Promise<number> {
  let underWay = 0;
  for (const members of cutIntoBatches(ready.toSorted(byRun(ready)), context.batchMax)) {
    if (isOver()) return underWay;
    const faulted = async (fault: unknown): Promise<void> => {
      for (const { work } of members) await on.fault(work.key, fault);
    };
    try {
      const sent = members.length > 1 ? await sendBatch(context, members, world) : null;
      if (sent !== null) {
        if (sent.state.tag !== 'refused') underWay += members.length;
        on.sent(() => recordBatch(context, members, sent, world).catch(faulted));
        continue;
      }
    } catch (fault) {
      await faulted(fault);
      continue;
    }
    await Promise.all(
      members.map(async (member) => {
        const { work, attempt, fingerprint } = member;
        const { data } = work;
        try {
          const terms = await termsApart(context, member, world);
          // What pays behind the others alone comes with a later tick.
          if (terms === null) return;
          const order = { work, kind: 'fill', data, attempt, terms, world, fingerprint } as const;
          if ((await send(context, order)) === 'sent') underWay += 1;
        } catch (fault) {
          await on.fault(work.key, fault);
        }
      }),
    );
  }
  return underWay;
}

/** Those simulated one behind another come so, where the first of them stands; the rest keeps its order. */
function byRun(ready: readonly Ready[]): (a: Ready, b: Ready) => number {
  const firsts = new Map<symbol | Ready, number>();
  const runOf = (one: Ready): symbol | Ready => one.place?.run ?? one;
  for (const [index, one] of ready.entries()) {
    if (!firsts.has(runOf(one))) firsts.set(runOf(one), index);
  }
  return (a, b) =>
    (firsts.get(runOf(a)) ?? 0) - (firsts.get(runOf(b)) ?? 0) ||
    (a.place?.at ?? 0) - (b.place?.at ?? 0);
}

/** What a run of simulations shows holds for so long: a dozen blocks. */
const PROVEN_MS = 3_000;

/** Whether these were simulated in this order, behind nobody else, a moment ago. */
function isOneRun(members: readonly Ready[], nowMs: number): boolean {
  const first = members[0]?.place ?? null;
  if (first === null || nowMs - first.ms > PROVEN_MS) return false;
  return members.every(({ place }, at) => place?.run === first.run && place.at === at);
}

/** What was simulated behind others is simulated again before it goes without them; null: then it does not pay. */
async function termsApart(
  context: KeeperContext,
  { work, terms, place }: Ready,
  world: World,
): Promise<Terms | null> {
  if (place === null || place.at === 0) return terms;
  const { verdict } = await judgeOne(context, work, world, false);
  return verdict?.tag === 'send' ? { ...verdict, duty: terms.duty } : null;
}

/** What a batch of these gains, of which each is known to run; null where they do not all run or save no gas. */
async function gainTogether(
  { simulator, executor, multicall3, rules, now }: KeeperContext,
  members: readonly Ready[],
  gasBound: bigint,
): Promise<bigint | null> {
  const promised = members.reduce((sum, { gainUsdg }) => sum + gainUsdg, 0n);
  // Each holds a transaction of its own and cold pools: together they cost less.
  if (isOneRun(members, now())) return promised;
  const simulation = await simulator.simulate(
    { from: executor, to: multicall3, data: encodeBatch(members, false) },
    executor,
    () => ({ tag: 'other', text: 'a member fails behind the others' }),
    { gasBound },
  );
  if (simulation.tag !== 'passed') return null;
  const gases = members.map(({ gas }) => gas);
  if (!isCheaper(simulation.gas, gases)) return null;
  // What one fill does to the pools lessens the next one's fee a little; more than that is no batch for us.
  if (simulation.gainUsdg < promised - (promised * rules.feeToleranceBps) / 10_000n) return null;
  return simulation.gainUsdg;
}

/** Over the members' own estimates together there is always so much, basis points: not all of them share their pools. */
const LEAST_HEADROOM_BPS = 1_000n;

/** With headroom over what such batches need. */
function limitOf(baskets: string, sum: bigint, { batchGas, rules }: KeeperContext): bigint {
  const limit = withHeadroom(batchGas.expected(baskets, sum), rules);
  const least = sum + (sum * LEAST_HEADROOM_BPS) / 10_000n;
  return limit > least ? limit : least;
}

/** Which baskets these trade, each once; of what is listed without a basket, its calldata's length. */
const basketsOf = (members: readonly Ready[]): string =>
  [...new Set(members.map(({ work }) => `${work.type}:${work.vault ?? work.data.length}`))]
    .toSorted()
    .join();

type SentBatch = { opened: readonly NewAttempt[]; state: IntentState };

/** What became of it; null when these are better sent apart: then nothing was sent. */
async function sendBatch(
  context: KeeperContext,
  members: readonly Ready[],
  world: World,
): Promise<SentBatch | null> {
  const { journal, sender, multicall3, rules } = context;
  if (context.dryRun || !sender.status().wallets.some(({ usable }) => usable)) return null;
  const gasBound = members.reduce((sum, { gas }) => sum + gas, 0n);
  const gainUsdg = await gainTogether(context, members, gasBound);
  if (gainUsdg === null) return null;
  const profit = judgeProfit(gainUsdg, gasBound, world.market, rules);
  if (profit.tag !== 'pays') return null;

  const keys = members.map(({ work, attempt }) => intentKeyOf('fill', work.key, attempt));
  const carrier = `batch:${keccak256(toHex(keys.join('|')))}`;
  const each = profit.profitUsdg / BigInt(members.length);
  const opened = members.map(({ work, attempt }, index) => ({
    intentKey: keys[index] ?? '',
    jobKey: work.key,
    kind: 'fill' as const,
    attempt,
    promisedUsdg: work.promisedUsdg,
    workType: work.type,
    ticker: work.ticker,
    duty: false,
    expectedUsdg: each,
    carrier: { key: carrier, index, members: members.length },
  }));
  const baskets = basketsOf(members);
  context.batchGas.sent(carrier, baskets, gasBound);
  const state = await sender.submit(
    {
      key: carrier,
      kind: 'batch',
      to: multicall3,
      data: encodeBatch(members, true),
      value: 0n,
      gas: limitOf(baskets, gasBound, context),
      notAfter: Number(world.timestamp + SEND_WITHIN_SECONDS),
      maxFeePerGas: profit.maxFeePerGas,
      meta: { members: members.length },
    },
    { timeoutMs: context.submitTimeoutMs, guard: openedWith(journal, opened) },
  );
  return { opened, state };
}

async function recordBatch(
  context: KeeperContext,
  members: readonly Ready[],
  { opened, state }: SentBatch,
  world: World,
): Promise<void> {
  // Side by side: what they write is committed together. None is left under way, whatever becomes of another.
  const recorded = await Promise.allSettled(
    members.map(async ({ work, fingerprint }, at) => {
      if (state.tag !== 'refused') {
        await applyEvent(context, work.key, { tag: 'progress' }, fingerprint);
      }
      const own = opened[at];
      if (own === undefined) throw new Error('a member of a batch without an attempt');
      const row = await rowOf(context.journal, own);
      await recordOutcome(context, row, state, world.market.ethPrice);
    }),
  );
  for (const outcome of recorded) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Calldata of aggregate3: each fill names its executor, so that who calls makes no difference. */
export function encodeBatch(
  members: readonly { work: Pick<Fill, 'contract' | 'data'> }[],
  allowFailure: boolean,
): Hex {
  return encodeFunctionData({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    args: [
      members.map(({ work }) => ({ target: work.contract, allowFailure, callData: work.data })),
    ],
  });
}
