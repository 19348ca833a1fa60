/** The leaf formats of wire.md's notation: num, wei, addr, hex, and the integers among the numbers. */
import { leaf, type Rule, type Shape } from './shape.ts';

const AS_DECIMAL = /^(0|[1-9]\d*)$/;
const UINT256 = 2n ** 256n;

function text(
  matches: (value: string) => boolean,
  name: string,
  deform?: (value: string) => string[],
) {
  return leaf<string>({
    type: 'string',
    rule: (value) => (matches(value) ? undefined : `not ${name}`),
    deform: deform ?? (() => []),
  });
}

/** Text of one pattern. */
export function matching(pattern: RegExp, name: string, refused: string[] = ['']): Shape<string> {
  return text(
    (value) => pattern.test(value),
    name,
    () => refused,
  );
}

/** Text for people; never empty. */
export const words = text(
  (value) => value.trim() !== '',
  'words',
  () => [''],
);

/** Base units as a canonical decimal integer: no sign, no leading zero, within uint256. */
export const wei = text(
  (value) => AS_DECIMAL.test(value) && BigInt(value) < UINT256,
  'a canonical decimal integer',
  (value) => [
    `0${value}`,
    `-${value}`,
    `${value}.0`,
    `+${value}`,
    '',
    `0x${value}`,
    '1e18',
    ` ${value}`,
  ],
);

export const addr = text(
  (value) => /^0x[0-9a-fA-F]{40}$/.test(value),
  'an address',
  (value) => [value.slice(0, -1), `${value}0`, value.slice(2), `0x${'g'.repeat(40)}`],
) as Shape<`0x${string}`>;

/** Bytes: 0x and an even number of hex digits; `size` in bytes. */
export function hex(size?: number): Shape<`0x${string}`> {
  return text(
    (value) =>
      /^0x([0-9a-fA-F]{2})*$/.test(value) && (size === undefined || value.length === 2 + 2 * size),
    size === undefined ? 'hex bytes' : `${size} bytes of hex`,
    (value) => [
      `${value}0`,
      `${value}zz`,
      value.slice(2),
      ...(size === undefined ? [] : [`${value}00`]),
    ],
  ) as Shape<`0x${string}`>;
}

/** Calldata of a call: a selector at least. */
export const callData = text(
  (value) => /^0x([0-9a-fA-F]{2}){4,}$/.test(value),
  'calldata',
  (value) => [`${value}0`, '0x', value.slice(2)],
) as Shape<`0x${string}`>;

export const hash = hex(32);

const isUrl = (value: string): boolean =>
  URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol);

export const url = text(isUrl, 'an http URL', (value) => [value.replace(/^https?:\/\//, ''), '/x']);

/** ISO 8601 in UTC, as Date writes it. */
export const isoTime = text(
  (value) => !Number.isNaN(Date.parse(value)) && new Date(value).toISOString() === value,
  'an ISO time',
  (value) => [value.slice(0, 10), value.replace('Z', ''), ''],
);

type Bounds = { min?: number; max?: number };

function within(value: number, { min = -Infinity, max = Infinity }: Bounds): boolean {
  return value >= min && value <= max;
}

/** Fractions carry at most 8 significant digits; integers all of theirs (wire.md, Numbers). */
export const eightDigits: Rule<number> = (value) =>
  Number.isInteger(value) || Number(value.toPrecision(8)) === value
    ? undefined
    : 'more than 8 significant digits';

/** A decimal number: dollars, fractions, ether. */
export function num(bounds: Bounds = {}): Shape<number> {
  return leaf<number>({
    type: 'number',
    rule: (value) => {
      if (!Number.isFinite(value)) return 'not finite';
      return within(value, bounds) ? eightDigits(value) : 'out of bounds';
    },
    deform: (value) => [
      // Nine digits and more, of the same size; zero has no size to keep.
      value === 0 ? 0.123_456_789 : Number((value * 1.000_000_037).toPrecision(12)) + 2 ** -20,
      ...(bounds.min === undefined ? [] : [bounds.min - 1]),
    ],
  });
}

/** Ids, block numbers, basis points, counts and times are whole. */
export function int(bounds: Bounds = {}): Shape<number> {
  return leaf<number>({
    type: 'number',
    rule: (value) => {
      if (!Number.isSafeInteger(value)) return 'not an integer';
      return within(value, bounds) ? undefined : 'out of bounds';
    },
    deform: (value) => [
      value + 0.5,
      ...(bounds.min === undefined ? [] : [bounds.min - 1]),
      ...(bounds.max === undefined ? [] : [bounds.max + 1]),
    ],
  });
}

export const count = int({ min: 0 });
export const bps = int({ min: 0, max: 10_000 });
/** Unix seconds: neither milliseconds nor days. */
export const unixSeconds = int({ min: 1_000_000_000, max: 10_000_000_000 });
export const unixMillis = int({ min: 1_000_000_000_000, max: 10_000_000_000_000 });

export const flag = leaf<boolean>({ type: 'boolean', rule: () => undefined });

/** The two are the same amount, one of them rounded to 8 digits. */
export function nearly(value: number, exact: number): boolean {
  return Math.abs(value - exact) <= Math.abs(exact) * 1.5e-7 + 1e-12;
}
