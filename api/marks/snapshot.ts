/** One look at every basket: spot NAV, reference, prices and fee index of one block, by one aggregated eth_call. */
import { type Address, multicall3Abi, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  basketRegistryAbi,
  basketVaultAbi,
  navOracleAbi,
  protocolPauseAbi,
} from '../../contracts-abi/generated/index.ts';
import type { Basket, Catalog } from '../catalog/catalog.ts';
import { optional, ReadBatch, required } from '../../runtime/chain/read-batch.ts';

/** INavOracle.Invalid, in its order. */
const INVALID = ['None', 'NoPool', 'Cardinality', 'TooYoung', 'Thin', 'Jumpy'] as const;
type InvalidReason = Exclude<(typeof INVALID)[number], 'None'>;

/** NAVs are dollars x 1e18. */
type Reference = { ok: true; nav: bigint } | { ok: false; reason: InvalidReason };

export type BasketMark = {
  /** Spot NAV; null when a constituent has no pool to price it. */
  nav: bigint | null;
  reference: Reference;
  /** Dollars x 1e18 per whole token, in the order of the constituents; null where there is no pool. */
  prices: readonly (bigint | null)[];
  feeIndex: bigint;
  /** Shares that exist, 1e18. */
  supply: bigint;
};

export type Snapshot = {
  /** Counts up by one per snapshot of this process. */
  version: number;
  /** The block's timestamp, unix seconds. */
  chainTime: number;
  /** This machine's clock when the answer arrived, unix milliseconds. */
  takenAtMs: number;
  marks: ReadonlyMap<Address, BasketMark>;
  /** Dollars x 1e18; null where the oracle has no spot price. */
  ethPrice: bigint | null;
  paused: boolean;
  basketCount: number;
};

/** @throws ApiError UPSTREAM when the chain does not answer. */
export async function readSnapshot(
  client: PublicClient,
  deployment: Deployment,
  catalog: Catalog,
  version: number,
): Promise<Snapshot> {
  const batch = new ReadBatch();
  const oracle = { to: deployment.oracle, abi: navOracleAbi } as const;
  const time = batch.add({
    to: deployment.multicall3,
    abi: multicall3Abi,
    functionName: 'getCurrentBlockTimestamp',
    args: [],
  });
  const eth = batch.add({ ...oracle, functionName: 'ethPrice', args: [] });
  const paused = batch.add({
    to: deployment.pause,
    abi: protocolPauseAbi,
    functionName: 'paused',
    args: [],
  });
  const count = batch.add({
    to: deployment.registry,
    abi: basketRegistryAbi,
    functionName: 'basketCount',
    args: [],
  });
  const reads = catalog.baskets.map((basket) => ({
    basket,
    spot: batch.add({ ...oracle, functionName: 'trySpotNav', args: [basket.vault] }),
    reference: batch.add({ ...oracle, functionName: 'tryReferenceNav', args: [basket.vault] }),
    prices: batch.add({ ...oracle, functionName: 'spotPrices', args: [basket.vault] }),
    feeIndex: batch.add({
      to: basket.vault,
      abi: basketVaultAbi,
      functionName: 'feeIndex',
      args: [],
    }),
    supply: batch.add({
      to: basket.vault,
      abi: basketVaultAbi,
      functionName: 'totalSupply',
      args: [],
    }),
  }));
  await batch.send(client, deployment.multicall3);

  const marks = new Map<Address, BasketMark>();
  for (const { basket, spot, reference, prices, feeIndex, supply } of reads) {
    const [nav, priced] = optional(spot) ?? [0n, false];
    const [referenceNav, invalid] = optional(reference) ?? [0n, INVALID.indexOf('TooYoung')];
    const reason = INVALID[invalid] ?? 'TooYoung';
    marks.set(basket.vault, {
      nav: priced ? nav : null,
      reference: reason === 'None' ? { ok: true, nav: referenceNav } : { ok: false, reason },
      prices: pricesOf(basket, optional(prices)),
      feeIndex: required(feeIndex, `the fee index of ${basket.ticker}`),
      supply: required(supply, `the supply of ${basket.ticker}`),
    });
  }
  const [ethPrice] = optional(eth) ?? [0n];
  return {
    version,
    chainTime: Number(required(time, 'the block time')),
    takenAtMs: Date.now(),
    marks,
    ethPrice: ethPrice === 0n ? null : ethPrice,
    paused: required(paused, 'the pause'),
    basketCount: Number(required(count, 'the registry')),
  };
}

function pricesOf(basket: Basket, prices: readonly bigint[] | null): (bigint | null)[] {
  return basket.constituents.map((_part, index) => {
    const price = prices?.[index] ?? 0n;
    return price === 0n ? null : price;
  });
}
