/**
 * What shares cost and what they earned, at average cost. Pure; shares 1e18, USDG 1e6, NAVs dollars x 1e18.
 *
 * - A buy adds its shares at everything paid for them, fees included.
 * - A sale takes its part of the cost with it, rounded up; its proceeds after fees less that part are realised.
 * - A transfer in enters at its value at the last whole minute before it, so arriving gains or loses no more than the
 *   price moved since; a transfer out (a redemption in kind too)
 *   takes its part of the cost with it, rounded up, and realises nothing.
 *
 * So, without transfers: realised + (value - cost) = value - (paid - received), to the base unit.
 */
import { mulDivDown, mulDivUp } from '../../contracts-abi/rounding.ts';
import type { TradeRow } from './tables.ts';

export type Entry =
  | { tag: 'buy'; shares: bigint; paid: bigint }
  | { tag: 'sell'; shares: bigint; received: bigint }
  | { tag: 'in'; shares: bigint; value: bigint }
  | { tag: 'out'; shares: bigint };

/** `realized` may be negative; the others never are. */
export type Basis = { shares: bigint; cost: bigint; realized: bigint };

export const NOTHING: Basis = { shares: 0n, cost: 0n, realized: 0n };

/** Shares x NAV in dollars x 1e36; a USDG base unit is this many of them. */
const PER_USDG = 10n ** 30n;

/** USDG value of shares, rounded down. */
export function valueOf(shares: bigint, nav: bigint): bigint {
  return mulDivDown(shares, nav, PER_USDG);
}

/** Dollars x 1e18 per share, rounded down; null for no shares. */
export function pricePerShare(shares: bigint, usdg: bigint): bigint | null {
  return shares === 0n ? null : mulDivDown(usdg, PER_USDG, shares);
}

export function apply(basis: Basis, entry: Entry): Basis {
  if (entry.tag === 'buy' || entry.tag === 'in') {
    const cost = entry.tag === 'buy' ? entry.paid : entry.value;
    return { ...basis, shares: basis.shares + entry.shares, cost: basis.cost + cost };
  }
  const gone = entry.shares < basis.shares ? entry.shares : basis.shares;
  const cost = costOf(basis, gone);
  const left = { ...basis, shares: basis.shares - gone, cost: basis.cost - cost };
  if (entry.tag === 'out') return left;
  // Shares that no entry brought in (from before the index) were worth what they were sold for.
  const unknown = entry.shares - gone;
  const forUnknown = unknown === 0n ? 0n : mulDivUp(entry.received, unknown, entry.shares);
  return { ...left, realized: basis.realized + entry.received - forUnknown - cost };
}

/** A part of the cost, rounded up; the whole for all shares. */
function costOf(basis: Basis, shares: bigint): bigint {
  return shares === 0n ? 0n : mulDivUp(basis.cost, shares, basis.shares);
}

/** What a buy cost or a sale brought in, all fees counted. */
export function paidOrReceived(trade: TradeRow): bigint {
  const fees = BigInt(trade.protocol_fee) + BigInt(trade.executor_fee) + BigInt(trade.network_fee);
  const gross = BigInt(trade.gross);
  // A network fee may exceed what a tiny sale brings in: it is paid all the same, out of other USDG.
  return trade.kind === 'buy' ? gross + fees : gross - fees;
}

export function entryOfTrade(trade: TradeRow): Entry {
  const shares = BigInt(trade.shares);
  return trade.kind === 'buy'
    ? { tag: 'buy', shares, paid: paidOrReceived(trade) }
    : { tag: 'sell', shares, received: paidOrReceived(trade) };
}
