/**
 * The way of foreign work that passed its simulation and would pay: within what its contract may still lose, and run
 * once more at the real price, before it is sent.
 */
import type { Simulation } from './chain/simulate.ts';
import type { World } from './chain/world.ts';
import type { DecisionTag, KeeperContext } from './context.ts';
import type { ForeignStanding } from './foreign-guard.ts';
import { applyEvent, usdgText } from './outcome.ts';
import { capByLoss, leastMoved } from './policy/breaker.ts';
import type { FillVerdict } from './policy/fill.ts';
import { LONGEST_WAIT_MS, type PatienceEvent } from './policy/patience.ts';
import type { Considered, Terms } from './send.ts';
import type { Foreign } from './work.ts';

type Ends = (tag: DecisionTag, detail: string, event: PatienceEvent) => Promise<Considered>;

/** Ends the way of work whose contract is stopped, or has something under way. */
export async function holdBack(
  context: KeeperContext,
  { key }: Foreign,
  standing: Exclude<ForeignStanding, { tag: 'go' }>,
  ends: Ends,
): Promise<Considered> {
  if (standing.tag === 'stopped') {
    const ms = Math.min(standing.untilMs - context.now(), LONGEST_WAIT_MS);
    return ends('contract_stopped', standing.why, { tag: 'wait', ms });
  }
  await applyEvent(context, key, { tag: 'wait', ms: 1_000 });
  return 'waited';
}

/** One of a contract at a time: the next must see what this one does. */
export function sendForeign(
  context: KeeperContext,
  given: {
    work: Foreign;
    simulation: Extract<Simulation, { tag: 'passed' }>;
    verdict: Extract<FillVerdict, { tag: 'send' }>;
    world: World;
    ends: Ends;
    sends: (terms: Terms) => Promise<Considered>;
  },
): Promise<Considered> {
  const { work, simulation, verdict, world, ends, sends } = given;
  return context.foreign.inTurn(work.contract, async () => {
    const standing = await context.foreign.stand(work);
    if (standing.tag !== 'go') return holdBack(context, work, standing, ends);
    const cap = capByLoss(verdict, standing.leftUsdg, world.market);
    if (cap.tag === 'over') {
      const detail = `may cost ${usdgText(cap.costUsdg)} of gas, work of its contract may lose ${usdgText(standing.leftUsdg)} (KEEPER_FOREIGN_LOSS_USDG)`;
      return ends('over_budget', detail, { tag: 'does_not_pay' });
    }
    const leastUsdg = leastMoved(
      work.promisedUsdg,
      simulation.gainUsdg,
      context.rules.feeToleranceBps,
    );
    const rehearsal = await context.rehearse(
      { from: context.executor, to: work.contract, data: work.data },
      verdict.gasLimit,
      world.market.gasPriceWei,
    );
    switch (rehearsal.tag) {
      case 'unavailable':
        return ends('unavailable', rehearsal.why, { tag: 'unavailable' });
      case 'reverted': {
        const reason = 'it passes a simulation and reverts at the real gas price';
        return ends('failed', reason, { tag: 'failed', reason });
      }
      case 'passed':
        if (rehearsal.gainUsdg < leastUsdg) {
          const gain = usdgText(rehearsal.gainUsdg);
          const detail = `gains ${gain} at the real gas price, not ${usdgText(leastUsdg)}`;
          context.distrust(work.source, `short_fee:${work.key}`);
          const reason = `it pays less than promised: ${detail}`;
          return ends('short_fee', detail, { tag: 'failed', reason });
        }
        break;
      case 'unknown':
        break;
    }
    return sends({ ...verdict, maxFeePerGas: cap.maxFeePerGas, duty: false, leastUsdg });
  });
}
