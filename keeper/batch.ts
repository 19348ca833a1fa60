/**
 * Sends fills that are ready: alone, or several in one transaction of Multicall3 where that is cheaper. A member that
 * fails on chain does not sink the others: each call may fail by itself. It is simulated with no call allowed to fail,
 * and its gas is not estimated anew: the members' own estimates together suffice for it, since each holds a whole
 * transaction and cold pools. (An estimate that lets calls fail would find the gas at which they all run dry.)
 */
import { encodeFunctionData, type Hex, keccak256, multicall3Abi, toBytes } from 'viem';
import { intentKeyOf } from './attempts.ts';
import type { World } from './chain/world.ts';
import type { KeeperContext } from './context.ts';
import { applyEvent, recordOutcome } from './outcome.ts';
import { cutIntoBatches, isCheaper } from './policy/batch.ts';
import { withHeadroom } from './policy/fill.ts';
import { judgeProfit } from './policy/profit.ts';
import { SEND_WITHIN_SECONDS, send, type Terms } from './send.ts';
import type { Fill } from './work.ts';

/** A fill that passed its simulation and pays. */
export type Ready = {
  work: Fill;
  attempt: number;
  terms: Terms;
  /** The node's estimate, without headroom. */
  gas: bigint;
  gainUsdg: bigint;
  fingerprint: string;
};

/**
 * Sends each of `ready` once: in a batch, or by itself. What is left when the time is over comes with a later tick.
 * Never throws.
 * @param onFault told of each job whose own sending failed, or whose batch did
 * @param isOver asked before each batch
 */
export async function sendReady(
  context: KeeperContext,
  ready: readonly Ready[],
  world: World,
  onFault: (jobKey: string, fault: unknown) => Promise<void>,
  isOver: () => boolean,
): Promise<void> {
  for (const members of cutIntoBatches(ready, context.batchMax)) {
    if (isOver()) return;
    try {
      if (members.length > 1 && (await sendBatch(context, members, world))) continue;
    } catch (fault) {
      for (const { work } of members) await onFault(work.key, fault);
      continue;
    }
    await Promise.all(
      members.map(async ({ work, attempt, terms, fingerprint }) => {
        const { data } = work;
        try {
          await send(context, { work, kind: 'fill', data, attempt, terms, world, fingerprint });
        } catch (fault) {
          await onFault(work.key, fault);
        }
      }),
    );
  }
}

/** False when these are better sent apart; then nothing was sent. */
async function sendBatch(
  context: KeeperContext,
  members: readonly Ready[],
  world: World,
): Promise<boolean> {
  const { journal, sender, simulator, executor, multicall3, rules } = context;
  if (context.dryRun || !sender.status().wallets.some(({ usable }) => usable)) return false;
  const gases = members.map(({ gas }) => gas);
  const gasBound = gases.reduce((sum, gas) => sum + gas, 0n);
  const simulation = await simulator.simulate(
    { from: executor, to: multicall3, data: encodeBatch(members, false) },
    executor,
    () => ({ tag: 'other', text: 'a member fails behind the others' }),
    { gasBound },
  );
  if (simulation.tag !== 'passed') return false;
  const promised = members.reduce((sum, { gainUsdg }) => sum + gainUsdg, 0n);
  if (!isCheaper(simulation.gas, gases)) return false;
  // What one fill does to the pools lessens the next one's fee a little; more than that is no batch for us.
  if (simulation.gainUsdg < promised - (promised * rules.feeToleranceBps) / 10_000n) return false;
  const profit = judgeProfit(simulation.gainUsdg, gasBound, world.market, rules);
  if (profit.tag !== 'pays') return false;

  const keys = members.map(({ work, attempt }) => intentKeyOf('fill', work.key, attempt));
  const carrier = `batch:${keccak256(toBytes(keys.join('|')))}`;
  const each = profit.profitUsdg / BigInt(members.length);
  await journal.openAttempt(
    ...members.map(({ work, attempt }, index) => ({
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
    })),
  );
  const state = await sender.submit(
    {
      key: carrier,
      kind: 'batch',
      to: multicall3,
      data: encodeBatch(members, true),
      value: 0n,
      gas: withHeadroom(gasBound, rules),
      notAfter: Number(world.timestamp + SEND_WITHIN_SECONDS),
      maxFeePerGas: profit.maxFeePerGas,
      meta: { members: members.length },
    },
    { timeoutMs: context.submitTimeoutMs },
  );
  // Side by side: what they write is committed together. None is left under way, whatever becomes of another.
  const recorded = await Promise.allSettled(
    members.map(async ({ work, fingerprint }) => {
      if (state.tag !== 'refused') {
        await applyEvent(context, work.key, { tag: 'progress' }, fingerprint);
      }
      const row = await journal.lastAttempt(work.key, 'fill');
      if (row !== null) await recordOutcome(context, row, state, world.market.ethPrice);
    }),
  );
  for (const outcome of recorded) if (outcome.status === 'rejected') throw outcome.reason;
  return true;
}

/** Calldata of aggregate3: each fill names its executor, so that who calls makes no difference. */
function encodeBatch(members: readonly Ready[], allowFailure: boolean): Hex {
  return encodeFunctionData({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    args: [
      members.map(({ work }) => ({ target: work.contract, allowFailure, callData: work.data })),
    ],
  });
}
