/** The unsigned action of an agent's trade, sized and bounded by live quotes (wire.md, Trade plan). */
import { type Address, encodeAbiParameters, erc20Abi, type Hex } from 'viem';
import { buyGrossWithin } from '../../contracts-abi/fill-pricing.ts';
import { basketZapperAbi } from '../../contracts-abi/generated/index.ts';
import { mulDivDown, plusBps } from '../../contracts-abi/rounding.ts';
import {
  ACTION_KIND,
  type Action,
  actionToJson,
  actionTypedData,
} from '../../contracts-abi/typed-data.ts';
import { ApiError } from '../../runtime/errors.ts';
import { noRoute } from '../builds/refusals.ts';
import type { Basket } from '../catalog/catalog.ts';
import { refuseSurely } from '../chain/newest-block.ts';
import { type BlockId, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { BasketMark } from '../marks/snapshot.ts';
import { planExactBuy } from '../../runtime/quotes/basket-quote.ts';
import { planSell } from '../../runtime/quotes/sell-quote.ts';
import type { SwapCall } from '../../runtime/quotes/swap-call.ts';
import type { TradeRequest } from '../schemas/agent.ts';
import { basketOf, type Service } from '../service.ts';
import { planSession, type Session, sessionJson } from './read-session.ts';
import { ACTION_LIFETIME, SKIPPED } from './signed-later.ts';
import {
  checkBuy,
  checkHolding,
  checkSell,
  checkSession,
  type Refused,
  sharesWithin,
  spotIsNear,
} from './trade-policy.ts';

/** The tuple array that the module decodes from `data`: the type of the zapper's own `swaps` argument. */
const SWAPS = (() => {
  const sell = basketZapperAbi.find((item) => item.type === 'function' && item.name === 'sell');
  const swaps = sell?.type === 'function' ? sell.inputs.find(({ name }) => name === 'swaps') : null;
  if (!swaps) throw new Error('the zapper ABI has no swaps');
  return swaps;
})();

function encodeSwaps(swaps: readonly SwapCall[]): Hex {
  return encodeAbiParameters([SWAPS] as [typeof SWAPS], [swaps] as never);
}

function throwRefusal({ code, message }: Refused): never {
  throw new ApiError(code, message);
}

type Draft = {
  session: Session;
  kind: number;
  amount: bigint;
  limit: bigint;
  swaps: SwapCall[];
  slippageBps: number;
};

/** The reference now, or NO_REFERENCE; also where spot has run away from it (rule 4). */
function referenceOf(basket: Basket, mark: BasketMark): { reference: bigint; spot: bigint } {
  if (!mark.reference.ok || mark.nav === null) {
    const why = mark.reference.ok ? 'NoSpot' : mark.reference.reason;
    throw new ApiError(
      'NO_REFERENCE',
      `${basket.ticker} has no valid 10-minute average NAV now (${why})`,
    );
  }
  if (!spotIsNear(mark.nav, mark.reference.nav)) {
    throw new ApiError(
      'NO_REFERENCE',
      `${basket.ticker} trades more than 3% away from its 10-minute average NAV now`,
    );
  }
  return { reference: mark.reference.nav, spot: mark.nav };
}

/**
 * One aggregated read of session, balances and quotes; a second where a grant's cap is below the usual tolerance, or
 * for an owner never seen.
 * @throws ApiError with the codes of interface.md section 4, POST /v1/agent/trade.
 */
export async function buildTrade(service: Service, request: TradeRequest) {
  const basket = basketOf(service, request.ticker, 400);
  const account = await service.accounts.of(request.owner);
  const draftOf = request.side === 'buy' ? draftBuy : draftSell;
  const draft = await refuseSurely(service, (block) =>
    draftOf(service, basket, account, request, block),
  );
  const { session } = draft;
  const action: Action = {
    account,
    key: request.key,
    kind: draft.kind,
    vault: basket.vault,
    amount: draft.amount,
    limit: draft.limit,
    slippageBps: draft.slippageBps,
    data: encodeSwaps(draft.swaps),
    nonce: service.nonces.propose(account, request.key, session.epoch),
    deadline: Math.min(session.chainTime + ACTION_LIFETIME, session.validUntil),
    fee: request.feeUsdg,
  };
  return {
    ticker: basket.ticker,
    status: sessionJson(service, session),
    action: actionToJson(action),
    typedData: actionTypedData(action, service.deployment.sessionModule),
    relayerUrl: service.urls.relayer,
    simulation: SKIPPED,
  };
}

async function draftBuy(
  service: Service,
  basket: Basket,
  account: Address,
  request: TradeRequest,
  block: BlockId,
): Promise<Draft> {
  const { client, deployment, marks } = service;
  const mark = marks.markOf(basket);
  const budget = request.amountUsdg ?? 0n;
  const batch = new ReadBatch();
  const reading = planSession(batch, service, request.owner, request.key, account);
  const quoted = mark.reference.ok
    ? planBuy(batch, service, basket, mark, mark.reference.nav, request, budget)
    : null;
  await batch.send(client, deployment.multicall3, block);

  const session = reading();
  const allowed = checkSession(session, request);
  if (allowed.tag === 'refused') throwRefusal(allowed);
  const { reference } = referenceOf(basket, mark);
  if (quoted === null) throw new Error('a valid reference without a quote');
  // The default depends on the grant: where the guess below missed it, quote again at the right one.
  const { slippageBps } = allowed;
  const quote =
    slippageBps === guessedSlippage(request)
      ? quoted()
      : await requote(service, basket, mark, reference, slippageBps, budget);
  if (quote.tag === 'no_route') throw noRoute(basket, quote);
  const checked = checkBuy(session, {
    budget,
    shares: quote.shares,
    allIn: quote.allIn,
    reference,
    slippageBps,
    feeUsdg: request.feeUsdg,
  });
  if (checked.tag === 'refused') throwRefusal(checked);
  return {
    session,
    kind: ACTION_KIND.buy,
    amount: quote.shares,
    limit: checked.limit,
    swaps: quote.swaps,
    slippageBps,
  };
}

function guessedSlippage(request: TradeRequest): number {
  return request.slippageBps ?? 50;
}

function planBuy(
  batch: ReadBatch,
  service: Service,
  basket: Basket,
  mark: BasketMark,
  reference: bigint,
  request: TradeRequest,
  budget: bigint,
) {
  return planSizedBuy(batch, service, basket, mark, reference, guessedSlippage(request), budget);
}

async function requote(
  service: Service,
  basket: Basket,
  mark: BasketMark,
  reference: bigint,
  slippageBps: number,
  budget: bigint,
) {
  const batch = new ReadBatch();
  const quoted = planSizedBuy(batch, service, basket, mark, reference, slippageBps, budget);
  await batch.send(service.client, service.deployment.multicall3);
  return quoted();
}

/**
 * As many shares as leave the whole tolerance to the market: at the reference, or at the quotes where these are
 * cheaper than the reference.
 */
function planSizedBuy(
  batch: ReadBatch,
  service: Service,
  basket: Basket,
  mark: BasketMark,
  reference: bigint,
  slippageBps: number,
  budget: bigint,
) {
  const least = sharesWithin(budget, reference, slippageBps);
  const sizes = [least, plusBps(least, 100n), plusBps(least, 400n)];
  const quotable = mulDivDown(budget, 10_000n, 10_000n + BigInt(slippageBps));
  return planExactBuy(
    batch,
    service.deployment,
    basket,
    { feeIndex: mark.feeIndex, spotNav: mark.nav },
    sizes,
    buyGrossWithin(quotable),
  );
}

async function draftSell(
  service: Service,
  basket: Basket,
  account: Address,
  request: TradeRequest,
  block: BlockId,
): Promise<Draft> {
  const { client, deployment, marks } = service;
  const mark = marks.markOf(basket);
  const shares = request.shares ?? 0n;
  const batch = new ReadBatch();
  const reading = planSession(batch, service, request.owner, request.key, account);
  const holding = batch.add({
    to: basket.vault,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [account],
  });
  const quoted = planSell(
    batch,
    deployment,
    basket,
    { feeIndex: mark.feeIndex, spotNav: mark.nav },
    shares,
  );
  await batch.send(client, deployment.multicall3, block);

  const session = reading();
  const allowed = checkSession(session, request);
  if (allowed.tag === 'refused') throwRefusal(allowed);
  const { reference, spot } = referenceOf(basket, mark);
  const held = required(holding, 'the balance of shares');
  const holds = checkHolding(shares, held);
  if (holds !== null) throwRefusal(holds);
  const quote = quoted();
  if (quote.tag === 'no_route') throw noRoute(basket, quote);
  const { slippageBps } = allowed;
  const checked = checkSell(session, {
    shares,
    held,
    gross: quote.gross,
    net: quote.net,
    reference,
    spot,
    slippageBps,
    feeUsdg: request.feeUsdg,
  });
  if (checked.tag === 'refused') throwRefusal(checked);
  return {
    session,
    kind: ACTION_KIND.sell,
    amount: shares,
    limit: checked.limit,
    swaps: quote.swaps,
    slippageBps,
  };
}
