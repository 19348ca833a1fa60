/** NAVs and quotes of the api against Uniswap's own SDK, from the state of the pools. */
import { TickMath } from '@uniswap/v3-sdk';
import type { Address, Hex } from 'viem';
import { describe, expect, test } from 'vitest';
import { RAY, SHARE } from '../../contracts-abi/constants.ts';
import {
  basketVaultAbi,
  marketMakerAbi,
  navOracleAbi,
  uniswapV3PoolAbi,
} from '../../contracts-abi/generated/index.ts';
import { write } from '../chain/client.ts';
import { tokenOf } from '../chain/seed/manifest.ts';
import { useFork } from '../harness/fork.ts';
import { PoolBook } from './independent-pools.ts';
import { legsOf } from './plan-legs.ts';
import { balanceOf, planOf, sendPlan } from './send-plan.ts';
import { useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const usdg = () => fork.deployment.usdg;

function decimalsOf(token: Address): number {
  if (token.toLowerCase() === usdg().toLowerCase()) return 6;
  const known = fork.manifest.tokens.find(
    ({ address }) => address.toLowerCase() === token.toLowerCase(),
  );
  if (known === undefined) throw new Error(`no token ${token}`);
  return known.decimals;
}

const book = () => new PoolBook(fork, decimalsOf);

function composition(ticker: string) {
  return fork.client.readContract({
    address: fork.vault(ticker),
    abi: basketVaultAbi,
    functionName: 'composition',
  });
}

function feeOf(pool: Address): Promise<number> {
  return fork.client.readContract({ address: pool, abi: uniswapV3PoolAbi, functionName: 'fee' });
}

/** Dollars x 1e18, exact but for one flooring a constituent; null where one has no pool. */
async function navOf(
  pools: PoolBook,
  ticker: string,
): Promise<{ nav: bigint; slack: bigint } | null> {
  const [parts, , index] = await composition(ticker);
  const { weth, wethUsdgPool } = fork.deployment;
  let value = 0n;
  // The oracle floors the price of a whole token, so its error grows with the tokens in a share.
  let slack = 1n;
  for (const { token, pool, viaWeth, genesisUnits } of parts) {
    if (BigInt(pool) === 0n && BigInt(token) !== BigInt(usdg())) return null;
    if (BigInt(token) === BigInt(usdg())) {
      value += genesisUnits * 10n ** 12n;
      continue;
    }
    const price = await pools.priceOf(token, viaWeth ? weth : usdg(), await feeOf(pool));
    let over = genesisUnits * BigInt(price.numerator.toString()) * 10n ** 12n;
    let under = BigInt(price.denominator.toString());
    if (viaWeth) {
      const ether = await pools.priceOf(weth, usdg(), await feeOf(wethUsdgPool));
      over *= BigInt(ether.numerator.toString());
      under *= BigInt(ether.denominator.toString());
    }
    value += over / under;
    slack += genesisUnits / 10n ** BigInt(decimalsOf(token)) + 2n;
  }
  return { nav: (value * index) / RAY, slack };
}

/**
 * Liquidity in one tick range that a trade is about to leave: the pool's price is moved to just inside its edge first.
 * @param bought whether the trade buys the token; a sale moves the price the other way.
 */
async function narrowLiquidity(symbol: string, bought: boolean): Promise<void> {
  const { address: token, pools } = tokenOf(fork.manifest, symbol);
  const [pool] = pools;
  if (pool === undefined) throw new Error(`${symbol} has no pool`);
  const read = { address: pool.address, abi: uniswapV3PoolAbi } as const;
  const [slot0, spacing, liquidity, token0, token1] = await Promise.all([
    fork.client.readContract({ ...read, functionName: 'slot0' }),
    fork.client.readContract({ ...read, functionName: 'tickSpacing' }),
    fork.client.readContract({ ...read, functionName: 'liquidity' }),
    fork.client.readContract({ ...read, functionName: 'token0' }),
    fork.client.readContract({ ...read, functionName: 'token1' }),
  ]);
  const lower = Math.floor(slot0[1] / spacing) * spacing;
  const rises = BigInt(token) === BigInt(token0) ? bought : !bought;
  const edge = BigInt(TickMath.getSqrtRatioAtTick(rises ? lower + spacing : lower).toString());
  const inside = rises ? edge - edge / 1_000_000n : edge + edge / 1_000_000n;
  const maker = { address: fork.manifest.maker, abi: marketMakerAbi } as const;
  await write(fork.client, fork.accounts.maker.account, {
    ...maker,
    functionName: 'move',
    args: [[{ pool: pool.address, token0, token1, sqrtPriceX96: inside }]],
  });
  await write(fork.client, fork.accounts.maker.account, {
    ...maker,
    functionName: 'provide',
    args: [pool.address, lower, lower + spacing, liquidity / 2n],
  });
}

describe('NAVs', () => {
  test('of every basket are those of the pools, to the rounding of the oracle', async () => {
    const { body } = await api.get('/v1/markets?prices=0');
    const rows = body.markets as unknown as { ticker: string; nav: number | null }[];
    expect(rows).toHaveLength(15);
    const pools = book();
    const judged = rows.map(async ({ ticker, nav }) => {
      const independent = await navOf(pools, ticker);
      if (independent === null) {
        expect({ ticker, nav }).toEqual({ ticker, nav: null });
        return;
      }
      const oracle = await fork.client.readContract({
        address: fork.deployment.oracle,
        abi: navOracleAbi,
        functionName: 'spotNav',
        args: [fork.vault(ticker)],
      });
      const off = independent.nav - oracle;
      expect(off >= 0n && off <= independent.slack, `${ticker}: ${off}`).toBe(true);
      // Eight significant digits of the very same number.
      const rounded = Number((Number(oracle) / 1e18).toPrecision(8));
      expect({ ticker, nav }).toEqual({ ticker, nav: rounded });
    });
    await Promise.all(judged);
  });
});

/** What the legs yield one after another. */
async function swapAll(
  data: Hex,
): Promise<{ outs: { token: Address; amount: bigint }[]; crossed: number }> {
  const pools = book();
  const outs: { token: Address; amount: bigint }[] = [];
  for (const { hops, amountIn } of legsOf(data)) {
    const amount = await pools.swap(hops, amountIn);
    outs.push({ token: hops.at(-1)?.tokenOut ?? usdg(), amount });
  }
  return { outs, crossed: pools.crossed };
}

describe('quotes of sales', () => {
  test.for([
    ['MAG7', 10n ** 16n, false],
    ['MAG7', 900n * SHARE, true],
    ['CRYP', 500n * SHARE, false],
    ['TEN', 20n * SHARE, false],
  ] as const)('of %s, %d shares, are what the pools pay', async ([ticker, shares, narrow]) => {
    if (narrow) {
      await narrowLiquidity('NVDA', false);
      await narrowLiquidity('AAPL', false);
      await api.marksSettled();
    }
    const [parts, , index] = await composition(ticker);
    const plan = planOf(
      await api.post('/v1/tx/sell', {
        ticker,
        shares: shares.toString(),
        address: fork.accounts.deployer.account.address,
        slippageBps: 0,
      }),
    );
    const legs = legsOf(plan.tx.data);
    expect(legs).toHaveLength(plan.legs);
    // Every leg sells what the redemption yields of its token.
    for (const { hops, amountIn } of legs) {
      const token = hops[0]?.tokenIn ?? usdg();
      const part = parts.find((each) => BigInt(each.token) === BigInt(token));
      expect(amountIn).toBe(((part?.genesisUnits ?? 0n) * shares * index) / (RAY * SHARE));
    }
    const { outs, crossed } = await swapAll(plan.tx.data);
    if (narrow) expect(crossed).toBeGreaterThanOrEqual(2);
    const held = parts.find(({ token }) => BigInt(token) === BigInt(usdg()));
    const ownUsdg = ((held?.genesisUnits ?? 0n) * shares * index) / (RAY * SHARE);
    const gross = outs.reduce((sum, { amount }) => sum + amount, ownUsdg);
    const net = gross - (gross * 20n + 9_999n) / 10_000n;
    const off = net - BigInt(plan.expectedUsdg);
    // Legs that share a WETH pool are priced together, rounded for the seller twice each.
    const shared = BigInt(legs.filter(({ hops }) => hops.length > 1).length);
    expect(off >= 0n && off <= BigInt(plan.legs) + shared, `off by ${off} of ${net}`).toBe(true);
    expect(plan.minOutUsdg).toBe(plan.expectedUsdg);
  });
});

describe('quotes of buys', () => {
  test.for([
    ['MAG7', 10, false],
    ['MAG7', 80_000, true],
    ['CRYP', 500, false],
    ['TEN', 5_000, false],
  ] as const)('of %s for $%d are what the pools pay', async ([ticker, amountUsdg, narrow]) => {
    if (narrow) {
      await narrowLiquidity('NVDA', true);
      await narrowLiquidity('AAPL', true);
      await api.marksSettled();
    }
    const alice = fork.accounts.alice.account.address;
    const body = { ticker, amountUsdg, address: alice, slippageBps: 0 };
    const first = planOf(await api.post('/v1/tx/buy', body));
    const { outs, crossed } = await swapAll(first.tx.data);
    if (narrow) expect(crossed).toBeGreaterThanOrEqual(2);
    const backed = async () => {
      const [parts, , index] = await composition(ticker);
      const spent = legsOf(first.tx.data).reduce((sum, { amountIn }) => sum + amountIn, 0n);
      const fee = (spent * 20n + 9_999n) / 10_000n;
      return parts
        .map(({ token, genesisUnits }) => {
          const out = outs.find((each) => BigInt(each.token) === BigInt(token));
          const left = BigInt(amountUsdg) * 1_000_000n - spent - fee;
          const amount = BigInt(token) === BigInt(usdg()) ? left : (out?.amount ?? 0n);
          return (amount * RAY * SHARE) / (genesisUnits * index);
        })
        .reduce((least, each) => (each < least ? each : least));
    };
    // No slippage is allowed for: the shares promised are those that the swaps back, none more.
    const promised = BigInt(first.minShares);
    const now = await backed();
    expect(now).toBeGreaterThanOrEqual(promised);
    expect(Number(now - promised) / Number(promised)).toBeLessThan(2e-3);
    // And the chain mints exactly what the SDK said that the swaps yield.
    await sendPlan(fork, 'alice', first);
    const minted = await balanceOf(fork, fork.vault(ticker), alice);
    const off = minted - (await backed());
    expect(off >= -1n && off <= 1n, `off by ${off} of ${minted}`).toBe(true);
  });
});
