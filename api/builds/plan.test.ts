import { expect, test } from 'vitest';
import { SHARE, USD } from '../../contracts-abi/constants.ts';
import type { Basket } from '../catalog/catalog.ts';
import type { Service } from '../service.ts';
import { farFromNav } from './plan.ts';

const basket = {} as Basket;
const NAV = 100n * 10n ** 18n;

const said = (side: 'buy' | 'sell', usdg: bigint, nav: bigint | null = NAV, live = true) =>
  farFromNav(
    { marks: { markOf: () => ({ nav }), live: () => live } } as unknown as Service,
    basket,
    { side, usdg, shares: 10n * SHARE },
  );

test.for([
  ['a buy a base unit below 3% above', 'buy', 1_029_999_999n, null],
  ['a buy at 3% above', 'buy', 1_030_000_000n, 'costs 3% more'],
  ['a buy far above', 'buy', 1_250_500_000n, 'costs 25.05% more'],
  ['a buy below NAV', 'buy', 900n * USD, null],
  ['a sale a base unit above 3% below', 'sell', 970_000_001n, null],
  ['a sale at 3% below', 'sell', 970_000_000n, 'yields 3% less'],
  ['a sale above NAV', 'sell', 1_100n * USD, null],
] as const)('%s', ([, side, usdg, words]) => {
  const text = said(side, usdg);
  if (words === null) expect(text).toBeNull();
  else expect(text).toContain(words);
});

test('nothing is compared with a NAV that is not known, or old', () => {
  expect(said('buy', 2_000n * USD, null)).toBeNull();
  expect(said('buy', 2_000n * USD, 0n)).toBeNull();
  expect(said('buy', 2_000n * USD, NAV, false)).toBeNull();
});
