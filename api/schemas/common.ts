/** Schemas and readings shared by requests. Dollars come as JSON numbers and leave as USDG base units. */
import { z } from 'zod';
import { decimalTextOf, parseDecimal } from '../../contracts-abi/rounding.ts';
import { uintDigitsSchema } from '../../runtime/schema.ts';

/** Above this a JSON number no longer carries six decimals. */
const MOST_DOLLARS = 1_000_000_000;

function decimalOf(value: number, decimals: number): bigint {
  const parsed = parseDecimal(decimalTextOf(value), decimals);
  if (parsed === null) throw new RangeError('not a plain decimal');
  return parsed;
}

/** Dollars as a JSON number, floored to six decimals: USDG base units, above zero. */
export const amountUsdgSchema = z
  .number({ error: 'expected dollars as a number' })
  .positive('expected dollars above zero')
  .max(MOST_DOLLARS, `expected at most ${MOST_DOLLARS} dollars`)
  .transform((dollars) => decimalOf(dollars, 6))
  .refine((amount) => amount > 0n, 'expected at least 0.000001 dollars')
  .meta({ type: 'number', description: 'Dollars, as a plain number; floored to six decimals.' });

/** Dollars per share as a JSON number, floored to six decimals like all dollars, to dollars x 1e18. */
export const navSchema = z
  .number({ error: 'expected dollars per share as a number' })
  .positive('expected a price above zero')
  .max(MOST_DOLLARS, `expected at most ${MOST_DOLLARS} dollars`)
  .transform((dollars) => decimalOf(dollars, 6) * 10n ** 12n)
  .refine((nav) => nav > 0n, 'expected a price of at least 0.000001 dollars')
  .meta({
    type: 'number',
    description: 'Dollars per share (10-minute average NAV); floored to six decimals.',
  });

const SHARES_ERROR =
  'expected shares as a decimal string in 1e18 units (a JSON number loses digits and is refused)';

/** Shares in 1e18 units, above zero. A JSON number is refused: it would not survive a round trip. */
export const sharesSchema = z
  .string({ error: SHARES_ERROR })
  .pipe(uintDigitsSchema)
  .transform(BigInt)
  .refine((shares) => shares > 0n, 'expected more than zero shares')
  .meta({ type: 'string', pattern: '^[0-9]+$', description: 'Exact shares, 1e18 units.' });

/** (0, 1] as a JSON number, to 1e18. */
export const fractionSchema = z
  .number({ error: 'expected a number above 0 and at most 1' })
  .positive('expected a number above 0 and at most 1')
  .max(1, 'expected a number above 0 and at most 1')
  .transform((fraction) => decimalOf(fraction, 18))
  .refine((fraction) => fraction > 0n, 'expected at least 1e-18')
  .meta({ type: 'number', description: 'Part of the balance to sell, with shares "max".' });

export const tickerSchema = z
  .string({ error: 'expected a ticker' })
  .min(1, 'expected a ticker')
  .max(32, 'expected a ticker of at most 32 characters')
  .meta({ description: 'Basket ticker.' });

export const slippageSchema = z
  .int('expected a whole number of basis points')
  .min(0, 'expected 0 to 1000 basis points')
  .max(1_000, 'expected 0 to 1000 basis points')
  .default(50)
  .meta({ description: 'Slippage in basis points; 100 is 1%.' });

export const simulateSchema = z
  .boolean('expected true or false')
  .default(true)
  .meta({ description: 'false skips the dry run.' });

export const expiryDaysSchema = z
  .int('expected a whole number of days')
  .min(1, 'expected 1 to 90 days')
  .max(90, 'expected 1 to 90 days')
  .default(30)
  .meta({ description: 'Days until the order expires.' });

/**
 * The seconds of these hours, floored as all that is written is; but a third of an hour is no decimal, so what a float
 * cannot tell from a whole second is that second.
 */
function secondsOf(hours: number): number {
  const seconds = hours * 3_600;
  const nearest = Math.round(seconds);
  const error = 4 * Number.EPSILON * seconds;
  return Math.abs(seconds - nearest) <= error ? nearest : Math.floor(seconds);
}

/** Hours between two buys as a JSON number, to whole seconds. */
export const everyHoursSchema = z
  .number({ error: 'expected hours as a number' })
  .positive('expected hours above zero')
  .max(8_760, 'expected at most 8760 hours')
  .transform(secondsOf)
  .meta({
    type: 'number',
    description:
      'Hours between two buys; fractions allowed, at least 1/6. Floored to whole seconds.',
  });
