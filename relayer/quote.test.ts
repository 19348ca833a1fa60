import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_NETWORK_FEE } from '../contracts-abi/constants.ts';
import { currentFee, feeBand, judgeFee, standingQuote } from './quote.ts';

const policy = { marginPercent: 25n, step: 10_000n };
const dollars = (amount: bigint): bigint => amount * 10n ** 18n;

describe('currentFee', () => {
  it('is gas x price x ETH price with the margin, rounded up to a step', () => {
    // 1,000,000 gas x 0.1 gwei = 0.0001 ETH = $0.30 at $3,000; 25% more is $0.375; the step is a cent.
    expect(
      currentFee({ gas: 1_000_000n, gasPriceWei: 100_000_000n, ethPrice: dollars(3_000n) }, policy),
    ).toBe(380_000n);
  });

  it('leaves an exact multiple of the step alone', () => {
    expect(
      currentFee({ gas: 800_000n, gasPriceWei: 100_000_000n, ethPrice: dollars(3_000n) }, policy),
    ).toBe(300_000n);
  });

  it('is one step when gas is all but free', () => {
    expect(currentFee({ gas: 1n, gasPriceWei: 1n, ethPrice: 1n }, policy)).toBe(10_000n);
    expect(
      currentFee({ gas: 1_000_000n, gasPriceWei: 0n, ethPrice: dollars(3_000n) }, policy),
    ).toBe(10_000n);
  });

  it('always covers the cost with the margin, by less than a step too much', () => {
    fc.assert(
      fc.property(
        fc.bigInt(1n, 30_000_000n),
        fc.bigInt(0n, 10n ** 12n),
        fc.bigInt(0n, dollars(20_000n)),
        fc.bigInt(0n, 300n),
        fc.bigInt(1n, 1_000_000n),
        (gas, gasPriceWei, ethPrice, marginPercent, step) => {
          const fee = currentFee({ gas, gasPriceWei, ethPrice }, { marginPercent, step });
          const exact = gas * gasPriceWei * ethPrice * (100n + marginPercent);
          const unit = 10n ** 32n;
          expect(fee % step).toBe(0n);
          expect(fee * unit).toBeGreaterThanOrEqual(exact);
          // Without the last step it would not cover it: except for the first step, which is the least.
          expect(fee === step || (fee - step) * unit < exact).toBe(true);
        },
      ),
    );
  });
});

describe('judgeFee', () => {
  const quote = (fee: bigint) => ({ fee, expiresAt: 100 });

  it.each([
    [
      'nothing offered, no quote',
      0n,
      380_000n,
      null,
      { tag: 'required', fee: 380_000n, why: 'too_low' },
    ],
    ['the current cost', 380_000n, 380_000n, null, { tag: 'accepted' }],
    ['half above the cost', 570_000n, 380_000n, null, { tag: 'accepted' }],
    [
      'one above the band',
      570_001n,
      380_000n,
      null,
      { tag: 'required', fee: 380_000n, why: 'too_high' },
    ],
    ['the quote, after gas doubled', 380_000n, 760_000n, quote(380_000n), { tag: 'accepted' }],
    ['the quote, after gas halved', 380_000n, 190_000n, quote(380_000n), { tag: 'accepted' }],
    [
      'the new lower cost under an old quote',
      190_000n,
      190_000n,
      quote(380_000n),
      { tag: 'accepted' },
    ],
    [
      'below both',
      189_999n,
      190_000n,
      quote(380_000n),
      { tag: 'required', fee: 190_000n, why: 'too_low' },
    ],
    [
      'above both',
      600_000n,
      190_000n,
      quote(380_000n),
      { tag: 'required', fee: 190_000n, why: 'too_high' },
    ],
    [
      'more than any fee may be',
      0n,
      MAX_NETWORK_FEE + 1n,
      null,
      { tag: 'too_dear', fee: MAX_NETWORK_FEE + 1n },
    ],
    [
      'a quote from before gas exploded',
      380_000n,
      90_000_000n,
      quote(380_000n),
      { tag: 'accepted' },
    ],
  ])('%s', (_name, offered, current, standing, verdict) => {
    expect(judgeFee(offered, current, standing)).toEqual(verdict);
  });

  it('accepts whatever it asks for, at once and while the quote stands, wherever gas goes', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 20_000_000n),
        fc.bigInt(1n, MAX_NETWORK_FEE),
        fc.bigInt(1n, 100_000_000n),
        fc.option(fc.bigInt(1n, MAX_NETWORK_FEE)),
        (offered, current, later, quoted) => {
          const verdict = judgeFee(offered, current, quoted === null ? null : quote(quoted));
          if (verdict.tag !== 'required') return;
          const standing = { fee: verdict.fee, expiresAt: 100 };
          expect(judgeFee(verdict.fee, current, standing).tag).toBe('accepted');
          expect(judgeFee(verdict.fee, later, standing).tag).toBe('accepted');
        },
      ),
    );
  });

  it('never takes less than the cheaper nor more than 1.5 times the dearer', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 40_000_000n),
        fc.bigInt(1n, 20_000_000n),
        fc.bigInt(1n, 20_000_000n),
        (offered, current, quoted) => {
          const { least, most } = feeBand(current, quote(quoted));
          const accepted = judgeFee(offered, current, quote(quoted)).tag === 'accepted';
          expect(accepted).toBe(offered >= least && offered <= most);
          expect(least).toBeLessThanOrEqual(current);
          expect(most).toBeLessThanOrEqual(((current > quoted ? current : quoted) * 3n) / 2n);
        },
      ),
    );
  });
});

describe('standingQuote', () => {
  it('binds through its last second and not after', () => {
    const terms = '0x01';
    const quote = { fee: 1n, expiresAt: 100, terms } as const;
    expect(standingQuote(quote, terms, 100)).toBe(quote);
    expect(standingQuote(quote, terms, 101)).toBeNull();
    expect(standingQuote(quote, '0x02', 100)).toBeNull();
    expect(standingQuote(null, terms, 0)).toBeNull();
  });
});
