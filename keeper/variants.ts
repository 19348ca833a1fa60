/**
 * One job as several sources tell it: which of its variants is gone by. Each is simulated until one runs and pays what
 * it promises.
 */
import { createHash } from 'node:crypto';
import type { Hex } from 'viem';
import { readWorkRevert } from './chain/revert.ts';
import type { Simulation } from './chain/simulate.ts';
import type { World } from './chain/world.ts';
import type { KeeperContext } from './context.ts';
import { type FillVerdict, judgeFill } from './policy/fill.ts';
import { isFill, kindOf, type Work } from './work.ts';

type Judged = {
  variant: Work;
  simulation: Simulation;
  /** Null unless the simulation passed. */
  verdict: FillVerdict | null;
};

/**
 * The first variant that runs and pays what it promises; where none does, the answer that says most. A source that
 * lists a job with bad swaps or a false promise does not stand before another that lists it well.
 */
export async function judgeVariants(
  context: Judging,
  variants: readonly Work[],
  world: World,
): Promise<Judged> {
  let kept: Judged | null = null;
  for (const variant of distinct(variants)) {
    const behind = runsTogether(variants) ? await judgeOne(context, variant, world, true) : null;
    // What those before it took is not its fault: only what it does by itself is held against it.
    const judged =
      behind !== null && (behind.verdict?.tag === 'send' || !isBehind(behind.simulation))
        ? behind
        : await judgeOne(context, variant, world, false);
    const { simulation, verdict } = judged;
    const missedFloor = simulation.tag === 'reverted' && simulation.revert.tag === 'below_floor';
    const variantsOwn =
      missedFloor ||
      verdict?.tag === 'short_fee' ||
      // Another way to the same end may cost less gas.
      verdict?.tag === 'does_not_pay' ||
      (simulation.tag === 'reverted' &&
        (simulation.revert.tag === 'other' ||
          // Of the positions that this source names beside the first.
          (variant.type === 'payout' && simulation.revert.tag === 'closed')));
    if (!variantsOwn) return judged;
    if (kept === null || saysMore(judged, kept)) kept = judged;
  }
  if (kept === null) throw new Error('a job was considered without a variant');
  return kept;
}

type Judging = Pick<KeeperContext, 'simulator' | 'executor' | 'rules'>;

/** Whether it is simulated behind others in one question to the node: fills, which are sent together too. */
export const runsTogether = (variants: readonly Work[]): boolean =>
  variants.every(isFill) && variants.every(({ data }) => data === variants[0]?.data);

const isBehind = (simulation: Simulation): boolean =>
  simulation.tag === 'passed' && (simulation.place?.at ?? 0) > 0;

/** @param together whether others may be simulated before it */
export async function judgeOne(
  context: Judging,
  variant: Work,
  world: World,
  together: boolean,
): Promise<Judged> {
  const simulation = await context.simulator.simulate(
    { from: context.executor, to: variant.contract, data: variant.data },
    context.executor,
    (data) => readWorkRevert(data, { kind: kindOf(variant), id: variant.id }),
    // Of another service nothing is known: each of its calls is estimated by itself.
    variant.type === 'foreign' ? { needsSender: true } : { alike: shapeOf(variant), together },
  );
  const verdict =
    simulation.tag === 'passed'
      ? verdictOf(context, variant, simulation, variant.promisedUsdg, world)
      : null;
  return { variant, simulation, verdict };
}

/** Of work that passed, where it has to pay `promisedUsdg` and what it says itself. */
export function verdictOf(
  { rules }: Pick<KeeperContext, 'rules'>,
  work: Work,
  passed: Extract<Simulation, { tag: 'passed' }>,
  promisedUsdg: bigint,
  { market }: Pick<World, 'market'>,
): FillVerdict {
  const feeUsdg = feeReturned(work, passed.returned);
  return judgeFill({ ...passed, feeUsdg }, promisedUsdg, market, rules);
}

/** Whether `judged` is the better answer where neither is sent: the one that lacks least, then the auction's. */
function saysMore(judged: Judged, kept: Judged): boolean {
  const lacks = ({ simulation, verdict }: Judged): bigint | null =>
    verdict?.tag === 'does_not_pay' && simulation.tag === 'passed'
      ? verdict.costUsdg - simulation.gainUsdg
      : null;
  const [mine, theirs] = [lacks(judged), lacks(kept)];
  if (theirs !== null) return mine !== null && mine < theirs;
  const { simulation } = judged;
  return (
    mine !== null || (simulation.tag === 'reverted' && simulation.revert.tag === 'below_floor')
  );
}

/** Work of one type for one basket runs through the same constituents. */
function shapeOf({ contract, type, ticker, data }: Work): string {
  return `${contract}/${type}/${ticker}/${data.length}`;
}

/**
 * What the call says it pays: `fill` and the steps return the fee alone, `payout` behind the number of positions. What
 * another service returns means nothing here. A short answer claims nothing.
 */
function feeReturned(work: Work, returned: Hex): bigint {
  if (work.type === 'foreign') return 0n;
  const words = work.type === 'payout' ? 2 : 1;
  if (returned.length !== 2 + 64 * words) return 0n;
  return BigInt(`0x${returned.slice(-64)}`);
}

/** One variant per calldata, with the least that anybody promises for it. */
function distinct(variants: readonly Work[]): Work[] {
  const byData = new Map<Hex, Work>();
  for (const variant of variants) {
    const held = byData.get(variant.data);
    if (held === undefined || variant.promisedUsdg < held.promisedUsdg)
      byData.set(variant.data, variant);
  }
  return [...byData.values()];
}

/** Stands for everything the sources say of a job. */
export function fingerprintOf(variants: readonly Work[]): string {
  const said = variants.map(
    (variant) =>
      `${variant.data}/${variant.promisedUsdg}/${isFill(variant) ? variant.slippageBps : ''}`,
  );
  return createHash('sha256').update(said.join('|')).digest('hex').slice(0, 16);
}
