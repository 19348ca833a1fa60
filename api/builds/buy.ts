/** A wallet's buy through the zapper: one approval where needed, one transaction, never partial. */
import { encodeFunctionData } from 'viem';
import { basketZapperAbi, protocolPauseAbi } from '../../contracts-abi/generated/index.ts';
import { minusBps, toNumber } from '../../contracts-abi/rounding.ts';
import { ApiError } from '../../runtime/errors.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { planBudgetBuy } from '../../runtime/quotes/basket-quote.ts';
import type { BuyRequest } from '../schemas/transactions.ts';
import { basketOf, type Service } from '../service.ts';
import {
  approvalFor,
  farFromNav,
  finishPlan,
  NO_FEES,
  type Plan,
  planFunding,
  usdgShortfall,
} from './plan.ts';
import { noRoute } from './refusals.ts';

/** Long enough for an approval to be mined first; the price is held by minShares, not by haste. */
export const WALLET_DEADLINE_SECONDS = 1_200;

export type BuyPlan = Plan & {
  amountInUsdg: string;
  minShares: string;
  estShares: number;
  legs: number;
};

/** @throws ApiError UNKNOWN_BASKET, NO_ROUTE, PAUSED, BAD_REQUEST for an amount too small to buy anything, UPSTREAM. */
export async function buildBuy(service: Service, request: BuyRequest): Promise<BuyPlan> {
  const { deployment, marks } = service;
  const { address, amountUsdg } = request;
  const basket = basketOf(service, request.ticker, 400);
  const mark = marks.markOf(basket);

  const batch = new ReadBatch();
  const paused = batch.add({
    to: deployment.pause,
    abi: protocolPauseAbi,
    functionName: 'paused',
    args: [],
  });
  const funding = planFunding(batch, service, deployment.usdg, address, deployment.zapper);
  const quoted = planBudgetBuy(
    batch,
    deployment,
    basket,
    { feeIndex: mark.feeIndex, spotNav: mark.nav },
    amountUsdg,
  );
  const seen = planBlock(batch, deployment);
  await batch.send(service.client, deployment.multicall3);

  if (required(paused, 'the pause')) {
    throw new ApiError('PAUSED', 'buying is paused by the protocol: selling is not; retry later');
  }
  const quote = quoted();
  if (quote.tag === 'no_route') throw noRoute(basket, quote);
  const minShares = minusBps(quote.shares, BigInt(request.slippageBps));
  if (minShares === 0n || quote.swaps.some(({ amountIn }) => amountIn === 0n)) {
    throw new ApiError('BAD_REQUEST', 'amountUsdg: too small to buy any of this basket');
  }
  const block = seen();
  const deadline = block.time + WALLET_DEADLINE_SECONDS;
  const data = encodeFunctionData({
    abi: basketZapperAbi,
    functionName: 'buy',
    args: [basket.vault, amountUsdg, minShares, quote.swaps, address, address, BigInt(deadline)],
  });
  const balance = required(funding.balance, 'the USDG balance');
  const plan = await finishPlan(service, {
    from: address,
    tx: { to: deployment.zapper, data },
    approval: approvalFor(funding, deployment.zapper, amountUsdg),
    simulate: request.simulate,
    eth: required(funding.eth, 'the ETH balance'),
    warnings: [
      usdgShortfall(balance, amountUsdg),
      farFromNav(service, basket, { side: 'buy', usdg: amountUsdg, shares: quote.shares }),
    ],
    block,
    expiresAt: deadline,
    fees: { ...NO_FEES, mintUsdg: quote.fee.toString() },
  });
  return {
    ...plan,
    amountInUsdg: amountUsdg.toString(),
    minShares: minShares.toString(),
    estShares: toNumber(quote.shares, 18),
    legs: quote.swaps.length,
  };
}
