import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  addressSchema,
  bytesSchema,
  firstProblem,
  hash32Schema,
  uintDigitsSchema,
  uintStringSchema,
} from './schema.ts';

const problem = (schema: { safeParse: (v: unknown) => unknown }, value: unknown) => {
  const result = schema.safeParse(value) as {
    success: boolean;
    error: Parameters<typeof firstProblem>[0];
  };
  return result.success ? null : firstProblem(result.error);
};

describe('edge schemas', () => {
  it('takes an address in any case and gives its checksum form', () => {
    const lower = '0x5fc5360d0400a0fd4f2af552add042d716f1d168';
    expect(addressSchema.parse(lower)).toBe('0x5fc5360D0400a0Fd4f2af552ADD042D716F1d168');
    expect(addressSchema.parse(lower.replace('fc', 'FC'))).toBe(addressSchema.parse(lower));
  });

  it('warns of a pasted private key and never echoes it', () => {
    const key = `0x${'ab'.repeat(32)}`;
    for (const text of [key, key.slice(2), ` ${key}`, key.toUpperCase()]) {
      const said = problem(addressSchema, text);
      expect(said).toMatch(/treat it as leaked/);
      expect(said?.toLowerCase()).not.toContain('abab');
    }
  });

  it('names an unknown field and never one that may be a private key', () => {
    const key = 'ab'.repeat(32);
    expect(problem(z.strictObject({}), { simulate: true })).toBe('unknown field: simulate');
    for (const name of [key, `0x${key}`, key.slice(0, 40)]) {
      expect(problem(z.strictObject({}), { [name]: 1 })).toBe('unknown field');
    }
  });

  it('says what is missing or of another type, where a schema has no words of its own', () => {
    const schema = z.object({ ticker: z.string(), list: z.array(z.int()).optional() });
    expect(problem(schema, {})).toBe('ticker is required');
    expect(problem(schema, { ticker: 1 })).toBe('ticker: expected a string');
    expect(problem(schema, { ticker: 'A', list: {} })).toBe('list: expected a list');
    expect(problem(schema, null)).toBe('expected an object');
    expect(problem(schema, undefined)).toBe('expected an object');
  });

  it('says which values are allowed, where a schema has no words of its own', () => {
    const schema = z.object({
      pretty: z.literal('1').optional(),
      level: z.literal([0, 1, 4]).optional(),
      side: z.enum(['buy', 'sell']).optional(),
    });
    expect(problem(schema, { pretty: '2' })).toBe('pretty: expected "1"');
    expect(problem(schema, { level: 2 })).toBe('level: expected 0, 1 or 4');
    expect(problem(schema, { side: 'hold' })).toBe('side: expected "buy" or "sell"');
    expect(problem(z.literal('1'), '2')).toBe('expected "1"');
    expect(problem(z.literal('1', 'expected one'), '2')).toBe('expected one');
  });

  it.each([null, 1, '', '0x', '0x12', `0x${'g'.repeat(40)}`, `0x${'1'.repeat(41)}`, {}])(
    'refuses %j as an address',
    (value) => {
      expect(problem(addressSchema, value)).toMatch(/expected an address/);
    },
  );

  it.each(['01', '-1', '1.0', '1e3', '', ' 1', '0x1', 'max', (1n << 256n).toString(), 5])(
    'refuses %j as a base-unit amount',
    (value) => {
      expect(problem(uintStringSchema, value)).not.toBeNull();
    },
  );

  it('takes the leading zeros of a client, and gives the number without them', () => {
    for (const [text, plain] of [
      ['00', '0'],
      ['0', '0'],
      ['007', '7'],
      ['100', '100'],
      ['0'.repeat(200) + '9'.repeat(77), '9'.repeat(77)],
    ] as const) {
      expect(uintDigitsSchema.parse(text)).toBe(plain);
    }
  });

  it.each(['', '-1', '1.0', '1e3', ' 1', '0x1', 'max', `0${1n << 256n}`, '9'.repeat(90), 5])(
    'refuses %j as the digits of an amount',
    (value) => {
      expect(problem(uintDigitsSchema, value)).not.toBeNull();
    },
  );

  it('takes every base-unit amount of 256 bits', () => {
    expect(uintStringSchema.parse('0')).toBe('0');
    expect(uintStringSchema.parse(((1n << 256n) - 1n).toString())).toHaveLength(78);
  });

  it('bounds bytes and hashes', () => {
    expect(bytesSchema(2).parse('0xABCD')).toBe('0xabcd');
    expect(problem(bytesSchema(2), '0xabcdef')).toMatch(/at most 2 bytes/);
    expect(problem(bytesSchema(2), '0xabc')).not.toBeNull();
    expect(problem(hash32Schema, '0x12')).not.toBeNull();
  });
});
