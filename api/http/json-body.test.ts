import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonText, serialise } from './json-body.ts';

describe('JSON bodies', () => {
  it('round fractions to 8 significant digits, and nothing else', () => {
    const body = {
      nav: 123.456789012,
      tiny: 0.000012345678912,
      asOfMs: 1_795_822_295_949,
      wei: '123456789012345678901234567890',
      none: null,
      list: [1.00000000123, true],
    };
    expect(JSON.parse(jsonText(body, false))).toEqual({
      nav: 123.45679,
      tiny: 0.000012345679,
      asOfMs: 1_795_822_295_949,
      wei: '123456789012345678901234567890',
      none: null,
      list: [1, true],
    });
  });

  it('leave an action and its typed data to the last digit', () => {
    const exact = { fraction: 0.123456789012345, deep: [{ x: 1.000000000001 }], amount: '1.5' };
    const body = {
      action: exact,
      typedData: { message: exact, domain: { chainId: 4663 } },
      plans: [{ action: exact }],
      summary: { fraction: 0.123456789012345 },
    };
    const read = JSON.parse(jsonText(body, false)) as typeof body;
    expect(read).toEqual({ ...body, summary: { fraction: 0.12345679 } });
  });

  it('round whatever numbers they hold as the rule says, and change nothing else', () => {
    const exactly = fc.json({ maxDepth: 4 }).map((text) => JSON.parse(text) as unknown);
    const byRule = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value), (_key, item: unknown) =>
        typeof item === 'number' && !Number.isInteger(item) ? Number(item.toPrecision(8)) : item,
      );
    fc.assert(
      fc.property(exactly, (value) => {
        expect(JSON.parse(jsonText({ value }, false))).toEqual({ value: byRule(value) });
        expect(JSON.parse(jsonText({ action: value }, true))).toEqual({ action: value });
      }),
    );
  });

  it('are indented when asked to, under another ETag', () => {
    const plain = serialise({ a: 1 }, false);
    const pretty = serialise({ a: 1 }, true);
    expect(pretty.text).toBe('{\n  "a": 1\n}');
    expect(plain.etag).not.toBe(pretty.etag);
    expect(serialise({ a: 1 }, false)).toEqual(plain);
  });
});
