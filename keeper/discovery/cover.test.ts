import { describe, expect, test } from 'vitest';
import { ENERGY, STRANGER } from '../firewall/fixture.ts';
import { dueCover, marketsUnderWay, noteOver } from './cover.ts';
import type { MarketNow } from './look.ts';

const WEEK = 2_900;
const CLOSE = WEEK * 7 * 86_400;
const SETTLE = CLOSE + 2 * 86_400;
const HOUR = 3_600;
const DAY = 86_400;

const market = (
  outcome: MarketNow['state']['outcome'],
  change: Partial<MarketNow> = {},
): MarketNow => ({
  week: WEEK,
  vault: ENERGY,
  times: { close: CLOSE, settle: SETTLE },
  state: { outcome, sold: true },
  ...change,
});
const ids = (from: number, count: number) =>
  new Map(
    Array.from({ length: count }, (_, index) => [
      BigInt(from + index),
      { week: WEEK, vault: ENERGY, fee: 0n, coverUsd: 50 },
    ]),
  );
const typesOf = (...args: Parameters<typeof dueCover>) => dueCover(...args).map(({ type }) => type);

describe('cover work', () => {
  test('is a step while its market waits for one, and a payout once the outcome is final', () => {
    const unpaid = ids(1, 2);
    expect(typesOf([market('open')], unpaid, CLOSE - 1)).toEqual([]);
    expect(typesOf([market('open')], unpaid, CLOSE)).toEqual(['snapshot']);
    expect(typesOf([market('open')], unpaid, CLOSE + HOUR)).toEqual(['void']);
    expect(typesOf([market('closed')], unpaid, SETTLE - 1)).toEqual([]);
    expect(typesOf([market('closed')], unpaid, SETTLE)).toEqual(['settle']);
    expect(typesOf([market('settled')], unpaid, SETTLE)).toEqual(['payout']);
    expect(typesOf([market('void')], unpaid, SETTLE)).toEqual(['payout']);
    expect(typesOf([market('settled')], new Map(), SETTLE)).toEqual([]);
  });

  test('puts what has an hour before voids, and voids before payouts', () => {
    const markets = [
      market('settled'),
      market('open', { vault: STRANGER, week: WEEK - 1 }),
      market('closed', { vault: STRANGER }),
    ];
    const early = { close: CLOSE - 9 * DAY, settle: CLOSE - 7 * DAY };
    const [settled, missed, closed] = markets as [MarketNow, MarketNow, MarketNow];
    const all = [settled, { ...missed, times: early }, closed];
    expect(typesOf(all, ids(1, 1), SETTLE)).toEqual(['settle', 'void', 'payout']);
  });

  test('pays each position of the week once, in batches, and none of another week', () => {
    const unpaid = new Map([
      ...ids(1, 45),
      [99n, { week: WEEK + 1, vault: ENERGY, fee: 0n, coverUsd: 50 }] as const,
    ]);
    const payouts = dueCover([market('settled')], unpaid, SETTLE);
    expect(payouts.map(({ positions }) => positions.length)).toEqual([20, 20, 5]);
    const named = payouts.flatMap(({ positions }) => positions);
    expect(new Set(named).size).toBe(45);
    expect(named).not.toContain(99n);
    for (const { id, positions } of payouts) expect(id).toBe(positions[0]);
  });
});

describe('markets', () => {
  const look = { weeks: [WEEK, WEEK + 1], coverVaults: [ENERGY, STRANGER], time: CLOSE };

  test('are asked for from their close on, until they are over', () => {
    const asked = marketsUnderWay(look, new Set());
    expect(asked).toEqual([
      { week: WEEK, vault: ENERGY },
      { week: WEEK, vault: STRANGER },
    ]);
    const over = new Set<string>();
    const late = SETTLE + HOUR + DAY;
    noteOver(over, [market('settled'), market('settled', { vault: STRANGER })], ids(1, 1), late);
    expect(marketsUnderWay(look, over)).toEqual([{ week: WEEK, vault: ENERGY }]);
    noteOver(over, [market('settled')], new Map(), late - 1);
    expect(marketsUnderWay(look, over)).toHaveLength(1);
    noteOver(over, [market('settled')], new Map(), late);
    expect(marketsUnderWay(look, over)).toEqual([]);
    // A reorg undid a payout of one that was over.
    const again = { week: WEEK, vault: ENERGY };
    expect(marketsUnderWay(look, over, [again])).toEqual([again]);
  });
});
