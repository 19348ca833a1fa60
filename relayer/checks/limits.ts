/** The owner's limits, as far as they are known before the market is asked; the module judges the rest. */
import {
  BPS,
  DAILY_NETWORK_FEES_BPS,
  MAX_DAILY_NETWORK_FEES,
  MAX_NETWORK_FEE,
  MIN_DAILY_NETWORK_FEES,
} from '../../contracts-abi/constants.ts';
import { formatDecimal, mulDivDown } from '../../contracts-abi/rounding.ts';
import { type Check, PASSED, refuse } from '../refusal.ts';
import type { Session } from './session.ts';

const usd = (amount: bigint): string => `$${formatDecimal(amount, 6)}`;

/** min($20, max($1, 20% of the daily limit)) (rule 20 of protocol-rules.md). */
export function dailyFeeCap(dailyLimit: bigint): bigint {
  const share = mulDivDown(dailyLimit, DAILY_NETWORK_FEES_BPS, BPS);
  const atLeast = share > MIN_DAILY_NETWORK_FEES ? share : MIN_DAILY_NETWORK_FEES;
  return atLeast < MAX_DAILY_NETWORK_FEES ? atLeast : MAX_DAILY_NETWORK_FEES;
}

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
