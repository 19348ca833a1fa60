import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dailyFeeCap } from '../../contracts-abi/network-fees.ts';
import { NAV_PER_USDG } from '../../runtime/quotes/basket-quote.ts';
import type { Session } from './read-session.ts';
import {
  checkBuy,
  checkHolding,
  checkSell,
  checkSession,
  leastReceived,
  mostSpent,
  sharesWithin,
  smallestBudget,
  spotIsNear,
  valueDown,
} from './trade-policy.ts';

const USD = 1_000_000n;
const NAV = 100n * 10n ** 18n;

const session: Session = {
  owner: `0x${'01'.repeat(20)}`,
  account: `0x${'02'.repeat(20)}`,
  key: `0x${'03'.repeat(20)}`,
  chainTime: 1_000,
  deployed: true,
  moduleEnabled: true,
  coverEnabled: false,
  active: true,
  paused: false,
  accountPaused: false,
  usdg: 1_000n * USD,
  dailyLimit: 100n * USD,
  coverDailyLimit: 0n,
  usedToday: 0n,
  feesToday: 0n,
  feeCap: 20n * USD,
  maxSlippageBps: 50,
  validUntil: 2_000,
  epoch: 1,
};

const codeOf = (result: { tag: string; code?: string } | null) =>
  result === null || result.tag === 'allowed' ? 'allowed' : result.code;

describe('who may trade', () => {
  it.each([
    ['an active key', {}, {}, 'allowed'],
    ['no grant', { active: false }, {}, 'SESSION_INACTIVE'],
    ['no grant while paused', { active: false, paused: true }, {}, 'SESSION_INACTIVE'],
    ['paused', { paused: true }, {}, 'PAUSED'],
    ['slippage above the cap', {}, { slippageBps: 51 }, 'SESSION_LIMIT'],
    ['a fee of $10', {}, { feeUsdg: 10n * USD }, 'allowed'],
    ['a fee above $10', {}, { feeUsdg: 10n * USD + 1n }, 'BAD_REQUEST'],
    ['fees above a lowered limit', { feesToday: 20n * USD + 1n }, { feeUsdg: 0n }, 'SESSION_LIMIT'],
    ['fees of the day used up', { feesToday: 20n * USD }, { feeUsdg: 1n }, 'SESSION_LIMIT'],
  ] as const)('%s', (_name, state, request, expected) => {
    const result = checkSession({ ...session, ...state }, { feeUsdg: 0n, ...request });
    expect(codeOf(result)).toBe(expected);
  });

  it('omitted slippage is 50, or the cap where that is lower', () => {
    const at = (maxSlippageBps: number) =>
      checkSession({ ...session, maxSlippageBps }, { feeUsdg: 0n });
    expect(at(1_000)).toMatchObject({ slippageBps: 50 });
    expect(at(30)).toMatchObject({ slippageBps: 30 });
  });

  it('the cap of daily fees is 20% of the limit, at least $1, at most $20', () => {
    expect([0n, 4n, 50n, 1_000n].map((limit) => dailyFeeCap(limit * USD))).toEqual(
      [1n, 1n, 10n, 20n].map((fee) => fee * USD),
    );
  });

  it('spot and reference may differ by 3% and no more', () => {
    expect(spotIsNear(103n, 100n)).toBe(true);
    expect(spotIsNear(97n, 100n)).toBe(true);
    expect(spotIsNear(10_301n, 10_000n)).toBe(false);
    expect(spotIsNear(9_699n, 10_000n)).toBe(false);
  });
});

