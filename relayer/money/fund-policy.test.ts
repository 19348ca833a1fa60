import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeFund } from './fund-policy.ts';

const RULES = { lowWei: 20n, targetWei: 100n, dailyWei: 300n };
const poor = { balanceWei: 10n, treasuryWei: 1_000n, sentWei: 0n, keepWei: 5n };

describe('the treasury', () => {
  test.each<[string, Partial<typeof poor>, object]>([
    ['lifts a wallet to the target', {}, { tag: 'send', amountWei: 90n }],
    ['leaves a wallet with enough alone', { balanceWei: 20n }, { tag: 'enough' }],
    ['sends what the day has left', { sentWei: 250n }, { tag: 'send', amountWei: 50n }],
    ['stops with the day', { sentWei: 278n }, { tag: 'over_daily' }],
    ['sends what it has', { treasuryWei: 65n }, { tag: 'send', amountWei: 60n }],
    ['keeps its own gas', { treasuryWei: 27n }, { tag: 'treasury_empty' }],
  ])('%s', (_, change, verdict) => {
    expect(judgeFund({ ...poor, ...change }, RULES)).toEqual(verdict);
  });

  test('never lifts above the target, passes the day or spends its own gas', () => {
    const amount = fc.bigInt({ min: 0n, max: 10n ** 20n });
    fc.assert(
      fc.property(
        fc.record({ balanceWei: amount, treasuryWei: amount, sentWei: amount, keepWei: amount }),
        fc.record({ lowWei: amount, targetWei: amount, dailyWei: amount }),
        (state, rules) => {
          const verdict = judgeFund(state, rules);
          if (verdict.tag !== 'send') return;
          const { amountWei } = verdict;
          expect(amountWei).toBeGreaterThan(0n);
          expect(state.balanceWei).toBeLessThan(rules.lowWei);
          expect(state.balanceWei + amountWei).toBeLessThanOrEqual(rules.targetWei);
          expect(state.sentWei + amountWei).toBeLessThanOrEqual(rules.dailyWei);
          expect(amountWei + state.keepWei).toBeLessThanOrEqual(state.treasuryWei);
        },
      ),
    );
  });
});
