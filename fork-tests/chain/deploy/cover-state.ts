/**
 * What stands of the cover market, and what each basket that is not in it lacks: pools whose rings of observations
 * remember enough for a snapshot (rule 22), and depth for a cap (rule 23). Reads alone.
 */
import {
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  formatUnits,
  isAddressEqual,
  zeroAddress,
} from 'viem';
import {
  MAX_COVER_CONSTITUENTS,
  MIN_COVER_CARDINALITY,
  MIN_COVER_USD,
} from '../../../contracts-abi/constants.ts';
import { cutoffOf } from '../../../contracts-abi/cover-calendar.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import {
  basketRegistryAbi,
  basketVaultAbi,
  coverMarketAbi,
  uniswapV3PoolAbi,
} from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { COVER_CAP_PERCENT } from './cover-steps.ts';

/** A pool's ring of observations. Its slots follow at the write after its last one, and then all at once. */
export type Ring = {
  pool: Address;
  slots: number;
  /** There once the ring has come round. */
  slotsNext: number;
  /** Writes until then, a trade or a change of liquidity each, in a second of its own. */
  writesLeft: number;
};

export type CoverBasket = {
  ticker: string;
  vault: Address;
  ordersEnabled: boolean;
  constituents: number;
  /** Whole dollars; zero: not listed. */
  cap: bigint;
  /** Whole dollars that its pools carry beside other baskets' cover; null where they have no price. */
  depthCap: bigint | null;
  /** Of every pool that a snapshot reads. */
  rings: readonly Ring[];
};

export type CoverWeekTimes = { close: number; settle: number };

export const RENOUNCED =
  'its ownership was renounced, so nobody can publish weeks or list baskets any more';

export type CoverState = {
  owner: Address;
  /** Of the newest block, unix seconds. */
  now: number;
  /** Those that still trade. */
  weeksAhead: number;
  /** Null: none was ever published. */
  lastWeek: (CoverWeekTimes & { id: number }) | null;
  /** USDG base units that steps are rewarded from. */
  feePool: bigint;
  /** All of the registry, also those that came after the deployment file. */
  baskets: readonly CoverBasket[];
};

export async function readCover(client: ReadClient, deployment: Deployment): Promise<CoverState> {
  const { registry, coverMarket } = deployment;
  const market = { address: coverMarket, abi: coverMarketAbi } as const;
  const [{ timestamp }, owner, weekIds, feePool, rows] = await Promise.all([
    client.getBlock(),
    client.readContract({ ...market, functionName: 'owner' }),
    client.readContract({ ...market, functionName: 'publishedWeeks' }),
    client.readContract({ ...market, functionName: 'feePool' }),
    client.readContract({ address: registry, abi: basketRegistryAbi, functionName: 'baskets' }),
  ]);
  const now = Number(timestamp);
  // From the last one back, to the first that trades no more: each week closes before the next one.
  const weeks: (CoverWeekTimes & { id: number })[] = [];
  for (const id of weekIds.toReversed()) {
    const times = await client.readContract({ ...market, functionName: 'weekOf', args: [id] });
    weeks.push({ id, ...times });
    if (cutoffOf(times) <= now) break;
  }
  // One basket at a time, a pool once: a public endpoint refuses more than about twenty calls at once.
  const rings = new Map<Address, Ring>();
  const baskets: CoverBasket[] = [];
  for (const row of rows) baskets.push(await readBasket(client, deployment, row, rings));
  return {
    owner,
    now,
    weeksAhead: weeks.filter((week) => cutoffOf(week) > now).length,
    lastWeek: weeks[0] ?? null,
    feePool,
    baskets,
  };
}

async function readBasket(
  client: ReadClient,
  { coverMarket, wethUsdgPool }: Deployment,
  { ticker, vault, ordersEnabled }: { ticker: string; vault: Address; ordersEnabled: boolean },
  known: Map<Address, Ring>,
): Promise<CoverBasket> {
  const market = { address: coverMarket, abi: coverMarketAbi, args: [vault] } as const;
  const [cap, depthCap, parts] = await Promise.all([
    client.readContract({ ...market, functionName: 'capOf' }),
    client
      .readContract({ ...market, functionName: 'depthCapOf' })
      // expected: a pool that was never given a price
      .catch((error: unknown) => (isRevert(error) ? null : Promise.reject(error))),
    client.readContract({ address: vault, abi: basketVaultAbi, functionName: 'constituents' }),
  ]);
  const pools = new Set<Address>();
  for (const { pool, viaWeth } of parts) {
    if (!isAddressEqual(pool, zeroAddress)) pools.add(pool);
    if (viaWeth) pools.add(wethUsdgPool);
  }
  const rings: Ring[] = [];
  for (const pool of pools) {
    const ring = known.get(pool) ?? (await readRing(client, pool));
    known.set(pool, ring);
    rings.push(ring);
  }
  return { ticker, vault, ordersEnabled, constituents: parts.length, cap, depthCap, rings };
}

