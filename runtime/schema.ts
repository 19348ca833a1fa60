/** Schemas of the values that cross every edge: addresses, hex, unsigned integers. One place, same messages. */
import { type Address, getAddress, type Hex } from 'viem';
import { z } from 'zod';

export const PASTED_KEY_WARNING =
  'this is 32 bytes, not an address: if it is a private key, treat it as leaked and move the funds now; this service never needs a private key';

/** True for 32 bytes of hex where an address (20 bytes) belongs. */
function looksLikePrivateKey(text: string): boolean {
  return /^(?:0x)?[0-9a-f]{64}$/i.test(text.trim());
}

/** 0x and 40 hex characters in any case, to a checksummed address. The value is never echoed. */
export const addressSchema = z
  .string({ error: 'expected an address: 0x and 40 hex characters' })
  .superRefine((text, context) => {
    if (looksLikePrivateKey(text)) {
      context.addIssue({ code: 'custom', message: PASTED_KEY_WARNING });
    } else if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
      context.addIssue({
        code: 'custom',
        message: 'expected an address: 0x and 40 hex characters',
      });
    }
  })
  .transform(
    (text): Address => (/^0x[0-9a-fA-F]{40}$/.test(text) ? getAddress(text.toLowerCase()) : '0x'),
  )
  .meta({ type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' });

/** More digits than 2^256 has are never read as a number: that takes time in their square. */
const isUint256 = (digits: string): boolean => digits.length <= 78 && BigInt(digits) < 1n << 256n;

/** Decimal digits, at most 78 of them and within uint256, to a bigint. */
export const uintStringSchema = z
  .string({ error: 'expected a whole number as a decimal string' })
  .regex(
    /^(0|[1-9][0-9]{0,77})$/,
    'expected a whole number as a decimal string without leading zeros',
  )
  .refine((text) => !/^\d{1,78}$/.test(text) || isUint256(text), 'expected a number below 2^256')
  .meta({ type: 'string', pattern: '^[0-9]+$' });

/** The same where a client writes it, leading zeros allowed (interface.md: `^[0-9]+$`), to the text without them. */
export const uintDigitsSchema = z
  .string({ error: 'expected a whole number as a decimal string' })
  .regex(/^[0-9]+$/, 'expected a whole number as a decimal string')
  .transform((text) => text.replace(/^0+(?=[0-9])/, ''))
  .refine(isUint256, 'expected a number below 2^256')
  .meta({ type: 'string', pattern: '^[0-9]+$' });

/** 0x-prefixed whole bytes, any length up to `maxBytes`. */
export function bytesSchema(maxBytes: number) {
  return (
    z
      .string({ error: 'expected 0x-prefixed bytes' })
      // Before anything looks at the characters of what somebody made as long as he could.
      .max(2 + maxBytes * 2, { error: `expected at most ${maxBytes} bytes`, abort: true })
      .regex(/^0x(?:[0-9a-fA-F]{2})*$/, 'expected 0x-prefixed whole bytes')
      .transform((text) => text.toLowerCase() as Hex)
  );
}

/** 32 bytes of hex: an order id or a digest. */
export const hash32Schema = z
  .string({ error: 'expected 0x and 64 hex characters' })
  .regex(/^0x[0-9a-fA-F]{64}$/, 'expected 0x and 64 hex characters')
  .transform((text) => text.toLowerCase() as Hex);

/** The first problem of a failed parse as one sentence, naming the field and never its value. */
export function firstProblem(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'invalid input';
  const path = issue.path.map(String).join('.');
  // The validator's own words, where a schema has none.
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input: ')) {
    if (path !== '' && issue.message.endsWith('received undefined')) return `${path} is required`;
    return `${path === '' ? '' : `${path}: `}expected ${named(issue.expected)}`;
  }
  if (issue.code === 'invalid_value' && /^Invalid (?:input|option): /.test(issue.message)) {
    return `${path === '' ? '' : `${path}: `}expected ${oneOf(issue.values)}`;
  }
  const message = issue.code === 'unrecognized_keys' ? unknownFields(issue.keys) : issue.message;
  return path === '' ? message : `${path}: ${message}`;
}

/** A type as JSON's readers call it. */
function named(type: string): string {
  if (type === 'array') return 'a list';
  return type === 'object' || type === 'record' ? 'an object' : `a ${type}`;
}

/** Values that are allowed, as the messages of the schemas name theirs: `"a", "b" or "c"`. */
function oneOf(values: readonly unknown[]): string {
  const names = values.map((value) => (typeof value === 'string' ? `"${value}"` : String(value)));
  const last = names.pop() ?? 'nothing';
  return names.length === 0 ? last : `${names.join(', ')} or ${last}`;
}

/** A field's name is the client's text too, and somebody's key may stand there: only names like ours are repeated. */
function unknownFields(names: readonly string[]): string {
  const plain = names.filter((name) => /^[A-Za-z_]\w{0,31}$/.test(name)).slice(0, 5);
  return plain.length === 0 ? 'unknown field' : `unknown field: ${plain.join(', ')}`;
}
