/** A resting buy over escrowed USDG (ILimitEscrow). */
import { encodeFunctionData } from 'viem';
import { MIN_ORDER, MIN_ORDER_LIFETIME } from '../../contracts-abi/constants.ts';
import { limitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { executorFee, limitGrossWithin, mintFee } from '../../contracts-abi/fill-pricing.ts';
import { formatDecimal } from '../../contracts-abi/rounding.ts';
import { ApiError } from '../../runtime/errors.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { BasketMark } from '../marks/snapshot.ts';
import type { LimitRequest } from '../schemas/transactions.ts';
import { basketOf, type Service } from '../service.ts';
import { DAY_SECONDS } from './exit.ts';
import {
  approvalFor,
  type Fees,
  finishPlan,
  NO_FEES,
  type Plan,
  planFunding,
  usdgShortfall,
} from './plan.ts';
import { requireOrders, restsWhilePaused } from './refusals.ts';

export type LimitPlan = Plan & { note: string; deadline: number };

const NOTE =
  'amountUsdg is all-in: the swaps, the 0.20% mint fee and the executor fee of max($0.25, 0.15%), at most 1%, come out of it; what is left goes back to you. The USDG is escrowed until the order fills or you cancel it.';

function fillsAtOnce(mark: BasketMark, triggerNav: bigint): string | null {
  if (!mark.reference.ok || triggerNav === 0n || mark.reference.nav > triggerNav) return null;
  const nav = formatDecimal(mark.reference.nav, 18);
  return `the order would fill at once: the 10-minute average NAV is ${nav}`;
}

/** Of so many fills of `budget` each, every one all-in. */
export function buyOrderFees(budget: bigint, fills: bigint): Fees {
  const gross = limitGrossWithin(budget);
  return {
    ...NO_FEES,
    mintUsdg: (mintFee(gross) * fills).toString(),
    executorUsdg: (executorFee(gross) * fills).toString(),
  };
}

/** @throws ApiError UNKNOWN_BASKET, NO_REFERENCE, BAD_REQUEST below $5, UPSTREAM. */
export async function buildLimit(service: Service, request: LimitRequest): Promise<LimitPlan> {
  const { client, deployment, marks } = service;
  const { address, amountUsdg } = request;
  const triggerNav = request.triggerNav ?? 0n;
  const basket = basketOf(service, request.ticker, 400);
  const mark = marks.markOf(basket);
  const rests = requireOrders(basket, mark);
  if (amountUsdg < MIN_ORDER) {
    throw new ApiError('BAD_REQUEST', 'amountUsdg: an order needs at least 5 dollars');
  }

  const batch = new ReadBatch();
  const funding = planFunding(batch, service, deployment.usdg, address, deployment.limitEscrow);
  const seen = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3);

  const block = seen();
  const deadline = block.time + request.expiryDays * DAY_SECONDS;
  const data = encodeFunctionData({
    abi: limitEscrowAbi,
    functionName: 'create',
    // Zero asks the escrow for its own tolerance: 100 bps, widening to 500 once armed.
    args: [
      { vault: basket.vault, amount: amountUsdg, triggerNav, slippageBps: 0, capBps: 0, deadline },
    ],
  });
  const plan = await finishPlan(service, {
    from: address,
    tx: { to: deployment.limitEscrow, data },
    approval: approvalFor(funding, deployment.limitEscrow, amountUsdg),
    simulate: request.simulate,
    eth: required(funding.eth, 'the ETH balance'),
    warnings: [
      rests,
      restsWhilePaused(marks.snapshot()),
      usdgShortfall(required(funding.balance, 'the USDG balance'), amountUsdg),
      fillsAtOnce(mark, triggerNav),
    ],
    block,
    // An order that would live less than an hour is not accepted.
    expiresAt: deadline - Number(MIN_ORDER_LIFETIME),
    fees: buyOrderFees(amountUsdg, 1n),
  });
  return { ...plan, note: NOTE, deadline };
}