describe('a buy', () => {
  const buy = (trade: object, state: Partial<Session> = {}) => {
    const budget = 50n * USD;
    const shares = sharesWithin(budget, NAV, 50);
    const allIn = (valueDown(shares, NAV) * 10_030n) / 10_000n;
    return checkBuy(
      { ...session, ...state },
      { budget, shares, allIn, reference: NAV, slippageBps: 50, feeUsdg: 0n, ...trade },
    );
  };

  it('is limited to the budget and to what the module allows', () => {
    const result = buy({});
    expect(result.tag).toBe('allowed');
    if (result.tag !== 'allowed') return;
    expect(result.limit).toBeLessThanOrEqual(50n * USD);
    expect(result.limit).toBeGreaterThan(50n * USD - 2n);
  });

  it('whatever budget and price, the sized shares fit both bounds', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 5n * USD, max: 10n ** 12n }),
        fc.bigInt({ min: 10n ** 15n, max: 10n ** 24n }),
        fc.integer({ min: 1, max: 1_000 }),
        (budget, nav, slippageBps) => {
          const shares = sharesWithin(budget, nav, slippageBps);
          expect(mostSpent(shares, nav, slippageBps)).toBeLessThanOrEqual(budget);
          expect(mostSpent(shares + 1n + NAV_PER_USDG / nav, nav, slippageBps)).toBeGreaterThan(
            budget - 2n,
          );
        },
      ),
    );
  });

  it('names the smallest amount that works, and it does work', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 10n ** 15n, max: 10n ** 24n }),
        fc.integer({ min: 1, max: 1_000 }),
        (nav, slippageBps) => {
          const least = smallestBudget(nav, slippageBps);
          expect(least % 10_000n).toBe(0n);
          expect(valueDown(sharesWithin(least, nav, slippageBps), nav)).toBeGreaterThanOrEqual(
            5n * USD,
          );
        },
      ),
    );
    const shares = sharesWithin(5n * USD, NAV, 50);
    const allIn = (valueDown(shares, NAV) * 10_030n) / 10_000n;
    expect(buy({ budget: 5n * USD, shares, allIn })).toMatchObject({
      code: 'BAD_REQUEST',
      message: expect.stringContaining('5.03'),
    });
  });

  it('is not told of a smallest amount where no amount works at this tolerance', () => {
    const budget = 5_020_000n;
    const shares = sharesWithin(budget, NAV, 50);
    const value = valueDown(shares, NAV);
    expect(value).toBeLessThan(5n * USD);
    const at65Bps = { budget, shares, allIn: (value * 10_065n) / 10_000n };
    expect(buy(at65Bps, { maxSlippageBps: 100 })).toMatchObject({
      code: 'BAD_REQUEST',
      message: expect.stringMatching(/costs 65 bps .*above the 50 asked/),
    });
    expect(codeOf(buy(at65Bps))).toBe('SESSION_LIMIT');
  });

  it('whose cost does not fit is told whether the owner would allow more', () => {
    const tooDear = { allIn: 50n * USD + 1n };
    expect(codeOf(buy(tooDear, { maxSlippageBps: 100 }))).toBe('BAD_REQUEST');
    expect(codeOf(buy(tooDear, { maxSlippageBps: 50 }))).toBe('SESSION_LIMIT');
  });

  it('counts against turnover and funds, the network fee against funds alone', () => {
    expect(codeOf(buy({}, { usedToday: 51n * USD }))).toBe('SESSION_LIMIT');
    expect(codeOf(buy({}, { usedToday: 50n * USD }))).toBe('allowed');
    expect(codeOf(buy({}, { usdg: 49n * USD }))).toBe('INSUFFICIENT_FUNDS');
    expect(codeOf(buy({ feeUsdg: USD }, { usdg: 50n * USD }))).toBe('INSUFFICIENT_FUNDS');
  });
});

describe('a sale', () => {
  const SHARE = 10n ** 18n;
  const sell = (trade: object, state: Partial<Session> = {}) => {
    const shares = SHARE / 2n;
    const value = valueDown(shares, NAV);
    return checkSell(
      { ...session, ...state },
      {
        shares,
        held: SHARE,
        gross: (value * 9_990n) / 10_000n,
        net: (value * 9_970n) / 10_000n,
        reference: NAV,
        spot: NAV,
        slippageBps: 50,
        feeUsdg: 0n,
        ...trade,
      },
    );
  };

  it('never accepts less than the module does, nor than the quote less the slippage', () => {
    const usual = sell({});
    const bound = leastReceived(SHARE / 2n, NAV, 50);
    expect(usual).toEqual({ tag: 'allowed', limit: bound });
    const rich = sell({ net: 52n * USD, gross: 52n * USD, spot: (NAV * 103n) / 100n });
    expect(rich).toEqual({ tag: 'allowed', limit: 51_740_000n });
  });

  it('below $5 must be the whole position', () => {
    const small = { shares: SHARE / 100n, gross: 999_000n, net: 997_000n };
    expect(sell(small)).toMatchObject({
      code: 'BAD_REQUEST',
      message: expect.stringContaining('50050000000000000'),
    });
    expect(codeOf(sell({ ...small, held: SHARE / 100n }))).toBe('allowed');
    // At 65 bps no amount works: the cost is told first.
    const dear = { ...small, net: 993_500n };
    expect(sell(dear, { maxSlippageBps: 100 })).toMatchObject({
      message: expect.stringMatching(/costs 65 bps/),
    });
    // Of a thousandth of a dollar the legs round most away.
    const dust = { shares: SHARE / 100_000n, gross: 985n, net: 970n };
    expect(sell(dust)).toMatchObject({ message: expect.stringContaining('smallest amount') });
  });

  it('counts the largest of gross, reference and spot value as turnover', () => {
    expect(codeOf(sell({}, { dailyLimit: 50n * USD }))).toBe('allowed');
    expect(codeOf(sell({ spot: NAV + NAV / 50n }, { dailyLimit: 50n * USD }))).toBe(
      'SESSION_LIMIT',
    );
    expect(codeOf(sell({}, { dailyLimit: 50n * USD - 1n }))).toBe('SESSION_LIMIT');
  });

  it('whose cost does not fit is told whether the owner would allow more', () => {
    const dear = { net: leastReceived(SHARE / 2n, NAV, 50) - 1n };
    expect(codeOf(sell(dear, { maxSlippageBps: 100 }))).toBe('BAD_REQUEST');
    expect(codeOf(sell(dear, { maxSlippageBps: 50 }))).toBe('SESSION_LIMIT');
  });

  it('needs the shares', () => {
    expect(codeOf(checkHolding(2n, 1n))).toBe('INSUFFICIENT_SHARES');
    expect(checkHolding(1n, 1n)).toBeNull();
  });
});
