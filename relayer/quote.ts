/**
 * The network fee, as pure policy. Amounts: USDG base units (1e6), gas price in wei, ETH price in dollars x 1e18.
 *
 * What must hold: a fee the relayer quoted is accepted until `quoteExpiresAt`, however gas moves; nobody pays more
 * than half above the dearer of quote and cost; nobody is asked for more than the cheaper of the two (wire.md).
 */
import type { Hex } from 'viem';
import { MAX_NETWORK_FEE } from '../contracts-abi/constants.ts';
import { mulDivUp } from '../contracts-abi/rounding.ts';

export type FeePolicy = {
  /** Added to the cost, in percent: what gas may rise by before the relayer pays from its own pocket. */
  marginPercent: bigint;
  /** Quotes are whole multiples of this many USDG base units, and at least one. */
  step: bigint;
};

/** A quote that a slot holds: the fee in USDG base units and the unix second until which it is accepted. */
export type Quote = {
  fee: bigint;
  expiresAt: number;
  /** What it was asked for (`termsOf`): other terms under the same nonce may need many times the gas. */
  terms: Hex;
};

/** wei x (dollars x 1e18 per ETH) = dollars x 1e36; one USDG base unit is 1e30 of them. */
const PER_USDG = 10n ** 30n;

/** What an action of `gas` costs now, with margin, rounded up to a whole step. */
export function currentFee(
  input: { gas: bigint; gasPriceWei: bigint; ethPrice: bigint },
  policy: FeePolicy,
): bigint {
  const cost = mulDivUp(
    input.gas * input.gasPriceWei * input.ethPrice,
    100n + policy.marginPercent,
    PER_USDG * 100n,
  );
  const steps = mulDivUp(cost, 1n, policy.step);
  return (steps === 0n ? 1n : steps) * policy.step;
}

/** What `gasWei` was worth in USDG, rounded up. */
export function gasInUsdg(gasWei: bigint, ethPrice: bigint): bigint {
  return mulDivUp(gasWei, ethPrice, PER_USDG);
}

/** The quote that still binds at `now` (unix seconds) for an action of these terms, or null. */
export function standingQuote(quote: Quote | null, terms: Hex, now: number): Quote | null {
  return quote !== null && quote.terms === terms && now <= quote.expiresAt ? quote : null;
}

export type FeeVerdict =
  | { tag: 'accepted' }
  /** `fee` is what the client has to sign. */
  | { tag: 'required'; fee: bigint; why: 'too_low' | 'too_high' }
  /** Gas is so dear that no fee the contract allows would pay for it. */
  | { tag: 'too_dear'; fee: bigint };

/** The band: from the lower of standing quote and current cost to 1.5 times the higher. */
export function feeBand(
  current: bigint,
  standing: Pick<Quote, 'fee'> | null,
): { least: bigint; most: bigint } {
  const quoted = standing?.fee ?? current;
  const lower = quoted < current ? quoted : current;
  const higher = quoted < current ? current : quoted;
  return { least: lower, most: (higher * 3n) / 2n };
}

export function judgeFee(
  offered: bigint,
  current: bigint,
  standing: Pick<Quote, 'fee'> | null,
): FeeVerdict {
  const { least, most } = feeBand(current, standing);
  if (offered >= least && offered <= most) return { tag: 'accepted' };
  if (least > MAX_NETWORK_FEE) return { tag: 'too_dear', fee: least };
  return { tag: 'required', fee: least, why: offered < least ? 'too_low' : 'too_high' };
}