async function readRing(client: ReadClient, pool: Address): Promise<Ring> {
  const [, , index, slots, slotsNext] = await client.readContract({
    address: pool,
    abi: uniswapV3PoolAbi,
    functionName: 'slot0',
  });
  return { pool, slots, slotsNext, writesLeft: slots - index };
}

function isRevert(error: unknown): boolean {
  return (
    error instanceof BaseError &&
    error.walk((cause) => cause instanceof ContractFunctionRevertedError) !== null
  );
}

/**
 * - listed: in the market, for ever;
 * - ready: may be listed now;
 * - growing: its rings have the slots to come, and need writes alone;
 * - short: some ring has to be raised first;
 * - barred: never, or not at what its pools carry now.
 */
export type CoverStanding = {
  tag: 'listed' | 'ready' | 'growing' | 'short' | 'barred';
  /** What is missing, a line each. */
  lacks: readonly string[];
};

/** Pure. */
export function standingOf(basket: CoverBasket): CoverStanding {
  if (basket.cap > 0n) return { tag: 'listed', lacks: [] };
  if (!basket.ordersEnabled) {
    return { tag: 'barred', lacks: ['the registry has it without automated orders, for ever'] };
  }
  if (BigInt(basket.constituents) > MAX_COVER_CONSTITUENTS) {
    const lacks = [
      `it has ${basket.constituents} constituents, and a snapshot takes ${MAX_COVER_CONSTITUENTS} at most`,
    ];
    return { tag: 'barred', lacks };
  }
  if (basket.depthCap === null || capOfDepth(basket.depthCap, 1) < MIN_COVER_USD) {
    const lacks = [
      basket.depthCap === null
        ? 'its pools have no price'
        : `its pools carry $${basket.depthCap} of cover beside that of other baskets, and ${COVER_CAP_PERCENT}% of it must reach $${MIN_COVER_USD}; the floors of their liquidity were set when it was deployed`,
    ];
    return { tag: 'barred', lacks };
  }
  const low = basket.rings.filter(({ slots }) => !isEnough(slots));
  if (low.length === 0) return { tag: 'ready', lacks: [] };
  const tag = low.every(({ slotsNext }) => isEnough(slotsNext)) ? 'growing' : 'short';
  return { tag, lacks: low.map(ringLine) };
}

/** Whole dollars of cover for a basket that shares its pools among so many, itself included. */
export function capOfDepth(depthCap: bigint, sharers: number): bigint {
  return (depthCap * COVER_CAP_PERCENT) / (100n * BigInt(sharers));
}

const isEnough = (slots: number): boolean => BigInt(slots) >= MIN_COVER_CARDINALITY;

function ringLine({ pool, slots, slotsNext, writesLeft }: Ring): string {
  const head = `pool ${pool} remembers ${slots} observations, and ${MIN_COVER_CARDINALITY} are needed`;
  if (!isEnough(slotsNext)) {
    return `${head}; ${slotsNext} are provided for: raise them with npm run deploy -- --cover --slots ${MIN_COVER_CARDINALITY} (or DEPLOY_POOL_SLOTS)`;
  }
  const writes = writesLeft === 1 ? 'its next write' : `${writesLeft} more writes`;
  return `${head}; ${slotsNext} are provided for and there after ${writes} (trades or changes of liquidity, one a second at most)`;
}

/** The cover market in lines for the operator. Pure. */
export function coverLines(state: CoverState): string[] {
  const { owner, weeksAhead, lastWeek, feePool, baskets } = state;
  const until =
    lastWeek === null
      ? ''
      : `, the last one closes ${new Date(lastWeek.close * 1_000).toISOString()}`;
  const listed = baskets.filter(({ cap }) => cap > 0n);
  return [
    `cover market: ${weeksAhead} weeks ahead${until}; baskets: ${listed.map(({ ticker, cap }) => `${ticker} (cap $${cap})`).join(', ') || 'none'}; fee pool $${formatUnits(feePool, 6)}`,
    ...(isAddressEqual(owner, zeroAddress) ? [`  ${RENOUNCED}`] : baskets.flatMap(unlistedLines)),
  ];
}

function unlistedLines(basket: CoverBasket): string[] {
  const { tag, lacks } = standingOf(basket);
  if (tag === 'listed') return [];
  if (tag === 'ready') {
    return [`  ${basket.ticker} has no cover market and may have: npm run deploy -- --cover`];
  }
  return [`  ${basket.ticker} has no cover market:`, ...lacks.map((line) => `    ${line}`)];
}
