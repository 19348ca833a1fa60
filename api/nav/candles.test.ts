import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RAY } from '../../contracts-abi/constants.ts';
import { type Candle, candlesOf } from './candles.ts';
import { feeIndexAt, feeRatePerYear } from './fee-index.ts';
import { joined, MINUTE, minutesOf, type Swap, startOf } from './minutes.ts';
import { candleCount, MAX_CANDLES, resolutionFor, tooMany } from './resolution.ts';
import { summaryOf } from './summary.ts';
import { type NavBasket, navOf, type PoolPrices, Valuation } from './valuation.ts';

const GENESIS = 1_795_800_030;
const Q96 = 1n << 96n;
const WETH = '0xw';

const pool = (name: string, viaWeth: boolean) =>
  ({ tag: 'pool', pool: name, tokenIsToken0: true, viaWeth }) as const;

/** One token against USDG, one through WETH, and USDG itself. */
const basket: NavBasket = {
  vault: '0xv',
  genesisAt: GENESIS,
  feeRate: feeRatePerYear(95),
  parts: [
    { units: 10n ** 18n, decimals: 18, price: pool('0xa', false) },
    { units: 3n * 10n ** 8n, decimals: 8, price: pool('0xb', true) },
    { units: 5_000_000n, decimals: 6, price: { tag: 'dollar' } },
  ],
  pools: ['0xa', '0xb', WETH],
  weth: { pool: WETH, tokenIsToken0: true },
};

const opening: PoolPrices = new Map([
  ['0xa', Q96 / 100_000n],
  ['0xb', Q96 * 1_000n],
  [WETH, Q96 / 20_000n],
]);

