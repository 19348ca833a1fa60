/**
 * Work of the cover market that anyone may execute, run within an aggregated call before it is told to anybody: what
 * passes there tells the fee that it pays. Nothing of a run stays.
 */
import { type Address, decodeFunctionData, encodeFunctionData, type Hex, zeroAddress } from 'viem';
import { SNAPSHOT_VALIDITY } from '../../contracts-abi/constants.ts';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { decodeRevert, describeRevert } from '../../contracts-abi/revert.ts';
import { optional, type Pending, type ReadBatch } from '../chain/read-batch.ts';
import type { CoverStep } from './steps-due.ts';

export type PayoutType = CoverStep | 'payout';

export type CoverWork = {
  type: PayoutType;
  /** Of a step: week and vault in one number. Of a payout: its first position. */
  id: bigint;
  vault: Address;
  week: number;
  /** What a payout pays; empty for a step. */
  positions: readonly bigint[];
};

/** A payout hands each transfer 400,000 gas: so many fit into one transaction, and so few cost little to lose. */
export const POSITIONS_PER_PAYOUT = 20;
/** Runs in one aggregated call: a snapshot reads pools far back. */
export const RUNS_PER_CALL = 3;

type RunOutcome =
  | { tag: 'passed'; reward: bigint; positions: readonly bigint[] }
  | { tag: 'failed'; reason: string }
  /** Somebody has done it already. */
  | { tag: 'done' };

export type Run = { work: CoverWork; outcome: RunOutcome };

/** Adds the run to the batch; a payout keeps the positions that pay something. */
export function planRun(batch: ReadBatch, coverMarket: Address, work: CoverWork): () => Run {
  const market = { to: coverMarket, abi: coverMarketAbi } as const;
  const { type, week, vault, positions } = work;
  if (type === 'payout') {
    const dues = positions.map((id) => ({
      id,
      // Read before the run in the same call, which pays them.
      pays: batch.add({ ...market, functionName: 'payoutOf', args: [id] }),
    }));
    const run = batch.add({
      ...market,
      functionName: 'payout',
      args: [positions, zeroAddress],
    });
    return () => ({ work, outcome: payoutOutcome(dues, run) });
  }
  const run = batch.add({
    ...market,
    functionName: STEP_FUNCTION[type],
    args: [week, vault, zeroAddress],
  });
  return () => {
    const result = run();
    if (result.ok) return { work, outcome: { tag: 'passed', reward: result.value, positions: [] } };
    const error = decodeRevert(result.revert);
    return {
      work,
      outcome:
        error?.name === 'WrongOutcome'
          ? { tag: 'done' }
          : { tag: 'failed', reason: stepFailure(error, result.revert) },
    };
  };
}

function payoutOutcome(
  dues: readonly { id: bigint; pays: Pending<readonly [bigint, bigint]> }[],
  run: Pending<readonly [bigint, bigint]>,
): RunOutcome {
  const result = run();
  if (!result.ok) {
    return decodeRevert(result.revert)?.name === 'NothingToPay'
      ? { tag: 'done' }
      : { tag: 'failed', reason: describeRevert(result.revert) };
  }
  const [, reward] = result.value;
  // A position that is due always has something to pay: at least what its underwriter locked, or its whole payout.
  const positions = dues.flatMap(({ id, pays }) => {
    const [toBuyer, toUnderwriter] = optional(pays) ?? [0n, 0n];
    return toBuyer + toUnderwriter > 0n ? [id] : [];
  });
  return { tag: 'passed', reward, positions };
}

const STEP_FUNCTION = { snapshot: 'snapshot', settle: 'settle', void: 'voidWeek' } as const;

/** NoValidWindow(nextAt) is the one that people need in words: the reference was thin or jumped (rule 22). */
function stepFailure(error: ReturnType<typeof decodeRevert>, revert: Hex): string {
  if (error?.name !== 'NoValidWindow') return describeRevert(revert);
  const nextAt = Number(error.args[0]);
  return nextAt === 0
    ? `no valid average NAV in any of its windows: it can be voided ${Number(SNAPSHOT_VALIDITY) / 60} minutes after its moment`
    : `no valid average NAV in the windows so far: the next one ends at ${new Date(nextAt * 1_000).toISOString()}`;
}

/** What is told of work that passed: a payout of the positions that pay, by the first of them. */
export function toldOf(work: CoverWork, positions: readonly bigint[]): CoverWork {
  return work.type === 'payout' ? { ...work, id: positions[0] ?? work.id, positions } : work;
}

/** A step's id: no other week and basket have it, and no position. */
export function stepId(week: number, vault: Address): bigint {
  return (BigInt(week) << 160n) | BigInt(vault);
}

/** Calldata that pays `executor`; the zero address means whoever sends it. */
export function payoutData(work: CoverWork, executor: Address = zeroAddress): Hex {
  return work.type === 'payout'
    ? encodePayout(work.positions, executor)
    : encodeStep(work.type, work.week, work.vault, executor);
}

/** Calldata of a snapshot, a settlement or a void. */
export function encodeStep(type: CoverStep, week: number, vault: Address, executor: Address): Hex {
  return encodeFunctionData({
    abi: coverMarketAbi,
    functionName: STEP_FUNCTION[type],
    args: [week, vault, executor],
  });
}

/** Calldata of a payout. */
export function encodePayout(positions: readonly bigint[], executor: Address): Hex {
  return encodeFunctionData({
    abi: coverMarketAbi,
    functionName: 'payout',
    args: [positions, executor],
  });
}

/** What calldata of the market pays; nothing where it is no payout. @throws where it is not the market's at all. */
export function positionsIn(data: Hex): readonly bigint[] {
  const { functionName, args } = decodeFunctionData({ abi: coverMarketAbi, data });
  return functionName === 'payout' ? args[0] : [];
}
