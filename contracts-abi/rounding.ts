/**
 * The one rounding module. Amounts a caller pays round up, amounts a caller receives round down
 * (rule 7 of protocol-rules.md). Dollars enter as decimal text and are floored to 6 decimals (wire.md, Numbers).
 */
import { BPS } from './constants.ts';

/** floor(a * b / d). Throws RangeError when d is zero or a result would be negative. */
export function mulDivDown(a: bigint, b: bigint, d: bigint): bigint {
  if (d <= 0n || a < 0n || b < 0n)
    throw new RangeError('mulDivDown: negative input or zero divisor');
  return (a * b) / d;
}

/** ceil(a * b / d). Throws RangeError when d is zero or a result would be negative. */
export function mulDivUp(a: bigint, b: bigint, d: bigint): bigint {
  if (d <= 0n || a < 0n || b < 0n) throw new RangeError('mulDivUp: negative input or zero divisor');
  return (a * b + d - 1n) / d;
}

/** `bps` of `amount`, rounded up: a fee. */
export function bpsUp(amount: bigint, bps: bigint): bigint {
  return mulDivUp(amount, bps, BPS);
}

/** `bps` of `amount`, rounded down: a receipt. */
export function bpsDown(amount: bigint, bps: bigint): bigint {
  return mulDivDown(amount, bps, BPS);
}

/** The most that a payer may be asked for: amount x (1 + bps), rounded up. */
export function plusBps(amount: bigint, bps: bigint): bigint {
  return mulDivUp(amount, BPS + bps, BPS);
}

/** The least that a receiver accepts: amount x (1 - bps), rounded down. */
export function minusBps(amount: bigint, bps: bigint): bigint {
  return mulDivDown(amount, BPS - bps, BPS);
}

/**
 * Decimal text ("12.5", "1e3" refused) to base units, floored to `decimals`.
 * @returns null when the text is not a plain non-negative decimal.
 */
export function parseDecimal(text: string, decimals: number): bigint | null {
  const match = /^(\d+)(?:\.(\d*))?$/.exec(text);
  if (match === null) return null;
  const whole = match[1] ?? '0';
  const fraction = (match[2] ?? '').slice(0, decimals).padEnd(decimals, '0');
  return BigInt(whole + fraction);
}

/** Base units to exact decimal text without trailing zeros: formatDecimal(1500000n, 6) is "1.5". */
export function formatDecimal(amount: bigint, decimals: number): string {
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return sign + (fraction === '' ? whole : `${whole}.${fraction}`);
}

/** A JSON number (finite, non-negative) as the decimal text a person wrote: no exponent. */
export function decimalTextOf(value: number): string {
  const text = String(value);
  const match = /^(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const digits = (match[1] ?? '') + (match[2] ?? '');
  const point = 1 + Number(match[3]);
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`;
  if (point >= digits.length) return digits + '0'.repeat(point - digits.length);
  return `${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Base units to a JSON number for the HTTP edge; 8 significant digits are applied when the body is written. */
export function toNumber(amount: bigint, decimals: number): number {
  return Number(formatDecimal(amount, decimals));
}

/** A fractional JSON number rounded to 8 significant digits (interface.md section 1); integers pass unchanged. */
export function round8(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(8));
}
