/**
 * One job's way through a tick: may it be tried, is something under way, does it run, does it pay, send. Each step
 * that ends the way says why in the job's timeline. At most two RPC calls before the answer "lost", none after.
 */
import { nextAfterMined, standingOf } from './attempts.ts';
import type { Ready } from './batch.ts';
import type { ReadyPayout } from './payouts.ts';
import type { World } from './chain/world.ts';
import { considerArming } from './consider-arming.ts';
import { holdBack, sendForeign } from './consider-foreign.ts';
import type { DecisionTag } from './context.ts';
import { dutyTerms } from './duty-terms.ts';
import { noteWhetherKnown, wasOvertaken } from './made-up.ts';
import type { TickContext } from './tick-context.ts';
import { applyEvent, decide, usdgText } from './outcome.ts';
import type { FillVerdict } from './policy/fill.ts';
import { gate, type PatienceEvent } from './policy/patience.ts';
import { judgeProfit } from './policy/profit.ts';
import { type Considered, send, type Terms } from './send.ts';
import { fingerprintOf, judgeVariants, verdictOf } from './variants.ts';
import { isCover, isFill, isStep, kindOf, recurs, type Work } from './work.ts';

/**
 * @param variants the same job as told by each source that lists it, never empty
 */
export async function consider(
  context: TickContext,
  variants: readonly Work[],
  world: World,
  collect: Collect,
): Promise<Considered> {
  const { memories, journal, sender, now } = context;
  const [first] = variants;
  if (first === undefined) return 'waited';
  const jobKey = first.key;
  const fingerprint = fingerprintOf(variants);
  const memory = await memories.recall(jobKey, { type: first.type, ticker: first.ticker });
  if (gate(memory.patience, fingerprint, now(), context.patience).tag === 'wait') return 'waited';

  /** Whether anybody has seen it running: then all that becomes of it is written down. */
  let ran = memory.gas !== null;
  const ends = async (
    tag: DecisionTag,
    detail: string,
    event: PatienceEvent,
  ): Promise<Considered> => {
    const told = ran || memories.isTold(jobKey) || context.timelines.begins(variants);
    memories.tell(jobKey, told);
    if (told) await decide(context, jobKey, tag, detail);
    else context.metrics.decisions.inc({ decision: tag });
    await applyEvent(context, jobKey, event, fingerprint);
    return tag === 'unavailable' ? 'chain_unavailable' : 'decided';
  };

  const standing = await standingOf(kindOf(first), jobKey, journal, sender);
  const attempt =
    standing.tag === 'free'
      ? standing.attempt
      : standing.tag === 'mined' && recurs(first)
        ? nextAfterMined(standing, now())
        : null;
  if (attempt === null) {
    // Under way, or done and listed still: look again shortly, spend nothing.
    await applyEvent(context, jobKey, {
      tag: 'wait',
      ms: standing.tag === 'mined' ? 10_000 : 1_000,
    });
    return standing.tag === 'in_flight' ? 'under_way' : 'waited';
  }

  if (first.type === 'foreign') {
    const foreign = await context.foreign.stand(first);
    if (foreign.tag !== 'go') return holdBack(context, first, foreign, ends);
  }

  // What the same way needed a moment ago is known: no new simulation while that does not pay. A duty need not pay.
  const best = variants.reduce(
    (most, { promisedUsdg }) => (promisedUsdg > most ? promisedUsdg : most),
    0n,
  );
  const known = variants.length === 1 ? memories.gasOf(jobKey, wayOf(first)) : null;
  if (known !== null && !isCover(first)) {
    const verdict = judgeProfit(best, known, world.market, context.rules);
    if (verdict.tag !== 'pays') return ends(...unprofitable(verdict, best));
  }

  const judged = await judgeVariants(context, variants, world);
  const { variant, simulation } = judged;
  let { verdict } = judged;
  await noteWhetherKnown(context, variants, simulation, world);
  switch (simulation.tag) {
    case 'unavailable':
      await ends('unavailable', simulation.why, { tag: 'unavailable' });
      // A call that the node could not run is this job's trouble; silence is everybody's.
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
          if (!isFill(variant)) {
            return ends('failed', revert.text, { tag: 'failed', reason: revert.text });
          }
          return considerArming(context, {
            work: variant,
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

  ran = true;
  memories.tell(jobKey, true);
  memories.rememberGas(jobKey, simulation.gas, wayOf(variant));
  if (verdict === null) throw new Error('work that passed was not judged');
  const sends = (terms: Terms): Promise<Considered> =>
    send(context, {
      work: variant,
      kind: kindOf(variant),
      data: variant.data,
      attempt,
      terms,
      world,
      fingerprint,
    });
  if (verdict.tag === 'short_fee') {
    const detail = `gains ${usdgText(verdict.gainUsdg)}, not ${usdgText(verdict.leastUsdg)}`;
    if (await wasOvertaken(context, variant, simulation.returned)) {
      return ends('closed', `some of it was paid meanwhile: ${detail}`, { tag: 'not_due' });
    }
    context.distrust(variant.source, `short_fee:${jobKey}`);
    // A step has an hour and its calldata is our own: what a source says of its fee holds it up for no moment.
    const measured = isStep(variant) ? verdictOf(context, variant, simulation, 0n, world) : verdict;
    if (measured.tag === 'short_fee') {
      return ends('short_fee', detail, {
        tag: 'failed',
        reason: `it pays less than promised: ${detail}`,
      });
    }
    await decide(context, jobKey, 'short_fee', detail);
    verdict = measured;
  }
  if (verdict.tag === 'send' && variant.type === 'foreign') {
    return sendForeign(context, { work: variant, simulation, verdict, world, ends, sends });
  }
  if (verdict.tag === 'send') {
    const terms = { ...verdict, duty: false };
    const { gas, gainUsdg, place = null } = simulation;
    if (isFill(variant)) {
      collect.addFill({ work: variant, attempt, terms, gas, gainUsdg, place, fingerprint });
      return 'collected';
    }
    if (variant.type !== 'payout') return sends(terms);
    const netUsdg = verdict.profitUsdg;
    collect.addPayout({ work: variant, netUsdg, send: () => sends(terms) });
    return 'collected';
  }
  if (verdict.tag === 'unknown_price' || !isCover(variant)) {
    return ends(...unprofitable(verdict, simulation.gainUsdg));
  }
  // In turn: the next duty must see what this one takes of the budget.
  const asDuty = (): Promise<Considered> =>
    context.dutyTurn(async () => {
      const duty = await dutyTerms(context, simulation, world, variant.type);
      return duty.tag === 'refused' ? ends(...duty.ending) : sends(duty.terms);
    });
  if (variant.type !== 'payout') return asDuty();
  const netUsdg = simulation.gainUsdg - verdict.costUsdg;
  collect.addPayout({ work: variant, netUsdg, send: asDuty });
  // Whether the budget has room for it is not known yet.
  return 'decided';
}

/** What one source's way needs says nothing of another's, nor a way of other length: a route may be dear or cheap. */
const wayOf = ({ source, data }: Work): string => `${source}:${data.length}`;

/** Takes what is sent together with other work, or not beside it, which then is not sent here. */
export type Collect = {
  addFill: (ready: Ready) => void;
  addPayout: (ready: ReadyPayout) => void;
};

function unprofitable(
  verdict: Extract<FillVerdict, { tag: 'does_not_pay' }> | { tag: 'unknown_price' },
  feeUsdg: bigint,
): [DecisionTag, string, PatienceEvent] {
  if (verdict.tag === 'unknown_price') {
    return ['unknown_price', 'the ETH price is not known now', { tag: 'does_not_pay' }];
  }
  const detail = `fee ${usdgText(feeUsdg)}, needs ${usdgText(verdict.neededUsdg)} (gas ${usdgText(verdict.costUsdg)})`;
  return ['does_not_pay', detail, { tag: 'does_not_pay' }];
}
