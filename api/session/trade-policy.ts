/**
 * The trade rules of wire.md over plain values. Amounts are USDG base units, shares 1e18, NAVs dollars x 1e18.
 * The order of the checks is the order in which an agent can act on them: who may, what is asked, what it costs.
 */
import {
  BPS,
  MAX_NETWORK_FEE,
  MAX_SPOT_DEVIATION_BPS,
  MIN_TRADE,
} from '../../contracts-abi/constants.ts';
import { formatDecimal, mulDivDown, mulDivUp, plusBps } from '../../contracts-abi/rounding.ts';
import type { ErrorCode } from '../../runtime/errors.ts';
import { NAV_PER_USDG } from '../../runtime/quotes/basket-quote.ts';
import type { Session } from './read-session.ts';

export type Refused = { tag: 'refused'; code: ErrorCode; message: string };
export type Allowed<T> = { tag: 'allowed' } & T;

export const refused = (code: ErrorCode, message: string): Refused => ({
  tag: 'refused',
  code,
  message,
});
const dollars = (amount: bigint) => `$${formatDecimal(amount, 6)}`;

/** Slippage when the request names none (interface.md section 4). */
const DEFAULT_SLIPPAGE_BPS = 50;

/** USDG value of shares, rounded as TradeBounds.value. */
export const valueDown = (shares: bigint, nav: bigint) => mulDivDown(shares, nav, NAV_PER_USDG);
const valueUp = (shares: bigint, nav: bigint) => mulDivUp(shares, nav, NAV_PER_USDG);

/** Most that a buy may spend all-in (TradeBounds.mostSpent). */
export function mostSpent(shares: bigint, nav: bigint, slippageBps: number): bigint {
  return mulDivDown(shares, nav * (BPS + BigInt(slippageBps)), NAV_PER_USDG * BPS);
}

/** Least that a sale must bring in net (TradeBounds.leastReceived). */
export function leastReceived(shares: bigint, nav: bigint, slippageBps: number): bigint {
  return mulDivUp(shares, nav * (BPS - BigInt(slippageBps)), NAV_PER_USDG * BPS);
}

/** Shares whose all-in bound at this slippage is the budget: the whole tolerance stays for the market. */
export function sharesWithin(budget: bigint, nav: bigint, slippageBps: number): bigint {
  return mulDivDown(budget, NAV_PER_USDG * BPS, nav * (BPS + BigInt(slippageBps)));
}

/** Whether the key may act at all, at this network fee (USDG base units). Null: it may. */
export function checkGrant(session: Session, feeUsdg: bigint): Refused | null {
  if (feeUsdg > MAX_NETWORK_FEE) {
    return refused('BAD_REQUEST', 'feeUsdg: the network fee is at most 10 dollars');
  }
  if (!session.active) {
    return refused(
      'SESSION_INACTIVE',
      'this key has no active grant: the owner approves at approvalUrl',
    );
  }
  return session.paused
    ? refused('PAUSED', 'trading is paused by the protocol or by the owner: retry later')
    : null;
}

/** Whether the network fee fits into what the key may still pay today. Null: it does. */
export function checkNetworkFee(session: Session, feeUsdg: bigint): Refused | null {
  const left = session.feeCap - session.feesToday;
  return feeUsdg <= left
    ? null
    : refused(
        'SESSION_LIMIT',
        `feeUsdg is above the ${dollars(left > 0n ? left : 0n)} of network fees left today`,
      );
}

/** Who may trade at all, and at which slippage. */
export function checkSession(
  session: Session,
  request: { slippageBps?: number | undefined; feeUsdg: bigint },
): Refused | Allowed<{ slippageBps: number }> {
  const grant = checkGrant(session, request.feeUsdg);
  if (grant !== null) return grant;
  const slippageBps = request.slippageBps ?? Math.min(DEFAULT_SLIPPAGE_BPS, session.maxSlippageBps);
  if (slippageBps > session.maxSlippageBps) {
    return refused(
      'SESSION_LIMIT',
      `slippageBps ${slippageBps} is above the ${session.maxSlippageBps} that the owner allows`,
    );
  }
  const feesLeft = session.feeCap - session.feesToday;
  if (feesLeft < 0n) {
    // The module refuses then even a trade without a fee.
    return refused(
      'SESSION_LIMIT',
      `this key has paid ${dollars(session.feesToday)} of network fees today, above the ${dollars(session.feeCap)} that the owner's lowered limit allows: no trade runs before 00:00 UTC`,
    );
  }
  return checkNetworkFee(session, request.feeUsdg) ?? { tag: 'allowed', slippageBps };
}

/** Rule 4: within 3% of each other. */
export function spotIsNear(spot: bigint, reference: bigint): boolean {
  const gap = spot > reference ? spot - reference : reference - spot;
  return gap * BPS <= reference * MAX_SPOT_DEVIATION_BPS;
}

function checkTurnover(session: Session, turnover: bigint): Refused | null {
  const left = session.dailyLimit - session.usedToday;
  return turnover <= left
    ? null
    : refused(
        'SESSION_LIMIT',
        `this trade counts ${dollars(turnover)} and ${dollars(left > 0n ? left : 0n)} of today's turnover is left`,
      );
}

