/**
 * One order's way through a tick: may it be tried, is something under way, does it run, does it pay, send. Each step
 * that ends the way says why in the order's timeline. At most two RPC calls before the answer "lost", none after.
 */
import { type Hex, keccak256, toBytes } from 'viem';
import { standingOf } from './attempts.ts';
import type { FillSimulation } from './chain/simulate.ts';
import type { World } from './chain/world.ts';
import { considerArming } from './consider-arming.ts';
import type { DecisionTag, KeeperContext } from './context.ts';
import type { Admitted } from './firewall/admit.ts';
import { applyEvent, decide, usdgText } from './outcome.ts';
import { type FillVerdict, judgeFill } from './policy/fill.ts';
import { gate, type PatienceEvent } from './policy/patience.ts';
import { judgeProfit } from './policy/profit.ts';
import { type Considered, send } from './send.ts';

/**
 * @param variants the same order as told by each source that lists it, never empty
 */
export async function consider(
  context: KeeperContext,
  jobKey: string,
  variants: readonly Admitted[],
  world: World,
): Promise<Considered> {
  const { memories, journal, sender, now } = context;
  const [first] = variants;
  if (first === undefined) return 'waited';
  const fingerprint = fingerprintOf(variants);
  const memory = await memories.recall(jobKey, { type: first.kind, ticker: first.ticker });
  if (gate(memory.patience, fingerprint, now(), context.patience).tag === 'wait') return 'waited';

  const ends = async (
    tag: DecisionTag,
    detail: string,
    event: PatienceEvent,
  ): Promise<Considered> => {
    await decide(context, jobKey, tag, detail);
    await applyEvent(context, jobKey, event, fingerprint);
    return tag === 'unavailable' ? 'chain_unavailable' : 'decided';
  };

  const standing = await standingOf('fill', jobKey, journal, sender);
  if (standing.tag !== 'free') {
    // Under way, or filled and listed still: look again shortly, spend nothing.
    await applyEvent(context, jobKey, {
      tag: 'wait',
      ms: standing.tag === 'mined' ? 10_000 : 1_000,
    });
    return 'waited';
  }

  // What it needed last time is known: without a new simulation while that does not pay.
  const best = variants.reduce(
    (most, { promisedUsdg }) => (promisedUsdg > most ? promisedUsdg : most),
    0n,
  );
  if (memory.gas !== null) {
    const verdict = judgeProfit(best, memory.gas, world.market, context.rules);
    if (verdict.tag !== 'pays') return ends(...unprofitable(verdict, best));
  }

  const { variant, simulation, verdict } = await judgeVariants(context, variants, world);
  switch (simulation.tag) {
    case 'unavailable':
      await ends('unavailable', simulation.why, { tag: 'unavailable' });
      // A call that the node could not run is this order's trouble; silence is everybody's.
      return simulation.answered ? 'decided' : 'chain_unavailable';
    case 'reverted': {
      const { revert, gasSpent } = simulation;
      switch (revert.tag) {
        case 'not_due':
          return ends('not_due', revert.text, { tag: 'not_due' });
        case 'closed':
          return ends('closed', revert.text, { tag: 'closed' });
        case 'expired':
          return ends('expired', revert.text, { tag: 'closed' });
        case 'paused':
          return ends('paused', revert.text, { tag: 'paused' });
        case 'below_floor':
          return considerArming(context, {
            jobKey,
            job: variant,
            fingerprint,
            miss: revert,
            gasSpent,
            world,
            ends,
          });
        case 'already_armed':
        case 'other':
          return ends('failed', revert.text, { tag: 'failed', reason: revert.text });
      }
      break;
    }
    case 'passed':
      break;
  }

  memories.rememberGas(jobKey, simulation.gas);
  if (verdict === null) throw new Error('a fill that passed was not judged');
  switch (verdict.tag) {
    case 'short_fee': {
      const detail = `gains ${usdgText(verdict.gainUsdg)}, not ${usdgText(verdict.leastUsdg)}`;
      return ends('short_fee', detail, {
        tag: 'failed',
        reason: `the fill pays less than promised: ${detail}`,
      });
    }
    case 'does_not_pay':
    case 'unknown_price':
      return ends(...unprofitable(verdict, simulation.gainUsdg));
    case 'send':
      break;
  }
  return send(context, {
    jobKey,
    job: variant,
    kind: 'fill',
    data: variant.fillData,
    attempt: standing.attempt,
    verdict,
    world,
    fingerprint,
  });
}

type Judged = {
  variant: Admitted;
  simulation: FillSimulation;
  /** Null unless the simulation passed. */
  verdict: FillVerdict | null;
};

/**
 * The first variant that runs and pays what it promises; where none does, the answer that says most. A source that
 * lists an order with bad swaps or a false promise does not stand before another that lists it well.
 */
async function judgeVariants(
  context: KeeperContext,
  variants: readonly Admitted[],
  world: World,
): Promise<Judged> {
  let kept: Judged | null = null;
  for (const variant of distinct(variants)) {
    const call = { from: context.executor, to: variant.escrow, data: variant.fillData };
    const simulation = await context.simulator.simulateFill(call, context.executor, variant.id);
    const verdict =
      simulation.tag === 'passed'
        ? judgeFill(simulation, variant.promisedUsdg, world.market, context.rules)
        : null;
    const judged = { variant, simulation, verdict };
    const missedFloor = simulation.tag === 'reverted' && simulation.revert.tag === 'below_floor';
    const variantsOwn =
      missedFloor ||
      verdict?.tag === 'short_fee' ||
      (simulation.tag === 'reverted' && simulation.revert.tag === 'other');
    if (!variantsOwn) return judged;
    if (kept === null || missedFloor) kept = judged;
  }
  if (kept === null) throw new Error('an order was considered without a variant');
  return kept;
}

/** One variant per calldata, with the least that anybody promises for it. */
function distinct(variants: readonly Admitted[]): Admitted[] {
  const byData = new Map<Hex, Admitted>();
  for (const variant of variants) {
    const held = byData.get(variant.fillData);
    if (held === undefined || variant.promisedUsdg < held.promisedUsdg)
      byData.set(variant.fillData, variant);
  }
  return [...byData.values()];
}

function unprofitable(
  verdict: Extract<FillVerdict, { tag: 'does_not_pay' | 'unknown_price' }>,
  feeUsdg: bigint,
): [DecisionTag, string, PatienceEvent] {
  if (verdict.tag === 'unknown_price') {
    return ['unknown_price', 'the ETH price is not known now', { tag: 'does_not_pay' }];
  }
  const detail = `fee ${usdgText(feeUsdg)}, needs ${usdgText(verdict.neededUsdg)} (gas ${usdgText(verdict.costUsdg)})`;
  return ['does_not_pay', detail, { tag: 'does_not_pay' }];
}

/** Stands for everything the sources say of an order. */
function fingerprintOf(variants: readonly Admitted[]): string {
  const said = variants.map(
    ({ fillData, promisedUsdg, slippageBps }) => `${fillData}/${promisedUsdg}/${slippageBps}`,
  );
  return keccak256(toBytes(said.join('|'))).slice(0, 18);
}
