/** What a session key may pay relayers in a day. */
import {
  DAILY_NETWORK_FEES_BPS,
  MAX_DAILY_NETWORK_FEES,
  MIN_DAILY_NETWORK_FEES,
} from './constants.ts';
import { bpsDown } from './rounding.ts';

/** min($20, max($1, 20% of the daily limit)), rounded down; USDG base units (rule 20; TradeBounds.dailyFeeCap). */
export function dailyFeeCap(dailyLimit: bigint): bigint {
  const share = bpsDown(dailyLimit, DAILY_NETWORK_FEES_BPS);
  const atLeast = share > MIN_DAILY_NETWORK_FEES ? share : MIN_DAILY_NETWORK_FEES;
  return atLeast < MAX_DAILY_NETWORK_FEES ? atLeast : MAX_DAILY_NETWORK_FEES;
}
