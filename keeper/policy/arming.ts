/**
 * When to arm an order whose fill misses its floor (rule 11 of protocol-rules.md). Arming starts a clock on which
 * the tolerance widens from the order's slippage to its cap over 30 minutes; it costs gas and earns nothing by itself.
 * Pure. Times in unix seconds by the chain.
 */
import { ARM_VALIDITY, ARM_WIDENING, BPS } from '../../contracts-abi/constants.ts';
import { mulDivDown, mulDivUp } from '../../contracts-abi/rounding.ts';
import type { FillType } from '../work.ts';

/** What the chain says of an open order. `armedAt` zero when it is not armed now. */
export type AuctionTerms = {
  slippageBps: bigint;
  capBps: bigint;
  armedAt: bigint;
  deadline: bigint;
  /** An exit's least gross by its owner's hard floor, USDG base units; no widening goes below it. Zero for none. */
  hardFloorGross: bigint;
};

/** What a fill would yield against its floor: gross USDG of an exit, shares of a limit buy. */
export type Miss = { got: bigint; floor: bigint };

export type ArmVerdict =
  /** Arm now; `fillableAt` is when the tolerance reaches what the fill needs at today's prices. */
  | { tag: 'arm'; neededBps: bigint; fillableAt: bigint }
  /** Armed already: the tolerance reaches what the fill needs at this time. */
  | { tag: 'wait'; neededBps: bigint; fillableAt: bigint }
  | { tag: 'pointless'; why: 'beyond_cap' | 'hard_floor' | 'expires_first' };

/** The tolerance in bps at a time (PriceAuction.toleranceBps). */
export function toleranceAt(terms: AuctionTerms, at: bigint): bigint {
  const { slippageBps, capBps, armedAt } = terms;
  if (armedAt === 0n || at < armedAt || at >= armedAt + ARM_VALIDITY) return slippageBps;
  const elapsed = at - armedAt;
  if (elapsed >= ARM_WIDENING) return capBps;
  return slippageBps + mulDivDown(capBps - slippageBps, elapsed, ARM_WIDENING);
}

/** The smallest whole tolerance at which the same yield would pass, given that it missed at `currentBps`. */
export function neededTolerance(type: FillType, miss: Miss, currentBps: bigint): bigint {
  if (miss.got <= 0n) return BPS;
  if (type === 'sell') {
    // floor = value x (1 - t): the yield passes at 1 - t' = got x (1 - t) / floor.
    const kept = mulDivDown(miss.got, BPS - currentBps, miss.floor);
    return kept >= BPS ? 0n : BPS - kept;
  }
  // floor = budget / (nav x (1 + t)): the yield passes at 1 + t' = floor x (1 + t) / got.
  const grown = mulDivUp(miss.floor, BPS + currentBps, miss.got);
  return grown <= BPS ? 0n : grown - BPS;
}

/** Seconds after arming at which the tolerance first reaches `neededBps`; null when it never does. */
export function secondsUntilTolerance(terms: AuctionTerms, neededBps: bigint): bigint | null {
  if (neededBps <= terms.slippageBps) return 0n;
  if (neededBps > terms.capBps) return null;
  return mulDivUp(neededBps - terms.slippageBps, ARM_WIDENING, terms.capBps - terms.slippageBps);
}

/** Whether arming (or waiting for a running auction) lets this fill pass, at today's prices. */
export function judgeArming(
  type: FillType,
  miss: Miss,
  terms: AuctionTerms,
  now: bigint,
): ArmVerdict {
  if (miss.got < terms.hardFloorGross) return { tag: 'pointless', why: 'hard_floor' };
  const neededBps = neededTolerance(type, miss, toleranceAt(terms, now));
  const seconds = secondsUntilTolerance(terms, neededBps);
  if (seconds === null) return { tag: 'pointless', why: 'beyond_cap' };
  const armed = terms.armedAt !== 0n && now < terms.armedAt + ARM_VALIDITY;
  const fillableAt = (armed ? terms.armedAt : now) + seconds;
  if (fillableAt >= terms.deadline) return { tag: 'pointless', why: 'expires_first' };
  return { tag: armed ? 'wait' : 'arm', neededBps, fillableAt };
}
