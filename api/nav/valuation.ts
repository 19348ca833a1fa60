/**
 * The NAV of a basket from pool prices, as NavOracle.trySpotNav has it: the sum over the constituents of genesis units
 * x price, then the fee index once on the whole, rounded down at every step. Units and pools of a vault never change
 * (BasketVault keeps them as code), so a basket is this value for ever. Pure.
 */
import { isAddressEqual } from 'viem';
import { NAV_SCALE, RAY } from '../../contracts-abi/constants.ts';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import type { Basket, Constituent } from '../catalog/catalog.ts';
import { feeIndexAt, feeRatePerYear } from './fee-index.ts';
import { usdgPairPrice, wethPairPrice } from './pool-price.ts';

const WETH_DECIMALS = 18;

type Part = {
  units: bigint;
  decimals: number;
  /** USDG is its own price; a constituent without a pool has none. */
  price:
    | { tag: 'dollar' }
    | { tag: 'none' }
    | { tag: 'pool'; pool: string; tokenIsToken0: boolean; viaWeth: boolean };
};

/** Addresses are in lower case. */
export type NavBasket = {
  vault: string;
  genesisAt: number;
  /** See FeeIndex.sol. */
  feeRate: bigint;
  parts: readonly Part[];
  /** Every pool whose price the NAV hangs on. */
  pools: readonly string[];
  weth: { pool: string; tokenIsToken0: boolean };
};

export function navBasketOf(
  basket: Pick<Basket, 'vault' | 'genesisAt' | 'mgmtFeeBps' | 'constituents'>,
  deployment: Pick<Deployment, 'usdg' | 'weth' | 'wethUsdgPool'>,
): NavBasket {
  const weth = {
    pool: deployment.wethUsdgPool.toLowerCase(),
    tokenIsToken0: isBelow(deployment.weth, deployment.usdg),
  };
  const parts = basket.constituents.map((part) => partOf(part, deployment));
  const pools = new Set<string>();
  for (const { price } of parts) {
    if (price.tag !== 'pool') continue;
    pools.add(price.pool);
    if (price.viaWeth) pools.add(weth.pool);
  }
  return {
    vault: basket.vault.toLowerCase(),
    genesisAt: basket.genesisAt,
    feeRate: feeRatePerYear(basket.mgmtFeeBps),
    parts,
    pools: [...pools],
    weth,
  };
}

function partOf(
  part: Pick<Constituent, 'token' | 'genesisUnits' | 'genesisDecimals' | 'pool' | 'viaWeth'>,
  deployment: Pick<Deployment, 'usdg' | 'weth'>,
): Part {
  const amount = { units: part.genesisUnits, decimals: part.genesisDecimals };
  if (isAddressEqual(part.token, deployment.usdg)) return { ...amount, price: { tag: 'dollar' } };
  if (part.pool === null) return { ...amount, price: { tag: 'none' } };
  const other = part.viaWeth ? deployment.weth : deployment.usdg;
  return {
    ...amount,
    price: {
      tag: 'pool',
      pool: part.pool.toLowerCase(),
      tokenIsToken0: isBelow(part.token, other),
      viaWeth: part.viaWeth,
    },
  };
}

function isBelow(token: string, other: string): boolean {
  return BigInt(token) < BigInt(other);
}

/** Square-root prices (Q64.96) by pool; a pool that is absent, or zero, has no price. */
export type PoolPrices = ReadonlyMap<string, bigint>;

/** The value of one basket while pool prices change one after the other: only what changed is computed again. */
export class Valuation {
  readonly basket: NavBasket;
  readonly #prices = new Map<string, bigint>();
  readonly #values: (bigint | null)[];
  readonly #stale = new Set<number>();
  /** By pool, which parts hang on its price. */
  readonly #partsOf = new Map<string, number[]>();
  #sum: bigint | null = 0n;
  #wethPrice: bigint | null = null;

  constructor(basket: NavBasket, prices: PoolPrices) {
    this.basket = basket;
    for (const pool of basket.pools) {
      this.#prices.set(pool, prices.get(pool) ?? 0n);
      this.#partsOf.set(pool, []);
    }
    this.#values = basket.parts.map(() => null);
    for (const [index, { price }] of basket.parts.entries()) {
      this.#stale.add(index);
      if (price.tag !== 'pool') continue;
      this.#partsOf.get(price.pool)?.push(index);
      if (price.viaWeth) this.#partsOf.get(basket.weth.pool)?.push(index);
    }
  }

  /** Nothing for a pool that the basket does not hang on. */
  set(pool: string, sqrtPrice: bigint): void {
    const parts = this.#partsOf.get(pool);
    if (parts === undefined) return;
    this.#prices.set(pool, sqrtPrice);
    if (pool === this.basket.weth.pool) this.#wethPrice = null;
    for (const index of parts) this.#stale.add(index);
  }

  /** Dollars x 1e18 per share before fees; null while a constituent has no price. */
  value(): bigint | null {
    if (this.#stale.size === 0) return this.#sum;
    for (const index of this.#stale) this.#values[index] = this.#valueOf(index);
    this.#stale.clear();
    this.#sum = 0n;
    for (const value of this.#values) {
      if (value === null) {
        this.#sum = null;
        break;
      }
      this.#sum += value;
    }
    return this.#sum;
  }

  #valueOf(index: number): bigint | null {
    const part = this.basket.parts[index];
    if (part === undefined) return null;
    const price = this.#priceOf(part);
    return price === 0n ? null : (part.units * price) / 10n ** BigInt(part.decimals);
  }

  #priceOf({ price, decimals }: Part): bigint {
    if (price.tag === 'dollar') return NAV_SCALE;
    if (price.tag === 'none') return 0n;
    const root = this.#prices.get(price.pool) ?? 0n;
    if (!price.viaWeth) return usdgPairPrice(root, price.tokenIsToken0, decimals);
    this.#wethPrice ??= this.#priceOfWeth();
    return wethPairPrice(root, price.tokenIsToken0, decimals, this.#wethPrice);
  }

  #priceOfWeth(): bigint {
    const { weth } = this.basket;
    const root = this.#prices.get(weth.pool) ?? 0n;
    return usdgPairPrice(root, weth.tokenIsToken0, WETH_DECIMALS);
  }
}

/** NAV in dollars x 1e18: a value before fees with the fee index of that moment (unix seconds). */
export function navOf(basket: NavBasket, value: bigint, time: number): bigint {
  return navAt(value, feeIndexOf(basket, time));
}

/** The fee index of a basket at a moment (unix seconds), x 1e27. */
export function feeIndexOf({ feeRate, genesisAt }: NavBasket, time: number): bigint {
  return feeIndexAt(feeRate, time - genesisAt);
}

/** {@link navOf} where the fee index is known already. */
export function navAt(value: bigint, feeIndex: bigint): bigint {
  return (value * feeIndex) / RAY;
}
