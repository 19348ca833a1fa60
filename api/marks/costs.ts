/** buyCostBps: the cost of buying $1,000 on top of the mint fee (pool fees and price impact), by real quotes. */
import type { Address, PublicClient } from 'viem';
import { BPS, USD } from '../../contracts-abi/constants.ts';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { mintFee } from '../../contracts-abi/fill-pricing.ts';
import { mulDivDown } from '../../contracts-abi/rounding.ts';
import type { Basket } from '../catalog/catalog.ts';
import { ReadBatch } from '../../runtime/chain/read-batch.ts';
import { NAV_PER_USDG, planBudgetBuy } from '../../runtime/quotes/basket-quote.ts';
import type { BasketMark } from './snapshot.ts';

const MEASURED_GROSS = 1_000n * USD;

/** Hundredths of a basis point, so that cheap baskets can be told apart. */
const RESOLUTION = 100n;

/** Basis points lost between what was spent on swaps and the shares' value at spot; may be slightly negative. */
function costBps(gross: bigint, shares: bigint, spotNav: bigint): number {
  const value = mulDivDown(shares, spotNav, NAV_PER_USDG);
  return Number(((gross - value) * BPS * RESOLUTION) / gross) / Number(RESOLUTION);
}

/** One aggregated read; null when a constituent has no route. @throws ApiError UPSTREAM. */
export async function measureBuyCost(
  client: PublicClient,
  deployment: Deployment,
  basket: Basket,
  mark: BasketMark,
): Promise<number | null> {
  if (mark.nav === null) return null;
  const batch = new ReadBatch();
  const funds = MEASURED_GROSS + mintFee(MEASURED_GROSS);
  const now = { feeIndex: mark.feeIndex, spotNav: mark.nav };
  const pending = planBudgetBuy(batch, deployment, basket, now, funds);
  await batch.send(client, deployment.multicall3);
  const quote = pending();
  return quote.tag === 'no_route' ? null : costBps(quote.gross, quote.shares, mark.nav);
}

/** The latest cost of each basket. */
export type Costs = Map<Address, number | null>;
