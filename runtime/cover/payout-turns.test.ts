import { describe, expect, test } from 'vitest';
import { type DueMarket, payoutTurns } from './payout-turns.ts';

const vault = (digit: string) => `0x${digit.repeat(40)}` as const;
const market = (
  digit: string,
  count: number,
  of: (index: number) => { fee: bigint; coverUsd: number },
): DueMarket => ({
  week: 2_900,
  vault: vault(digit),
  settled: true,
  positions: Array.from({ length: count }, (_, index) => ({
    id: BigInt(`0x${digit}`) * 10_000n + BigInt(index),
    ...of(index),
  })),
});
const voided = () => ({ fee: 0n, coverUsd: 50 });

describe('payouts in turn', () => {
  test('each position once, in batches of one market', () => {
    const work = payoutTurns([market('1', 45, voided), market('2', 3, voided)], 100);
    expect(work.map(({ positions }) => positions.length).toSorted((a, b) => a - b)).toEqual([
      3, 5, 20, 20,
    ]);
    expect(new Set(work.flatMap(({ positions }) => positions)).size).toBe(48);
    for (const { id, positions, type } of work) {
      expect(id).toBe(positions[0]);
      expect(type).toBe('payout');
    }
  });

  test('those that pay are told though hundreds before them pay nothing', () => {
    const paying = market('2', 6, () => ({ fee: 60_000n, coverUsd: 200 }));
    const [first] = payoutTurns([market('1', 440, voided), paying], 20);
    expect(first?.vault).toBe(vault('2'));
  });

  test('those that pay nothing are told though hundreds before them pay', () => {
    const paying = market('1', 440, () => ({ fee: 60_000n, coverUsd: 200 }));
    const refunds = market('2', 6, voided);
    const work = payoutTurns([paying, refunds], 20);
    expect(work).toHaveLength(20);
    expect(work.map((each) => each.vault)).toContain(vault('2'));
  });

  test('crumbs of many older markets do not hide what is large', () => {
    const crumbs = Array.from({ length: 24 }, (_, index) => ({
      ...market('1', 1, () => ({ fee: 1n, coverUsd: 50 })),
      week: 2_800 + index,
    }));
    const large = market('2', 100, () => ({ fee: 0n, coverUsd: 10_000 }));
    const work = payoutTurns([...crumbs, { ...large, settled: false }], 20);
    expect(work.map((each) => each.vault)).toContain(vault('2'));
  });

  test('within a market, crumbs sold to oneself wait behind what pays, then behind what is large', () => {
    const mixed = market('1', 60, (index) => {
      if (index >= 55) return { fee: 40_000n, coverUsd: 300 };
      return { fee: 1n, coverUsd: index === 30 ? 5_000 : 50 };
    });
    const [first] = payoutTurns([mixed], 1);
    expect(first?.positions.slice(0, 6)).toEqual([
      10_055n,
      10_056n,
      10_057n,
      10_058n,
      10_059n,
      10_030n,
    ]);
  });

  test('a reward is at most the step that the market pays', () => {
    const dear = market('1', 1, () => ({ fee: 10n ** 9n, coverUsd: 50 }));
    const many = market('2', 3, () => ({ fee: 80_000n, coverUsd: 50 }));
    expect(payoutTurns([dear, many], 1)[0]?.vault).toBe(vault('2'));
  });
});