/** When the cost does not fit: the caller may ask for more slippage, or the owner must allow more. */
function costRefusal(session: Session, neededBps: bigint, askedBps: number): Refused {
  return neededBps <= BigInt(session.maxSlippageBps)
    ? refused(
        'BAD_REQUEST',
        `slippageBps: this trade costs ${neededBps} bps all-in against the 10-minute average now, above the ${askedBps} asked`,
      )
    : refused(
        'SESSION_LIMIT',
        `this trade costs ${neededBps} bps all-in against the 10-minute average now, above the ${session.maxSlippageBps} that the owner allows`,
      );
}

/** Most that whole base units take from a sale of any size: one for each leg and fee, with room. USDG base units. */
const ROUNDED_AWAY = 100n;

/** How far the reference may fall before an amount that a refusal named stops working. */
const DRIFT_BPS = 10n;

/** The least budget, in whole cents, whose shares are worth $5 at the reference. */
export function smallestBudget(nav: bigint, slippageBps: number): bigint {
  const cent = 10_000n;
  let budget = mulDivUp(mulDivUp(MIN_TRADE, BPS + BigInt(slippageBps), BPS), 1n, cent) * cent;
  while (valueDown(sharesWithin(budget, nav, slippageBps), nav) < MIN_TRADE) budget += cent;
  return budget;
}

/** A buy of `shares` quoted at `allIn`; `limit` is what the action will carry. */
export function checkBuy(
  session: Session,
  trade: {
    budget: bigint;
    shares: bigint;
    allIn: bigint;
    reference: bigint;
    slippageBps: number;
    feeUsdg: bigint;
  },
): Refused | Allowed<{ limit: bigint }> {
  const { budget, shares, allIn, reference, slippageBps, feeUsdg } = trade;
  const value = valueDown(shares, reference);
  const bound = mostSpent(shares, reference, slippageBps);
  const limit = budget < bound ? budget : bound;
  // Before the least amount: at a tolerance that the market does not fit, no amount works.
  if (allIn > limit && value > 0n) {
    return costRefusal(session, mulDivUp(allIn - value, BPS, value), slippageBps);
  }
  if (value < MIN_TRADE) {
    const least = smallestBudget(reference, slippageBps);
    return refused(
      'BAD_REQUEST',
      `amountUsdg: a buy must mint at least 5 dollars of basket value; at ${slippageBps} bps the smallest amount that works is ${formatDecimal(least, 6)}`,
    );
  }
  const worth = valueUp(shares, reference);
  const tooMuch = checkTurnover(session, allIn > worth ? allIn : worth);
  if (tooMuch !== null) return tooMuch;
  const needed = allIn + feeUsdg > limit ? allIn + feeUsdg : limit;
  if (session.usdg < needed) {
    return refused(
      'INSUFFICIENT_FUNDS',
      `the account holds ${formatDecimal(session.usdg, 6)} USDG and this needs ${formatDecimal(needed, 6)}`,
    );
  }
  return { tag: 'allowed', limit };
}

/** Null when the account holds what it is to sell. */
export function checkHolding(shares: bigint, held: bigint): Refused | null {
  return held >= shares
    ? null
    : refused(
        'INSUFFICIENT_SHARES',
        `the account holds ${formatDecimal(held, 18)} shares and this needs ${formatDecimal(shares, 18)}`,
      );
}

/** A sale of `shares` out of `held` (at least as many), quoted at `gross` and `net`. */
export function checkSell(
  session: Session,
  trade: {
    shares: bigint;
    held: bigint;
    gross: bigint;
    net: bigint;
    reference: bigint;
    spot: bigint;
    slippageBps: number;
    feeUsdg: bigint;
  },
): Refused | Allowed<{ limit: bigint }> {
  const { shares, held, gross, net, reference, spot, slippageBps, feeUsdg } = trade;
  const value = valueDown(shares, reference);
  const bound = leastReceived(shares, reference, slippageBps);
  const isTooSmall = value < MIN_TRADE && shares !== held;
  // The cost comes first, as for a buy; of dust it is not known: what is missing may be rounding.
  if (net < bound && !(isTooSmall && net + ROUNDED_AWAY >= bound)) {
    const neededBps = value === 0n ? BPS : mulDivUp(value - net, BPS, value);
    return costRefusal(session, neededBps, slippageBps);
  }
  if (isTooSmall) {
    // The reference moves until the sale is executed: the figure named holds for a drift of 10 bps.
    const least = plusBps(mulDivUp(MIN_TRADE, NAV_PER_USDG, reference), DRIFT_BPS);
    return refused(
      'BAD_REQUEST',
      `shares: a sale must move at least 5 dollars of basket value, or the whole position; the smallest amount that works is ${least}`,
    );
  }
  const worth = [gross, valueUp(shares, reference), valueUp(shares, spot)];
  const tooMuch = checkTurnover(
    session,
    worth.reduce((most, next) => (next > most ? next : most)),
  );
  if (tooMuch !== null) return tooMuch;
  if (session.usdg + net < feeUsdg) {
    return refused(
      'INSUFFICIENT_FUNDS',
      `the network fee of ${dollars(feeUsdg)} is more than the account will hold`,
    );
  }
  // Below the quote by the slippage, but never below what the module accepts.
  const fromQuote = mulDivUp(net, BPS - BigInt(slippageBps), BPS);
  return { tag: 'allowed', limit: fromQuote > bound ? fromQuote : bound };
}