/** Several swaps a block, several blocks a second, gaps of up to an hour and a half. */
const swapsArbitrary = fc
  .array(
    fc.record({
      pool: fc.constantFrom('0xa', '0xb', WETH, '0xother'),
      gap: fc.oneof(
        fc.constant(0),
        fc.integer({ min: 0, max: 90 }),
        fc.integer({ min: 0, max: 5_400 }),
      ),
      sameBlock: fc.boolean(),
      move: fc.integer({ min: 50, max: 200 }),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    let time = GENESIS - 100;
    let block = 1;
    const swaps: Swap[] = [];
    for (const { pool: name, gap, sameBlock, move } of steps) {
      if (!sameBlock || swaps.length === 0) {
        time += gap;
        block += 1;
      }
      const before = opening.get(name) ?? Q96;
      swaps.push({
        pool: name,
        block,
        logIndex: swaps.length,
        time,
        sqrtPrice: (before * BigInt(move)) / 100n,
      });
    }
    return swaps;
  });

/** The value after every block with a swap of the basket's pools, each computed from nothing. */
function points(all: readonly Swap[]): { time: number; value: bigint }[] {
  const swaps = all.filter((swap) => basket.pools.includes(swap.pool));
  const prices = new Map(opening);
  const found: { time: number; value: bigint }[] = [];
  swaps.forEach((swap, index) => {
    prices.set(swap.pool, swap.sqrtPrice);
    if (swaps[index + 1]?.block === swap.block) return;
    const value = new Valuation(basket, prices).value();
    if (value === null) throw new Error('a price is missing');
    found.push({ time: swap.time, value });
  });
  return found;
}

function valueAt(states: ReturnType<typeof points>, time: number): bigint {
  const last = states.findLast((state) => state.time <= time);
  return last?.value ?? new Valuation(basket, opening).value() ?? 0n;
}

function built(swaps: readonly Swap[], span: number, first: number, now: number): Candle[] {
  const { rows, openings } = minutesOf([basket], opening, swaps, new Set([basket.vault]));
  const start =
    openings.get(basket.vault) ??
    new Valuation(basket, new Map([...opening, ...last(swaps)])).value();
  const spans = joined(rows, span);
  const carried = spans.findLast((row) => row.start < first)?.value ?? start;
  const inside = spans.filter((row) => row.start >= first);
  return candlesOf({ basket, span, carried, rows: inside, first, now });
}

function last(swaps: readonly Swap[]): [string, bigint][] {
  return swaps.map(({ pool: name, sqrtPrice }) => [name, sqrtPrice]);
}

describe('candles', () => {
  it('are those of every state that a block left, whatever the span', () => {
    fc.assert(
      fc.property(
        swapsArbitrary,
        fc.constantFrom(MINUTE, 3_600, 86_400),
        fc.integer({ min: 0, max: 30_000 }),
        (swaps, span, later) => {
          const now = Math.max(GENESIS, swaps.at(-1)?.time ?? 0) + later;
          const first = startOf(GENESIS, span);
          const candles = built(swaps, span, first, now);
          const states = points(swaps);
          expect(candles).toHaveLength((startOf(now, span) - first) / span + 1);
          for (const { t, o, h, l, c } of candles) {
            const end = Math.min(t + span, now);
            const inside = states.filter(
              ({ time }) => time >= t && time < t + span && time > GENESIS,
            );
            const close = navOf(
              basket,
              inside.at(-1)?.value ?? valueAt(states, Math.max(t - 1, GENESIS)),
              end,
            );
            expect(c).toBe(close);
            const opens = navOf(
              basket,
              valueAt(states, t <= GENESIS ? GENESIS : t - 1),
              Math.max(t, GENESIS),
            );
            const navs = [
              o,
              c,
              ...inside.map(({ time, value }) => navOf(basket, value, time)),
              // What a block found, the fee taken until then.
              ...inside.map((state) => {
                const found = states[states.indexOf(state) - 1]?.value ?? valueAt([], 0);
                return navOf(basket, found, state.time);
              }),
            ];
            expect(o).toBe(opens);
            expect(h).toBe(navs.reduce((a, b) => (a > b ? a : b)));
            expect(l).toBe(navs.reduce((a, b) => (a < b ? a : b)));
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('of an hour or a day are those of the minutes within', () => {
    fc.assert(
      fc.property(swapsArbitrary, fc.constantFrom(3_600, 86_400), (swaps, span) => {
        const now = Math.max(GENESIS, swaps.at(-1)?.time ?? 0) + 600;
        const minutes = built(swaps, MINUTE, startOf(GENESIS, MINUTE), now);
        for (const { t, o, h, l, c } of built(swaps, span, startOf(GENESIS, span), now)) {
          const within = minutes.filter((minute) => startOf(minute.t, span) === t);
          expect({ o, c }).toEqual({ o: within[0]?.o, c: within.at(-1)?.c });
          expect(h).toBe(within.reduce((most, { h: high }) => (high > most ? high : most), 0n));
          expect(l).toBe(within.reduce((least, { l: low }) => (low < least ? low : least), h));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('are the same wherever the window begins', () => {
    fc.assert(
      fc.property(swapsArbitrary, fc.integer({ min: 0, max: 50 }), (swaps, skip) => {
        const now = Math.max(GENESIS, swaps.at(-1)?.time ?? 0) + 600;
        const first = startOf(GENESIS, MINUTE);
        const all = built(swaps, MINUTE, first, now);
        expect(built(swaps, MINUTE, first + skip * MINUTE, now)).toEqual(all.slice(skip));
      }),
    );
  });

  it('begin with the first price where there was none at genesis', () => {
    const start = startOf(GENESIS, MINUTE);
    const row = { vault: basket.vault, start: start + 120, high: 7n, low: 5n, value: 6n };
    const candles = candlesOf({
      basket,
      span: MINUTE,
      carried: null,
      rows: [row],
      first: start - 600,
      now: start + 250,
    });
    expect(candles.map(({ t, c }) => [t, c])).toEqual([
      [start + 180, navOf(basket, 6n, start + 240)],
      [start + 240, navOf(basket, 6n, start + 250)],
    ]);
  });
});

describe('the fee index', () => {
  it('falls from second to second, and by the fee in a year', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 50, max: 95 }),
        fc.integer({ min: 0, max: 3e9 }),
        (bps, time) => {
          const rate = feeRatePerYear(bps);
          expect(feeIndexAt(rate, time + 1)).toBeLessThan(feeIndexAt(rate, time));
        },
      ),
    );
    for (const bps of [50, 75, 95]) {
      const year = feeIndexAt(feeRatePerYear(bps), 31_536_000);
      const exact = (RAY * BigInt(10_000 - bps)) / 10_000n;
      expect(year - exact).toBe(0n);
    }
    expect(feeIndexAt(feeRatePerYear(50), 0)).toBe(RAY);
    expect(feeIndexAt(feeRatePerYear(50), -1)).toBe(RAY);
  });
});

const candle = (t: number, c: number): Candle => {
  const nav = BigInt(Math.round(c * 1e6)) * 10n ** 12n;
  return { t, o: nav, h: nav, l: nav, c: nav };
};

describe('the summary', () => {
  it('of nothing is a count of zero', () => {
    expect(summaryOf([], '1h')).toEqual({ candles: 0 });
  });

  it('states change, the deepest fall and the annualised volatility of closes', () => {
    const closes = [100, 110, 99, 121, 90.75, 100];
    const found = summaryOf(
      closes.map((c, index) => candle(index * 3_600, c)),
      '1h',
    );
    expect(found).toMatchObject({ candles: 6, from: 0, to: 18_000, open: 100, last: 100 });
    expect(found).toMatchObject({ high: 121, low: 90.75, change: 0 });
    expect(found.maxDrawdown).toBeCloseTo(0.25, 12);
    const returns = closes.slice(1).map((c, index) => Math.log(c / (closes[index] ?? c)));
    const mean = returns.reduce((a, b) => a + b) / 5;
    const variance = returns.reduce((sum, r) => sum + (r - mean) ** 2, 0) / 4;
    expect(found.volatility).toBeCloseTo(Math.sqrt(variance * 8_760), 10);
  });

  it('has no volatility below two returns, and none of prices that stand', () => {
    expect(summaryOf([candle(0, 1), candle(60, 2)], '1m').volatility).toBeNull();
    expect(
      summaryOf(
        [0, 60, 120].map((t) => candle(t, 5)),
        '1m',
      ),
    ).toMatchObject({
      volatility: 0,
      maxDrawdown: 0,
    });
  });
});

describe('what fits into one answer', () => {
  it('is 10,000 candles, and the refusal says what would fit', () => {
    expect(tooMany('1m', 6)).toBeNull();
    expect(tooMany('1m', 7)).toMatch(/10080 candles.*10000.*at most 6 days, or for res=1h/);
    for (let days = 1; days <= 365; days += 1) {
      expect(tooMany('1h', days)).toBeNull();
      expect(tooMany('1d', days)).toBeNull();
      expect(candleCount(resolutionFor(days), days)).toBeLessThanOrEqual(MAX_CANDLES);
    }
    expect([1, 2, 30, 31].map(resolutionFor)).toEqual(['1m', '1h', '1h', '1d']);
  });
});
