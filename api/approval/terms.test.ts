import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { formatDecimal } from '../../contracts-abi/rounding.ts';
import { percentText, readTerms, suggestedDailyLimit, type TermsForm, worstDay } from './terms.ts';

const FORM: TermsForm = {
  dailyLimit: '100',
  slippage: '0.5',
  days: '7',
  coverEnabled: false,
  coverLimit: '',
};

const errorOf = (field: 'dailyLimit' | 'slippage' | 'days' | 'coverLimit', form: object) => {
  const read = readTerms({ ...FORM, ...form });
  return read.tag === 'bad' ? read.errors[field] : undefined;
};

describe('the default daily limit', () => {
  it.each([
    [0n, 10n],
    [99n, 10n],
    [100n, 10n],
    [505n, 50.5],
    [1_000n, 100n],
    [50_000n, 100n],
  ])('of $%s in the account is $%s', (balance, limit) => {
    expect(suggestedDailyLimit(balance * USD)).toBe(BigInt(Number(limit) * Number(USD)));
  });

  it('is a limit that the form takes', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (balance) => {
        const dailyLimit = suggestedDailyLimit(balance);
        const read = readTerms({ ...FORM, dailyLimit: formatDecimal(dailyLimit, 6) });
        expect(read).toMatchObject({ tag: 'ok', terms: { dailyLimit } });
      }),
    );
  });
});

describe('the form of limits', () => {
  it('is read to the base unit and the basis point', () => {
    const form = { dailyLimit: ' $250.5 ', slippage: '1.25%', days: '30', coverEnabled: true };
    expect(readTerms({ ...form, coverLimit: '12' })).toEqual({
      tag: 'ok',
      terms: {
        dailyLimit: 250_500_000n,
        maxSlippageBps: 125,
        days: 30,
        coverEnabled: true,
        coverDailyLimit: 12n * USD,
      },
    });
  });

  it('grants no cover limit where cover is off, whatever stands in the field', () => {
    expect(readTerms({ ...FORM, coverLimit: 'x' })).toMatchObject({
      tag: 'ok',
      terms: { coverEnabled: false, coverDailyLimit: 0n },
    });
  });

  it.each(['', '0', '4.99', '1000000.01', '1,000', '1,5', '-5', '1e3', '0x64', 'NaN', '∞', '٣٤٥'])(
    'refuses "%s" as a daily limit',
    (dailyLimit) => expect(errorOf('dailyLimit', { dailyLimit })).toEqual(expect.any(String)),
  );

  it.each(['', '0', '0.001', '0.005', '10.01', '1000', '0,5', '-1', 'all'])(
    'refuses "%s" as a slippage',
    (slippage) => expect(errorOf('slippage', { slippage })).toEqual(expect.any(String)),
  );

  it.each(['', '0', '8', '7.5', '1e9', '36500'])('refuses "%s" days', (days) =>
    expect(errorOf('days', { days })).toEqual(expect.any(String)),
  );

  it('names every wrong field at once', () => {
    const form = { dailyLimit: '', slippage: '', days: '', coverEnabled: true, coverLimit: '0' };
    const read = readTerms(form);
    expect(read.tag === 'bad' ? Object.keys(read.errors).toSorted() : []).toEqual(
      ['coverLimit', 'dailyLimit', 'days', 'slippage'].toSorted(),
    );
  });

  it('takes every slippage back as it shows it', () => {
    for (let bps = 1; bps <= 1_000; bps += 1) {
      expect(readTerms({ ...FORM, slippage: percentText(bps) })).toMatchObject({
        tag: 'ok',
        terms: { maxSlippageBps: bps },
      });
    }
  });
});

describe('the worst day of a stolen key', () => {
  it('is slippage and 3% on the turnover, the fees of a day, and the cover limit', () => {
    const terms = { dailyLimit: 100n * USD, maxSlippageBps: 50, coverDailyLimit: 15n * USD };
    expect(worstDay({ ...terms, coverEnabled: false })).toBe(23_500_000n);
    expect(worstDay({ ...terms, coverEnabled: true })).toBe(38_500_000n);
  });
});
