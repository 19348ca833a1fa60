/**
 * The limits that an owner chooses, from what he types. Bounds are the protocol's where it has them (interface.md
 * section 8, ISessionModule); the others keep a slip of the finger from becoming a grant.
 */
import {
  MAX_SESSION_SLIPPAGE_BPS,
  MAX_SPOT_DEVIATION_BPS,
  MIN_TRADE,
  USD,
} from '../../contracts-abi/constants.ts';
import { dailyFeeCap } from '../../contracts-abi/network-fees.ts';
import { bpsDown, bpsUp, formatDecimal, parseDecimal } from '../../contracts-abi/rounding.ts';

/** Amounts in USDG base units a UTC day. */
export type Terms = {
  dailyLimit: bigint;
  maxSlippageBps: number;
  /** Until the grant ends, from the block in which it is given. */
  days: number;
  coverEnabled: boolean;
  coverDailyLimit: bigint;
};

/** As typed. */
export type TermsForm = {
  dailyLimit: string;
  slippage: string;
  days: string;
  coverEnabled: boolean;
  coverLimit: string;
};

type Field = Exclude<keyof TermsForm, 'coverEnabled'>;
export type TermsErrors = Partial<Record<Field, string>>;
export type ReadTerms = { tag: 'ok'; terms: Terms } | { tag: 'bad'; errors: TermsErrors };

const MOST_A_DAY = 1_000_000n * USD;
const LEAST_COVER = USD;
/** What the page offers. */
export const DAYS = [1, 7, 30, 90] as const;

/** interface.md section 8, default grant. */
export const DEFAULT_SLIPPAGE_BPS = 50;
export const DEFAULT_DAYS = 7;
/** The specification names none: at the price ceiling, $30 per $1,000, it buys some $300 of cover a day. */
export const DEFAULT_COVER_LIMIT = 10n * USD;

const DEFAULT_SHARE_BPS = 1_000n;
const LEAST_DEFAULT = 10n * USD;
const MOST_DEFAULT = 100n * USD;

/** 10% of the account's USDG, at least $10 and at most $100 (interface.md section 8), in whole cents. */
export function suggestedDailyLimit(usdg: bigint): bigint {
  const share = bpsDown(usdg, DEFAULT_SHARE_BPS);
  if (share < LEAST_DEFAULT) return LEAST_DEFAULT;
  return share > MOST_DEFAULT ? MOST_DEFAULT : share - (share % (USD / 100n));
}

/** Reads the form; every wrong field has its message. */
export function readTerms(form: TermsForm): ReadTerms {
  const errors: TermsErrors = {};
  const keep = <T>(field: Field, read: T | string): T | null => {
    if (typeof read !== 'string') return read;
    errors[field] = read;
    return null;
  };
  const dailyLimit = keep('dailyLimit', dollarsBetween(form.dailyLimit, MIN_TRADE, MOST_A_DAY));
  const maxSlippageBps = keep('slippage', slippageOf(form.slippage));
  const days = keep('days', daysOf(form.days));
  const coverDailyLimit = form.coverEnabled
    ? keep('coverLimit', dollarsBetween(form.coverLimit, LEAST_COVER, MOST_A_DAY))
    : 0n;
  if (dailyLimit === null || maxSlippageBps === null || days === null || coverDailyLimit === null) {
    return { tag: 'bad', errors };
  }
  const { coverEnabled } = form;
  return { tag: 'ok', terms: { dailyLimit, maxSlippageBps, days, coverEnabled, coverDailyLimit } };
}

/**
 * The most that a stolen key can lose the account in a day: (slippage + 3%) of the turnover, network fees, and the
 * premiums of cover (contracts-abi/README.md, Roles).
 */
export function worstDay(terms: Omit<Terms, 'days'>): bigint {
  const slack = BigInt(terms.maxSlippageBps) + MAX_SPOT_DEVIATION_BPS;
  const cover = terms.coverEnabled ? terms.coverDailyLimit : 0n;
  return bpsUp(terms.dailyLimit, slack) + dailyFeeCap(terms.dailyLimit) + cover;
}

/** A percentage as a form holds it: 50 is "0.5". */
export function percentText(bps: number): string {
  return formatDecimal(BigInt(bps), 2);
}

/** A comma is refused rather than guessed at: it parts thousands for some and cents for others. */
function dollarsBetween(text: string, least: bigint, most: bigint): bigint | string {
  const amount = parseDecimal(text.trim().replace(/^\$\s*/, ''), 6);
  if (amount === null) return 'Write dollars as 100 or 99.50, without commas.';
  if (amount < least) return `At least $${formatDecimal(least, 6)}.`;
  if (amount > most) return `At most $${formatDecimal(most, 6)}.`;
  return amount;
}

function slippageOf(text: string): number | string {
  const most = percentText(Number(MAX_SESSION_SLIPPAGE_BPS));
  const match = /^(\d{1,3})(?:\.(\d{1,2}))?\s*%?$/.exec(text.trim());
  if (match === null) return 'Write a percentage as 0.5 or 1, with at most two decimals.';
  const bps = Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
  if (bps < 1 || bps > Number(MAX_SESSION_SLIPPAGE_BPS)) return `Between 0.01 and ${most}.`;
  return bps;
}

function daysOf(text: string): number | string {
  const days = DAYS.find((each) => String(each) === text);
  return days ?? `One of ${DAYS.join(', ')} days.`;
}
