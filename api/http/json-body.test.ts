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

  it('are indented when asked to, under another ETag', () => {
    const plain = serialise({ a: 1 }, false);
    const pretty = serialise({ a: 1 }, true);
    expect(pretty.text).toBe('{\n  "a": 1\n}');
    expect(plain.etag).not.toBe(pretty.etag);
    expect(serialise({ a: 1 }, false)).toEqual(plain);
  });
});
