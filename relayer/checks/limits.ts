/** The owner's limits, as far as they are known before the market is asked; the module judges the rest. */
import { MAX_NETWORK_FEE } from '../../contracts-abi/constants.ts';
import { dailyFeeCap } from '../../contracts-abi/network-fees.ts';
import { formatDecimal } from '../../contracts-abi/rounding.ts';
import { type Check, PASSED, refuse } from '../refusal.ts';
import type { Session } from './session.ts';

const usd = (amount: bigint): string => `$${formatDecimal(amount, 6)}`;

/** `fee` fits under the cap per action and the key's cap per day. */
export function checkFeeCaps(fee: bigint, session: Session): Check {
  if (fee > MAX_NETWORK_FEE) {
    return refuse('SESSION_LIMIT', `the network fee is above ${usd(MAX_NETWORK_FEE)} per action`);
  }
  const cap = dailyFeeCap(session.grant.dailyLimit);
  if (session.fees + fee > cap) {
    return refuse('SESSION_LIMIT', `the network fees of this key would pass ${usd(cap)} today`);
  }
  return PASSED;
}

export function checkLimits(action: { slippageBps: number; fee: bigint }, session: Session): Check {
  const { grant } = session;
  if (action.slippageBps > grant.maxSlippageBps) {
    return refuse('SESSION_LIMIT', `slippageBps is above the grant's ${grant.maxSlippageBps}`);
  }
  if (session.turnover >= grant.dailyLimit) {
    return refuse('SESSION_LIMIT', `today's turnover of ${usd(grant.dailyLimit)} is used up`);
  }
  return checkFeeCaps(action.fee, session);
}

/**
 * Cover has a limit of its own, which a request's premium must fit; what a take costs only the simulation knows.
 * @param least USDG base units that the action locks at least; 0 for what only takes back.
 */
export function checkCoverLimits(
  action: { fee: bigint; least: bigint; locks: boolean },
  session: Session,
): Check {
  const { coverDailyLimit } = session.grant;
  const over = session.coverSpent + action.least > coverDailyLimit;
  if (action.locks && (over || session.coverSpent >= coverDailyLimit)) {
    return refuse(
      'SESSION_LIMIT',
      `today's cover limit of ${usd(coverDailyLimit)} would be passed`,
    );
  }
  return checkFeeCaps(action.fee, session);
}
