/**
 * JSON numbers as the text that was written (wire.md, Numbers). JSON.parse rounds a number to the nearest double, which
 * may lie above it: 4.9999999999999999999 becomes 5. Here a number with more digits than a double holds loses the
 * digits that do not fit, towards zero, so that flooring it afterwards floors what the client wrote.
 */

/** Sixteen digits in a row, a point among them or not: only then can a number be longer than a double. */
const LONG_NUMBER = /\d[\d.]{15}/;
/** A whole string, or a number; nothing else of valid JSON holds digits. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** @param parsed what JSON.parse made of `text`; `text` null: not kept. */
export function exactNumbers(parsed: unknown, text: string | null): unknown {
  if (text === null || !LONG_NUMBER.test(text)) return parsed;
  const written = text.replaceAll(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') ? token : towardsZero(token),
  );
  return JSON.parse(written) as unknown;
}

/** 0.`digits` x 10^`exponent`; no zeros at either end of the digits. */
type Decimal = { digits: string; exponent: number };

function decimalOf(literal: string): Decimal | null {
  const match = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal);
  if (match === null) return null;
  const [, whole = '', fraction = '', power = '0'] = match;
  const all = whole + fraction;
  const significant = all.replace(/^0+/, '');
  return {
    digits: withoutZerosAtEnd(significant),
    exponent: whole.length - (all.length - significant.length) + Number(power),
  };
}

/** By hand: an expression would look from each zero of a long number for its end, and a body holds 250,000 of them. */
function withoutZerosAtEnd(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

/** Any 15 digits survive the way through a double, and most of 16 or 17. */
const KEPT_DIGITS = [17, 16, 15] as const;

/** The literal, or as many of its first digits as a double gives back unchanged. */
function towardsZero(literal: string): string {
  const wanted = decimalOf(literal);
  if (wanted === null || wanted.digits.length <= 15) return literal;
  const sign = literal.startsWith('-') ? '-' : '';
  for (const count of KEPT_DIGITS) {
    const digits = withoutZerosAtEnd(wanted.digits.slice(0, count));
    const shorter = `0.${digits}e${wanted.exponent}`;
    const back = decimalOf(String(Number(shorter)));
    if (back?.digits === digits && back.exponent === wanted.exponent) return sign + shorter;
  }
  // Too large or too small for a double at all.
  return literal;
}
