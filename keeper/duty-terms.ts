/** On which terms work runs at a loss: policy/duty.ts over what the journal says of the week's budget. */
import type { Simulation } from './chain/simulate.ts';
import type { World } from './chain/world.ts';
import type { DecisionTag, KeeperContext } from './context.ts';
import { usdgText } from './outcome.ts';
import { judgeDuty } from './policy/duty.ts';
import type { PatienceEvent } from './policy/patience.ts';
import type { Terms } from './send.ts';
import type { CoverType } from './work.ts';

export type DutyTerms =
  | { tag: 'terms'; terms: Terms }
  | { tag: 'refused'; ending: [DecisionTag, string, PatienceEvent] };

/** What others depend on runs at a loss while the week's budget lasts. To be asked and sent in one `dutyTurn`. */
export async function dutyTerms(
  context: Pick<KeeperContext, 'dutyBudget' | 'rules'>,
  { gainUsdg, gas }: Pick<Extract<Simulation, { tag: 'passed' }>, 'gainUsdg' | 'gas'>,
  { market }: Pick<World, 'market'>,
  type: CoverType,
): Promise<DutyTerms> {
  const leftUsdg = await context.dutyBudget.left(type);
  const verdict = judgeDuty(gainUsdg, gas, leftUsdg, market, context.rules);
  if (verdict.tag === 'unknown_price') {
    const detail = 'the ETH price is not known now';
    return { tag: 'refused', ending: ['unknown_price', detail, { tag: 'does_not_pay' }] };
  }
  if (verdict.tag === 'over_budget') {
    context.dutyBudget.refuse({ type, atRiskUsdg: verdict.atRiskUsdg, leftUsdg });
    const detail = `loses ${usdgText(verdict.lossUsdg)}, ${usdgText(verdict.atRiskUsdg)} should it fail; of the week's budget for duties ${usdgText(leftUsdg)} is left for a ${type}`;
    return { tag: 'refused', ending: ['over_budget', detail, { tag: 'does_not_pay' }] };
  }
  const { gasLimit, maxFeePerGas, costUsdg } = verdict;
  const profitUsdg = gainUsdg - costUsdg;
  const duty = verdict.tag === 'duty';
  return { tag: 'terms', terms: { gasLimit, maxFeePerGas, costUsdg, profitUsdg, duty } };
}
