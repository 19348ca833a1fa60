import { describe, expect, it } from 'vitest';
import { differences, figuresOf } from './measure.ts';

// The measurement itself is a step of its own of `npm test`: `npm run gas -- --check`.
describe('gas snapshot', () => {
  it('differs where a figure moved by more than the tolerance, came or went', () => {
    const before = { same: 1_000, within: 1_000, above: 1_000, below: 1_000, gone: 1 };
    const after = { same: 1_000, within: 1_010, above: 1_011, below: 989, come: 2 };
    expect(differences(before, after)).toEqual([
      'above: 1000 before, 1011 now',
      'below: 1000 before, 989 now',
      'come: 2, not in the snapshot',
      'gone: no longer measured',
    ]);
  });

  it('takes its figures from the logs of the suites, sorted', () => {
    const account =
      '[PASS] test_x() (gas: 5)\nLogs:\n  B.two: 22\n  A.one (buy of 3): 11\n\nTraces:\n';
    expect(Object.entries(figuresOf(account))).toEqual([
      ['A.one (buy of 3)', 11],
      ['B.two', 22],
    ]);
  });
});
