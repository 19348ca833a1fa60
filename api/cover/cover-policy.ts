/**
 * Whether a session key may lock this for cover (wire.md, Cover rules; CoverModule.sol). Amounts in USDG base units. The
 * order of the checks is the order in which an agent can act on them. Pure.
 */
import {
  MAX_SESSION_COVER_OFFERS,
  MIN_COVER_HOLDING,
  MIN_COVER_USD,
} from '../../contracts-abi/constants.ts';
import { formatDecimal } from '../../contracts-abi/rounding.ts';
import type { Session } from '../session/read-session.ts';
import {
  checkGrant,
  checkNetworkFee,
  type Refused,
  refused,
  valueDown,
} from '../session/trade-policy.ts';
import type { Filled } from './fill-offers.ts';

const dollars = (amount: bigint) => `$${formatDecimal(amount, 6)}`;

/** What the key locked for cover today, beside its session. */
export type CoverSession = { session: Session; spentToday: bigint };

/** Shares that the account owns, free or in exit orders; `reference` null: no valid 10-minute average now. */
export type Holder = { ticker: string; shares: bigint; reference: bigint | null };

/** Null when the key may act on cover at this network fee. */
export function checkCoverGrant({ session }: CoverSession, feeUsdg: bigint): Refused | null {
  const grant = checkGrant(session, feeUsdg);
  if (grant !== null) return grant;
  if (!session.coverEnabled) {
    return refused(
      'SESSION_INACTIVE',
      'the owner has not turned cover on for this key: he approves at approvalUrl',
    );
  }
  return feeUsdg === 0n ? null : checkNetworkFee(session, feeUsdg);
}

/** Rule 21: a holding worth at least $5 at the reference. */
export function checkHolder({ ticker, shares, reference }: Holder): Refused | null {
  if (shares === 0n) {
    return refused(
      'NOT_A_HOLDER',
      `cover of ${ticker} is for accounts that hold it: this one does not`,
    );
  }
  if (reference === null) {
    // A holder, who has to wait: of the route's codes this alone says so (interface.md section 4 closes them).
    return refused(
      'PAUSED',
      `cover of ${ticker} waits: the basket has no valid 10-minute average NAV now to value the holding at; the same request works once it has one`,
    );
  }
  const value = valueDown(shares, reference);
  return value >= MIN_COVER_HOLDING
    ? null
    : refused(
        'NOT_A_HOLDER',
        `the account holds ${dollars(value)} of ${ticker}; cover needs ${dollars(MIN_COVER_HOLDING)}`,
      );
}

/**
 * What one action can buy against what was asked for. `bookUsd`: open at this price to this key, `capLeftUsd`: what the
 * week's cap still carries; whole dollars.
 */
export function checkFilled(
  filled: Filled,
  asked: { coverUsd: bigint; allowPartial: boolean },
  { bookUsd, capLeftUsd }: { bookUsd: bigint; capLeftUsd: bigint },
): Refused | null {
  const { filledUsd } = filled;
  if (filledUsd === asked.coverUsd || (filledUsd > 0n && asked.allowPartial)) return null;
  if (bookUsd === 0n) {
    return refused(
      'NO_COVER',
      'the book holds no cover of this range at this price that the key can take',
    );
  }
  const held = `the book holds $${bookUsd} of the $${asked.coverUsd} asked for at this price`;
  const advice = filledUsd === 0n ? '' : ': take that, or set allowPartial';
  if (filledUsd === bookUsd) return refused('NO_COVER', `${held}${advice}`);
  const bound =
    capLeftUsd < bookUsd && capLeftUsd < asked.coverUsd
      ? `the cap of this week carries $${capLeftUsd} more`
      : `an action takes ${MAX_SESSION_COVER_OFFERS} offers at most, $${MIN_COVER_USD} or all that is left of each`;
  return refused(
    'NO_COVER',
    `one action buys $${filledUsd} of the $${asked.coverUsd} asked for${advice}; the book holds $${bookUsd} at this price, and ${bound}`,
  );
}

/** The daily limit, then the account's money. */
export function checkMeans(
  { session, spentToday }: CoverSession,
  cost: bigint,
  feeUsdg: bigint,
): Refused | null {
  const left = leftToday({ session, spentToday });
  if (cost > left) {
    return refused(
      'SESSION_LIMIT',
      `this locks ${dollars(cost)} and ${dollars(left)} of today's cover limit is left`,
    );
  }
  return session.usdg >= cost + feeUsdg
    ? null
    : refused(
        'INSUFFICIENT_FUNDS',
        `the account holds ${dollars(session.usdg)} and this needs ${dollars(cost + feeUsdg)}`,
      );
}

/** What of the daily cover limit is left; zero where cover is off. */
export function leftToday({ session, spentToday }: CoverSession): bigint {
  if (!session.coverEnabled || spentToday > session.coverDailyLimit) return 0n;
  return session.coverDailyLimit - spentToday;
}
