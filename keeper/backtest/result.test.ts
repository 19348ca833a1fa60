import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Attempted, differences, minus, resultOf } from './result.ts';

const attempt = (over: Partial<Attempted>): Attempted => ({
  intent: 'fill:a:1',
  job: 'a',
  kind: 'fill',
  outcome: 'mined',
  feeUsdg: 250_000n,
  gasUsed: 900_000n,
  gasL1: null,
  costUsdg: 30_000n,
  ...over,
});

describe('what a policy did', () => {
  it('counts fills, costs of arming and of reverts, and each intent once, as told last', () => {
    const result = resultOf(
      [
        attempt({ feeUsdg: 0n }),
        attempt({}),
        attempt({ intent: 'arm:a:1', kind: 'arm', feeUsdg: 0n, costUsdg: 5_000n, gasUsed: 1n }),
        attempt({ intent: 'fill:b:1', job: 'b', outcome: 'reverted', feeUsdg: 0n, gasL1: 7n }),
        attempt({ intent: 'fill:c:1', job: 'c', outcome: 'refused:expired' }),
        attempt({ intent: 'fill:d:1', job: 'd', costUsdg: null }),
      ],
      new Map([
        ['b', 'quarantined'],
        ['c', 'not_sent'],
      ]),
      new Set(['a', 'b', 'c', 'd', 'e']),
    );
    expect(result).toMatchObject({
      executed: 2,
      reverted: 1,
      feesUsdg: 500_000n,
      costUsdg: 65_000n,
      netUsdg: 435_000n,
      gasUsed: 2_700_001n,
      gasL1: 7n,
      costUnknown: 1,
    });
    expect(Object.fromEntries(result.skipped)).toEqual({
      quarantined: 1,
      not_sent: 1,
      not_considered: 1,
    });
  });

  it('leaves out what was sent and whose end nobody told, in the other policy too', () => {
    const listed = new Set(['a', 'b', 'c']);
    const told = resultOf(
      [attempt({}), attempt({ intent: 'fill:b:1', job: 'b', outcome: 'cancelled' })],
      new Map([
        ['a', 'executed'],
        ['b', 'sent'],
        ['c', 'executed'],
      ]),
      listed,
    );
    expect([...told.open]).toEqual(['b', 'c']);
    expect(told).toMatchObject({ executed: 1, feesUsdg: 250_000n });
    expect(told.skipped.size).toBe(0);
    const other = resultOf(
      ['a', 'b', 'c'].map((job) => attempt({ intent: `fill:${job}:1`, job })),
      new Map(),
      listed,
      told.open,
    );
    expect(minus(other, told)).toMatchObject({ executed: 0, feesUsdg: 0n, netUsdg: 0n });
    expect(differences(told, other).size).toBe(0);
    expect(other.skipped.size).toBe(0);
  });

  it('differs from another by the sum of its jobs, whatever both did', () => {
    const attempts = fc.array(
      fc.record({
        intent: fc.constantFrom('1', '2', '3', '4', '5', '6'),
        job: fc.constantFrom('a', 'b', 'c'),
        kind: fc.constantFrom('fill', 'arm', 'payout'),
        outcome: fc.constantFrom('mined', 'reverted', 'cancelled'),
        feeUsdg: fc.bigInt(0n, 10n ** 9n),
        gasUsed: fc.bigInt(0n, 10n ** 7n),
        gasL1: fc.constant(null),
        costUsdg: fc.option(fc.bigInt(0n, 10n ** 9n)),
      }),
    );
    const listed = new Set(['a', 'b', 'c']);
    fc.assert(
      fc.property(attempts, attempts, (one, other) => {
        const [a, b] = [resultOf(one, new Map(), listed), resultOf(other, new Map(), listed)];
        const byJob = [...differences(a, b).values()];
        const total = minus(b, a);
        expect(byJob.reduce((sum, { netUsdg }) => sum + netUsdg, 0n)).toBe(total.netUsdg);
        expect(byJob.reduce((sum, { feesUsdg }) => sum + feesUsdg, 0n)).toBe(total.feesUsdg);
        expect(byJob.reduce((sum, { executed }) => sum + executed, 0)).toBe(total.executed);
      }),
    );
  });
});
