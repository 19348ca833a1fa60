import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonTextProblem } from './json-text.ts';

describe('jsonTextProblem', () => {
  it.each([
    ['{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}', null],
    ['{"a":"a","b":"\\"a\\":1"}', null],
    ['{"a" : 1 , "a" : 2}', { tag: 'duplicate_key' }],
    ['{"action":{"fee":"1","fee":"2"},"signature":"0x"}', { tag: 'duplicate_key' }],
    ['{"action":1,"\\u0061ction":2}', { tag: 'duplicate_key' }],
    ['[[[[[[[[[1]]]]]]]]]', { tag: 'too_deep' }],
    ['"a"', null],
  ])('%s', (text, problem) => {
    JSON.parse(text);
    expect(jsonTextProblem(text)).toEqual(problem);
  });

  it('finds nothing in what JSON.stringify writes, and the duplicate once one is spliced in', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { minKeys: 1 }),
        (object) => {
          const text = JSON.stringify(object);
          const first = JSON.stringify(Object.keys(JSON.parse(text) as object)[0]);
          expect(jsonTextProblem(text)).toBeNull();
          expect(jsonTextProblem(`${text.slice(0, -1)},${first}:0}`)).toEqual({
            tag: 'duplicate_key',
          });
        },
      ),
    );
  });

  it('reads a long flat body in linear time', () => {
    const text = JSON.stringify({ data: `0x${'00'.repeat(120_000)}` });
    expect(jsonTextProblem(text)).toBeNull();
  });
});
