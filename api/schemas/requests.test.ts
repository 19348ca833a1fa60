import { describe, expect, it } from 'vitest';
import { firstProblem } from '../../runtime/schema.ts';
import { tradeRequest } from './agent.ts';
import { basketsQuery, marketsQuery } from './reads.ts';
import { buyRequest, exitRequest, scheduleRequest, sellRequest } from './transactions.ts';

const address = '0x00000000000000000000000000000000000000AA';

describe('requests', () => {
  it('read dollars as the text that was written, floored to six decimals', () => {
    const amountOf = (amountUsdg: number) =>
      buyRequest.parse({ ticker: 'A', amountUsdg, address }).amountUsdg;
    expect(amountOf(4.35)).toBe(4_350_000n);
    expect(amountOf(1.0000009)).toBe(1_000_000n);
    expect(amountOf(999_999_999.123456)).toBe(999_999_999_123_456n);
    expect(amountOf(1e-6)).toBe(1n);
    expect(() => amountOf(1e-7)).toThrow(/at least 0.000001/);
    expect(() => amountOf(Number.POSITIVE_INFINITY)).toThrow(/dollars/);
  });

  it('ignore unknown keys of wallet routes and fill in defaults', () => {
    expect(buyRequest.parse({ ticker: 'A', amountUsdg: 1, address, foo: 1 })).toEqual({
      ticker: 'A',
      amountUsdg: 1_000_000n,
      address: '0x00000000000000000000000000000000000000AA',
      slippageBps: 50,
      simulate: true,
    });
  });

  it('keep shares exact, and refuse them as numbers', () => {
    const wei = '1234567890123456789';
    expect(sellRequest.parse({ ticker: 'A', address, shares: wei }).shares).toBe(BigInt(wei));
    const number = sellRequest.safeParse({ ticker: 'A', address, shares: 1e18 });
    expect(number.error && firstProblem(number.error)).toMatch(/shares: .*decimal string/);
  });

  it('refuse a part that is none', () => {
    const part = (fraction: number) =>
      sellRequest.safeParse({ ticker: 'A', address, shares: 'max', fraction });
    for (const fraction of [0, 1e-19, -1, 1.01]) {
      const { error } = part(fraction);
      expect(error && firstProblem(error)).toMatch(/^fraction: expected/);
    }
    expect(part(1e-18).data?.fraction).toBe(1n);
  });

  it('read trigger prices to 18 decimals', () => {
    const parsed = exitRequest.parse({ ticker: 'A', address, shares: '1', stopNav: 95.1 });
    expect(parsed.stopNav).toBe(95_100_000_000_000_000_000n);
    expect(parsed.expiryDays).toBe(30);
  });

  it('read hours to the second that is meant, and floor what is between two', () => {
    const terms = { ticker: 'A', amountUsdg: 20, buys: 2, address };
    const secondsOf = (everyHours: number) =>
      scheduleRequest.parse({ ...terms, everyHours }).everyHours;
    for (let seconds = 1; seconds <= 8_760 * 3_600; seconds += 997) {
      if (secondsOf(seconds / 3_600) !== seconds) throw new Error(`${seconds} s are misread`);
    }
    for (const parts of [3, 6, 7, 9, 11])
      expect(secondsOf(1 / parts)).toBe(Math.floor(3_600 / parts));
    expect(secondsOf(2 / 3)).toBe(2_400);
    expect(secondsOf(0.1)).toBe(360);
    expect(secondsOf(0.16)).toBe(576);
    expect(secondsOf(599.9999 / 3_600)).toBe(599);
    expect(secondsOf(1e-9)).toBe(0);
  });

  it('name fields that are known, in one order, and refuse others', () => {
    expect(marketsQuery.parse({ fields: 'nav, ticker,nav' }).fields).toEqual(['ticker', 'nav']);
    expect(basketsQuery.safeParse({ fields: 'nav,apy' }).success).toBe(false);
    expect(marketsQuery.safeParse({ fields: ['nav', 'ticker'] }).success).toBe(false);
    expect(marketsQuery.safeParse({ prices: '1' }).success).toBe(false);
  });

  it('of agents are strict and default the fee to zero', () => {
    const trade = { owner: address, key: address, ticker: 'A', side: 'buy', amountUsdg: 20 };
    expect(tradeRequest.parse(trade).feeUsdg).toBe(0n);
    expect(tradeRequest.safeParse({ ...trade, simulate: true }).success).toBe(false);
    expect(tradeRequest.parse({ ...trade, feeUsdg: '00' }).feeUsdg).toBe(0n);
    const sale = { owner: address, key: address, ticker: 'A', side: 'sell', shares: '0012' };
    expect(tradeRequest.parse({ ...sale, feeUsdg: '0250000' })).toMatchObject({
      shares: 12n,
      feeUsdg: 250_000n,
    });
    for (const tooMany of ['9'.repeat(78), '9'.repeat(80), '1'.repeat(100_000)]) {
      const large = tradeRequest.safeParse({ ...trade, feeUsdg: tooMany });
      expect(large.error && firstProblem(large.error)).toMatch(/feeUsdg: .*below 2\^256/);
    }
    const none = tradeRequest.safeParse({ ...sale, shares: '00' });
    expect(none.error && firstProblem(none.error)).toMatch(/shares: .*more than zero/);
  });
});
