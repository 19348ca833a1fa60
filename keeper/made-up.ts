/** Which sources make ids up: policy/unknown-ids.ts over the sources of a tick, with distrust as its end. */
import type { Hex } from 'viem';
import type { OrderReader } from './chain/order.ts';
import type { Simulation } from './chain/simulate.ts';
import type { World } from './chain/world.ts';
import type { Distrust } from './distrust.ts';
import {
  isMadeUp,
  NONE_UNKNOWN,
  UNKNOWN_RULES,
  type UnknownIds,
  withoutUnknown,
  withUnknown,
} from './policy/unknown-ids.ts';
import type { SourceAnswer } from './source/job-source.ts';
import { isCover, type Work } from './work.ts';

export type MadeUp = {
  /** Notes the block that each source speaks of. */
  hear(answers: readonly SourceAnswer[]): void;
  /** The chain, at a block of this time (unix seconds), does not know what these name. */
  unknown(variants: readonly Work[], chainTime: bigint): void;
  /** The chain knows it. */
  known(jobKey: string): void;
};

export function createMadeUp(distrust: Distrust, now: () => number): MadeUp {
  /** Both by index of the configured sources: bounded by their number. */
  const held = new Map<number, UnknownIds>();
  const asOf = new Map<number, number | null>();
  return {
    hear(answers) {
      for (const answer of answers) {
        if (answer.tag === 'jobs') asOf.set(answer.source, answer.asOf?.newest ?? null);
      }
    },
    unknown(variants, chainTime) {
      for (const { source, key } of variants) {
        // The keeper's own discovery reads the same chain: what it finds there is not made up.
        if (source === distrust.own) continue;
        const told = asOf.get(source) ?? null;
        const caughtUp = told !== null && chainTime >= BigInt(told);
        const next = withUnknown(
          held.get(source) ?? NONE_UNKNOWN,
          key,
          caughtUp,
          now(),
          UNKNOWN_RULES,
        );
        held.set(source, next);
        if (!isMadeUp(next, now(), UNKNOWN_RULES)) continue;
        held.delete(source);
        distrust.drop(source, `unknown:${key}`);
      }
    },
    known(jobKey) {
      for (const [source, ids] of held) held.set(source, withoutUnknown(ids, jobKey));
    },
  };
}

/** Holds it against the sources when they list what the chain has never heard of. */
export async function noteWhetherKnown(
  { madeUp, orders }: { madeUp: MadeUp; orders: Pick<OrderReader, 'positionCount'> },
  variants: readonly Work[],
  simulation: Simulation,
  { timestamp }: Pick<World, 'timestamp'>,
): Promise<void> {
  const [first] = variants;
  if (simulation.tag === 'unavailable' || first === undefined) return;
  if (simulation.tag === 'passed' || simulation.revert.tag !== 'closed') {
    madeUp.known(first.key);
    return;
  }
  if (simulation.revert.isUnknown === true) {
    madeUp.unknown(variants, timestamp);
    return;
  }
  // A payout that was made and one that cannot be told apart by what the market answers, but by the numbers it gave.
  if (first.type !== 'payout') {
    madeUp.known(first.key);
    return;
  }
  const count = await orders.positionCount(first.contract);
  if (count === null) return;
  const names = (work: Work): boolean =>
    isCover(work) && work.positions.some((position) => position > count);
  madeUp.unknown(variants.filter(names), timestamp);
}

/**
 * Whether somebody else has paid some of a payout's positions since it was listed, so that it earns less than it was
 * told to: that is no lie. `returned`: by `payout`, how many it pays before what it pays us.
 */
export async function wasOvertaken(
  { orders }: { orders: Pick<OrderReader, 'positionCount'> },
  work: Work,
  returned: Hex,
): Promise<boolean> {
  if (work.type !== 'payout' || returned.length !== 2 + 64 * 2) return false;
  if (BigInt(returned.slice(0, 66)) >= work.positions.length) return false;
  const count = await orders.positionCount(work.contract);
  return count !== null && work.positions.every((position) => position <= count);
}
