/** A wallet's sale of exact shares for USDG in one transaction, never partial. */
import { encodeFunctionData } from 'viem';
import { SHARE } from '../../contracts-abi/constants.ts';
import { basketZapperAbi } from '../../contracts-abi/generated/index.ts';
import { minusBps, mulDivDown } from '../../contracts-abi/rounding.ts';
import { ApiError } from '../../runtime/errors.ts';
import type { Basket } from '../catalog/catalog.ts';
import { type BlockSeen, planBlock } from '../../runtime/chain/block-time.ts';
import { refuseSurely } from '../chain/newest-block.ts';
import { type BlockId, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { type PendingSell, planSell } from '../../runtime/quotes/sell-quote.ts';
import type { SellRequest } from '../schemas/transactions.ts';
import { basketOf, type Service } from '../service.ts';
import { WALLET_DEADLINE_SECONDS } from './buy.ts';
import {
  approvalFor,
  farFromNav,
  type Funding,
  finishPlan,
  NO_FEES,
  type Plan,
  planFunding,
} from './plan.ts';
import { insufficientShares, noRoute } from './refusals.ts';

export type SellPlan = Plan & {
  sharesWei: string;
  expectedUsdg: string;
  minOutUsdg: string;
  legs: number;
};

type Attempt = {
  shares: bigint;
  balance: bigint;
  funding: Funding;
  quoted: PendingSell;
  chainBlock: BlockSeen;
};

/**
 * One aggregated read; for "max" a second one where neither the index nor an earlier request knew the balance.
 * @throws ApiError UNKNOWN_BASKET, BAD_REQUEST for what is worth nothing, INSUFFICIENT_SHARES, NO_ROUTE, UPSTREAM.
 */
export async function buildSell(service: Service, request: SellRequest): Promise<SellPlan> {
  return await refuseSurely(service, (block) => buildAt(service, request, block));
}

async function buildAt(service: Service, request: SellRequest, block: BlockId): Promise<SellPlan> {
  const { deployment } = service;
  const { address } = request;
  const basket = basketOf(service, request.ticker, 400);
  const { shares, balance, funding, quoted, chainBlock } = await readSale(
    service,
    basket,
    request,
    block,
  );
  if (shares === 0n && balance > 0n) {
    throw new ApiError('BAD_REQUEST', 'fraction: of this balance it is less than one base unit');
  }
  if (shares === 0n || balance < shares) {
    throw insufficientShares(balance, shares === 0n ? 1n : shares);
  }
  const quote = quoted();
  if (quote.tag === 'no_route') throw noRoute(basket, quote);
  if (quote.net === 0n) {
    const field = request.fraction === undefined ? 'shares' : 'fraction';
    throw new ApiError('BAD_REQUEST', `${field}: too few shares to be worth any USDG`);
  }
  const minOut = minusBps(quote.net, BigInt(request.slippageBps));
  const deadline = chainBlock.time + WALLET_DEADLINE_SECONDS;
  const data = encodeFunctionData({
    abi: basketZapperAbi,
    functionName: 'sell',
    args: [basket.vault, shares, minOut, quote.swaps, address, address, BigInt(deadline)],
  });
  const plan = await finishPlan(service, {
    from: address,
    tx: { to: deployment.zapper, data },
    approval: approvalFor(funding, deployment.zapper, shares),
    simulate: request.simulate,
    eth: required(funding.eth, 'the ETH balance'),
    warnings: [farFromNav(service, basket, { side: 'sell', usdg: quote.net, shares })],
    block: chainBlock,
    expiresAt: deadline,
    fees: { ...NO_FEES, sellUsdg: quote.fee.toString() },
  });
  return {
    ...plan,
    sharesWei: shares.toString(),
    expectedUsdg: quote.net.toString(),
    minOutUsdg: minOut.toString(),
    legs: quote.swaps.length,
  };
}

async function readSale(
  service: Service,
  basket: Basket,
  request: SellRequest,
  block: BlockId,
): Promise<Attempt> {
  const { balances } = service;
  if (request.shares !== 'max')
    return await attempt(service, basket, request, block, request.shares);
  // The index knows every transfer up to a second ago; whatever it says, the chain has the last word.
  const indexed =
    (await service.ledger.walletShares(basket.vault, request.address).catch(() => null)) ?? 0n;
  const guess = indexed > 0n ? indexed : balances.guess(basket.vault, request.address);
  const first = await attempt(
    service,
    basket,
    request,
    block,
    partOf(guess ?? 0n, request.fraction),
  );
  const wanted = partOf(first.balance, request.fraction);
  return wanted === first.shares ? first : await attempt(service, basket, request, block, wanted);
}

/** The whole balance, or the asked fraction of it floored to whole base units. */
function partOf(balance: bigint, fraction: bigint | undefined): bigint {
  return fraction === undefined ? balance : mulDivDown(balance, fraction, SHARE);
}

async function attempt(
  service: Service,
  basket: Basket,
  request: SellRequest,
  block: BlockId,
  shares: bigint,
): Promise<Attempt> {
  const { client, deployment, marks, balances } = service;
  const mark = marks.markOf(basket);
  const batch = new ReadBatch();
  const funding = planFunding(batch, service, basket.vault, request.address, deployment.zapper);
  const quoted = planSell(
    batch,
    deployment,
    basket,
    { feeIndex: mark.feeIndex, spotNav: mark.nav },
    shares,
  );
  const seen = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3, block);
  const balance = required(funding.balance, 'the balance of shares');
  balances.saw(basket.vault, request.address, balance);
  return { shares, balance, funding, quoted, chainBlock: seen() };
}
