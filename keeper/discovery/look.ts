/**
 * One look at the chain by one aggregated call: its block, each basket that something open needs, and the weeks of
 * cover. Costs in proportion to baskets and weeks that are under way, not to orders.
 */
import type { Address, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  basketVaultAbi,
  coverMarketAbi,
  navOracleAbi,
  protocolPauseAbi,
} from '../../contracts-abi/generated/index.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import { optional, type Pending, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { type CoverOutcome, outcomeOf, type WeekTimes } from '../../runtime/cover/steps-due.ts';

/** INavOracle.Invalid.None */
const VALID = 0;

/** NAVs are dollars x 1e18. `reference`: null where there is no valid one now. */
export type BasketNow = { reference: bigint | null; spotNav: bigint | null; feeIndex: bigint };

export type MarketNow = {
  week: number;
  vault: Address;
  times: WeekTimes;
  state: { outcome: CoverOutcome; sold: boolean };
};

/** Whose week and basket a position is of, its fee (USDG base units) and size (dollars), which never change. */
export type Placed = {
  week: number;
  vault: Address;
  fee: bigint;
  coverUsd: number;
  paid: boolean;
};

export type Look = {
  block: number;
  /** Of the block, unix seconds. */
  time: number;
  paused: boolean;
  baskets: ReadonlyMap<Address, BasketNow>;
  /** USDG base units that rewards of steps are paid from. */
  feePool: bigint;
  weeks: readonly number[];
  coverVaults: readonly Address[];
  markets: readonly MarketNow[];
  placed: ReadonlyMap<bigint, Placed>;
};

/** What to ask for, from the looks before. */
export type Wanted = {
  vaults: readonly Address[];
  markets: readonly { week: number; vault: Address }[];
  /** Positions whose week and basket are not known yet, or that may be paid. */
  positions: readonly bigint[];
};

/** @throws ApiError UPSTREAM when the chain does not answer. */
export async function lookAt(
  client: PublicClient,
  deployment: Deployment,
  wanted: Wanted,
): Promise<Look> {
  const batch = new ReadBatch();
  const cover = { to: deployment.coverMarket, abi: coverMarketAbi } as const;
  const pause = { to: deployment.pause, abi: protocolPauseAbi } as const;
  const paused = batch.add({ ...pause, functionName: 'paused', args: [] });
  const baskets = wanted.vaults.map((vault) => ({
    vault,
    read: planBasket(batch, deployment, vault),
  }));
  const feePool = batch.add({ ...cover, functionName: 'feePool', args: [] });
  const weeks = batch.add({ ...cover, functionName: 'publishedWeeks', args: [] });
  const coverVaults = batch.add({ ...cover, functionName: 'coverVaults', args: [] });
  const markets = planMarkets(batch, deployment, wanted.markets);
  const positions = wanted.positions.map((id) => ({
    id,
    read: batch.add({ ...cover, functionName: 'positionOf', args: [id] }),
  }));
  // Last of all: see planBlock.
  const block = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3);

  const { number, time } = block();
  const placed = new Map<bigint, Placed>();
  for (const { id, read } of positions) {
    const position = optional(read);
    // A week of zero: the position is not on this node's chain (yet).
    if (position !== null && position.week > 0) {
      const { week, vault, fee, coverUsd, paid } = position;
      placed.set(id, { week, vault, fee, coverUsd: Number(coverUsd), paid });
    }
  }
  return {
    block: number,
    time,
    paused: required(paused, 'the pause'),
    baskets: new Map(baskets.map(({ vault, read }) => [vault, read()])),
    feePool: required(feePool, 'the pool of cover fees'),
    weeks: required(weeks, 'the weeks of cover'),
    coverVaults: required(coverVaults, 'the cover baskets'),
    markets: markets(),
    placed,
  };
}

function planBasket(batch: ReadBatch, { oracle }: Deployment, vault: Address): () => BasketNow {
  const nav = { to: oracle, abi: navOracleAbi } as const;
  const reference = batch.add({ ...nav, functionName: 'tryReferenceNav', args: [vault] });
  const spot = batch.add({ ...nav, functionName: 'trySpotNav', args: [vault] });
  const feeIndex = batch.add({
    to: vault,
    abi: basketVaultAbi,
    functionName: 'feeIndex',
    args: [],
  });
  return () => {
    const [referenceNav, invalid] = optional(reference) ?? [0n, -1];
    const [spotNav, priced] = optional(spot) ?? [0n, false];
    return {
      reference: invalid === VALID ? referenceNav : null,
      spotNav: priced ? spotNav : null,
      feeIndex: required(feeIndex, `the fee index of ${vault}`),
    };
  };
}

function planMarkets(
  batch: ReadBatch,
  { coverMarket }: Deployment,
  wanted: Wanted['markets'],
): () => MarketNow[] {
  const cover = { to: coverMarket, abi: coverMarketAbi } as const;
  const times = new Map<number, Pending<{ close: number; settle: number }>>();
  for (const { week } of wanted) {
    if (times.has(week)) continue;
    times.set(week, batch.add({ ...cover, functionName: 'weekOf', args: [week] }));
  }
  const reads = wanted.map(({ week, vault }) => ({
    week,
    vault,
    state: batch.add({ ...cover, functionName: 'marketOf', args: [week, vault] }),
  }));
  return () =>
    reads.flatMap(({ week, vault, state }): MarketNow[] => {
      const pending = times.get(week);
      if (pending === undefined) return [];
      const { close, settle } = required(pending, 'a week of cover');
      const { outcome, soldUsd } = required(state, 'a market of cover');
      return [
        {
          week,
          vault,
          times: { close, settle },
          state: { outcome: outcomeOf(outcome), sold: soldUsd > 0n },
        },
      ];
    });
}
