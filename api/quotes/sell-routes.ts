/** How shares would be sold right now, swap by swap (wire.md, /v1/leverage/sell-routes). */
import type { Address } from 'viem';
import { basketVaultAbi } from '../../contracts-abi/generated/index.ts';
import { ApiError } from '../../runtime/errors.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { Service } from '../service.ts';
import { planSellLegs } from '../../runtime/quotes/sell-quote.ts';

const NOTE =
  "swaps are the argument of the zapper's sell; each sells exactly amountIn with no least output of its own: bound the whole sale with minUsdg. While unrouted is not empty the zapper would hand those tokens back unsold.";

/**
 * One aggregated read. @param shares 1e18 units, above zero.
 * @throws ApiError BAD_REQUEST for a vault that is no basket's or more shares than there are, UPSTREAM.
 */
export async function readSellRoutes(service: Service, vault: Address, shares: bigint) {
  const { client, deployment, marks } = service;
  const basket = marks.catalog().byVault(vault);
  if (basket === null) throw new ApiError('BAD_REQUEST', 'vault: no basket has this vault');

  const batch = new ReadBatch();
  const supply = batch.add({
    to: basket.vault,
    abi: basketVaultAbi,
    functionName: 'totalSupply',
    args: [],
  });
  const { feeIndex, nav } = marks.markOf(basket);
  const planned = planSellLegs(batch, deployment, basket, { feeIndex, spotNav: nav }, shares);
  const block = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3);

  if (shares > required(supply, 'the supply of the vault')) {
    throw new ApiError('BAD_REQUEST', 'shares: more than the basket has in all');
  }
  const { gross, legs, swaps, unrouted } = planned();
  return {
    vault: basket.vault,
    shares: shares.toString(),
    zapper: deployment.zapper,
    router: deployment.swapRouter02,
    swaps: swaps.map((swap) => ({ ...swap, amountIn: swap.amountIn.toString() })),
    legs: legs.map(({ constituent, amountIn, amountOut }) => ({
      symbol: constituent.symbol,
      token: constituent.token,
      amountIn: amountIn.toString(),
      expectedUsdg: amountOut.toString(),
    })),
    unrouted: unrouted.map(({ token }) => token),
    note: NOTE,
    grossUsdg: gross.toString(),
    asOfBlock: block().number,
  };
}
