/**
 * What cover the pools of planned baskets could carry, before anything stands: contracts-abi/solidity's CoverDepth in
 * bigints (rule 23). Observation slots are paid for and liquidity floors set for ever with the deployment, so it says
 * beforehand which baskets can come to a cover market at all.
 */
import { type Address, erc20Abi, isAddressEqual } from 'viem';
import {
  BPS,
  MAX_COVER_CONSTITUENTS,
  MIN_COVER_CARDINALITY,
  MIN_COVER_USD,
  MIN_COVER_WIDTH_BPS,
  REFERENCE_WINDOW,
  SNAPSHOT_SUB_WINDOW,
  USD,
} from '../../../contracts-abi/constants.ts';
import { uniswapV3PoolAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { isToken0, PRICE_SCALE, priceAt, squareRoot } from '../price.ts';
import { capOfDepth } from './cover-state.ts';
import { COVER_CAP_PERCENT } from './cover-steps.ts';
import { grouped } from './gas.ts';
import { REFERENCE_SLOTS } from './options.ts';
import type { BasketPlan, ProtocolPlan } from './plan.ts';

const Q96 = 1n << 96n;
const FEE_UNIT = 1_000_000n;
const ONE = 10n ** 18n;
/** Depth that moves a pool by the narrowest range, over its quote side, times ONE. */
const MOVED = squareRoot((ONE * ONE * (BPS + MIN_COVER_WIDTH_BPS)) / BPS) - ONE;
/** Gas of one more slot. */
const SLOT_GAS = 22_000n;

export type PoolNow = { sqrtPriceX96: bigint; fee: bigint; liquidity: bigint };
export type PlanPools = {
  pools: ReadonlyMap<Address, PoolNow>;
  decimals: ReadonlyMap<Address, number>;
};

export type CoverOutlook = {
  lines: readonly string[];
  /** Baskets whose pools could carry the least cover. */
  able: readonly string[];
  /** Slots beyond those of a reference that no basket's cover could ever need. */
  wastedSlots: number;
};

/** One pool and token at a time: a public endpoint refuses more than about twenty calls at once. */
export async function readPlanPools(client: ReadClient, plan: ProtocolPlan): Promise<PlanPools> {
  const pools = new Map<Address, PoolNow>();
  const decimals = new Map<Address, number>();
  const parts = plan.baskets.flatMap(({ constituents }) => constituents);
  for (const address of [plan.wethUsdgPool, ...parts.map(({ pool }) => pool)]) {
    if (address === null || pools.has(address)) continue;
    const read = { address, abi: uniswapV3PoolAbi } as const;
    const [[sqrtPriceX96], fee, liquidity] = await Promise.all([
      client.readContract({ ...read, functionName: 'slot0' }),
      client.readContract({ ...read, functionName: 'fee' }),
      client.readContract({ ...read, functionName: 'liquidity' }),
    ]);
    pools.set(address, { sqrtPriceX96, fee: BigInt(fee), liquidity });
  }
  for (const { token: address } of parts) {
    if (decimals.has(address)) continue;
    const read = { address, abi: erc20Abi, functionName: 'decimals' } as const;
    decimals.set(address, await client.readContract(read));
  }
  return { pools, decimals };
}

/** Whole dollars that a basket's pools carry by themselves, before any basket is listed. Pure. */
export function plannedDepthCap(
  plan: Pick<ProtocolPlan, 'externals' | 'wethUsdgPool' | 'wethMinLiquidity'>,
  { constituents }: Pick<BasketPlan, 'constituents'>,
  { pools, decimals }: PlanPools,
): bigint {
  const { usdg, weth } = plan.externals;
  const wethNow = pools.get(plan.wethUsdgPool);
  const wethPair = { token: weth, tokenDecimals: 18, quote: usdg, quoteDecimals: 6 };
  const wethPrice = wethNow === undefined ? 0n : priceAt(wethPair, wethNow.sqrtPriceX96);
  const loads = new Map<Address, { fees: bigint; value: bigint }>();
  let total = 0n;
  let wethValue = 0n;
  let wethFloor = plan.wethMinLiquidity;
  for (const { token, genesisUnits, pool, viaWeth, minLiquidity } of constituents) {
    const tokenDecimals = decimals.get(token);
    if (tokenDecimals === undefined) return 0n;
    const isDollar = isAddressEqual(token, usdg);
    const now = pool === null ? undefined : pools.get(pool);
    if (!isDollar && now === undefined) return 0n;
    const quote = viaWeth ? weth : usdg;
    const pair = { token, tokenDecimals, quote, quoteDecimals: viaWeth ? 18 : 6 };
    const quoted = now === undefined || isDollar ? PRICE_SCALE : priceAt(pair, now.sqrtPriceX96);
    const price = viaWeth ? (quoted * wethPrice) / PRICE_SCALE : quoted;
    const value = (genesisUnits * price) / 10n ** BigInt(tokenDecimals);
    if (value === 0n) return 0n;
    total += value;
    if (isDollar || now === undefined || pool === null) continue;
    if (isAddressEqual(pool, plan.wethUsdgPool)) {
      wethValue += value;
      if (minLiquidity < wethFloor) wethFloor = minLiquidity;
      continue;
    }
    let depth = depthOf(now, isToken0(pair), minLiquidity);
    if (viaWeth) {
      // WETH base units times dollars x 1e18, as USDG base units.
      depth = (depth * wethPrice) / 10n ** 30n;
      wethValue += value;
    }
    loads.set(pool, { fees: feesOf(depth, now), value });
  }
  if (wethValue > 0n && wethNow !== undefined) {
    const depth = depthOf(wethNow, isToken0(wethPair), wethFloor);
    loads.set(plan.wethUsdgPool, { fees: feesOf(depth, wethNow), value: wethValue });
  }
  const caps = [...loads.values()].map(({ fees, value }) => {
    // Half at least, for whoever would void the week by it.
    const weight = value > total / 2n ? value : total / 2n;
    return (fees * total) / weight / USD;
  });
  return caps.length === 0 ? 0n : caps.reduce((least, cap) => (cap < least ? cap : least));
}

/** Quote base units that move the pool, at its floor of liquidity, by the narrowest range. */
function depthOf({ sqrtPriceX96 }: PoolNow, quoteIsToken1: boolean, floor: bigint): bigint {
  const side = quoteIsToken1 ? (floor * sqrtPriceX96) / Q96 : (floor * Q96) / sqrtPriceX96;
  return (side * MOVED) / ONE;
}

function feesOf(depth: bigint, { fee }: PoolNow): bigint {
  return (depth * (REFERENCE_WINDOW / SNAPSHOT_SUB_WINDOW) * fee) / FEE_UNIT;
}

/** For the operator, before anything of the plan is paid for. Pure. */
export function coverOutlook(plan: ProtocolPlan, now: PlanPools): CoverOutlook {
  const lines: string[] = [];
  const able: string[] = [];
  const useful = new Set<Address>();
  for (const basket of plan.baskets) {
    const { ticker, constituents, ordersEnabled } = basket;
    if (!ordersEnabled) continue;
    if (BigInt(constituents.length) > MAX_COVER_CONSTITUENTS) {
      lines.push(`  ${ticker}: never, with more than ${MAX_COVER_CONSTITUENTS} constituents`);
      continue;
    }
    const cap = plannedDepthCap(plan, basket, now);
    if (capOfDepth(cap, 1) < MIN_COVER_USD) {
      lines.push(
        `  ${ticker}: none: its pools could carry $${cap}, and ${COVER_CAP_PERCENT}% of it must reach $${MIN_COVER_USD}`,
      );
      continue;
    }
    able.push(ticker);
    lines.push(`  ${ticker}: its pools could carry $${cap}, less what other baskets take of them`);
    for (const { pool, viaWeth } of constituents) {
      if (pool !== null) useful.add(pool);
      if (viaWeth) useful.add(plan.wethUsdgPool);
    }
  }
  const head =
    'Cover market, by the floors of liquidity that this plan sets for ever (minLiquidity) and prices of now:';
  return { lines: [head, ...lines], able, wastedSlots: wasted(plan, useful) };
}

/**
 * A line for each pool that holds less liquidity by now than a floor of the plan: while it does, a basket on it has no
 * reference (rule 1), and the floor is for ever. Pure.
 */
export function thinLines(
  { baskets, wethUsdgPool, wethMinLiquidity }: ProtocolPlan,
  { pools }: PlanPools,
): string[] {
  const needs = baskets.flatMap(({ ticker, constituents }) =>
    constituents.flatMap(({ pool, viaWeth, minLiquidity }) => [
      ...(pool === null ? [] : [{ ticker, pool, floor: minLiquidity }]),
      ...(viaWeth ? [{ ticker, pool: wethUsdgPool, floor: wethMinLiquidity }] : []),
    ]),
  );
  return [...pools].flatMap(([address, { liquidity }]) => {
    const thin = needs.filter(({ pool, floor }) => pool === address && liquidity < floor);
    const tickers = new Set(thin.map(({ ticker }) => ticker));
    return tickers.size === 0
      ? []
      : [
          `pool ${address} holds liquidity of ${liquidity}, and this plan sets ${thin[0]?.floor} as its least for ever: ${[...tickers].join(', ')} would have no reference until it holds more, and without one no order fills and no agent trades`,
        ];
  });
}

/** Raises as far as a cover market takes, of pools that no cover could hang on. */
function wasted({ growth }: ProtocolPlan, useful: ReadonlySet<Address>): number {
  const ends = new Map<Address, number>();
  for (const { pool, to } of growth) ends.set(pool, Math.max(to, ends.get(pool) ?? 0));
  const leadNowhere = ({ pool }: { pool: Address }) =>
    !useful.has(pool) && BigInt(ends.get(pool) ?? 0) >= MIN_COVER_CARDINALITY;
  return growth
    .filter(leadNowhere)
    .reduce((sum, { from, to }) => sum + Math.max(0, to - Math.max(from, REFERENCE_SLOTS)), 0);
}

/** Null: no slot is raised for nothing. */
export function wasteLine({ wastedSlots, able }: CoverOutlook): string | null {
  if (wastedSlots === 0) return null;
  const gas = grouped(BigInt(wastedSlots) * SLOT_GAS);
  const why =
    able.length === 0
      ? 'no basket of this plan could ever have a cover market'
      : `they serve none of the baskets that could have a cover market (${able.join(', ')})`;
  return `${grouped(BigInt(wastedSlots))} observation slots, about ${gas} gas, would be paid for nothing: ${why}. DEPLOY_POOL_SLOTS=${REFERENCE_SLOTS} is enough for references`;
}
