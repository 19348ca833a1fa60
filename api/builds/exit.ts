/** A stop-loss, a take-profit or both in one order over escrowed shares (IExitEscrow). */
import { encodeFunctionData } from 'viem';
import { MIN_ORDER, MIN_ORDER_LIFETIME, SELL_FEE_BPS } from '../../contracts-abi/constants.ts';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { executorFee } from '../../contracts-abi/fill-pricing.ts';
import { bpsUp, formatDecimal, mulDivDown } from '../../contracts-abi/rounding.ts';
import { ApiError } from '../../runtime/errors.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import { refuseSurely } from '../chain/newest-block.ts';
import { type BlockId, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { BasketMark } from '../marks/snapshot.ts';
import { NAV_PER_USDG } from '../../runtime/quotes/basket-quote.ts';
import type { ExitRequest } from '../schemas/transactions.ts';
import { basketOf, type Service } from '../service.ts';
import { approvalFor, type Fees, finishPlan, NO_FEES, type Plan, planFunding } from './plan.ts';
import { insufficientShares, requireOrders, restsWhilePaused } from './refusals.ts';

export const DAY_SECONDS = 86_400;

export type ExitKind = 'stop_loss' | 'take_profit' | 'bracket';
export type ExitPlan = Plan & { kind: ExitKind; deadline: number };

/** Zero is none. */
export function exitKind(stopNav: bigint, tpNav: bigint): ExitKind {
  if (stopNav !== 0n && tpNav !== 0n) return 'bracket';
  return stopNav === 0n ? 'take_profit' : 'stop_loss';
}

/** Words for a trigger that holds already; null while it does not. */
function firesAtOnce(mark: BasketMark, stopNav: bigint, tpNav: bigint): string | null {
  if (!mark.reference.ok) return null;
  const { nav } = mark.reference;
  const now = `the 10-minute average NAV is ${formatDecimal(nav, 18)}`;
  if (stopNav !== 0n && nav <= stopNav) return `the stop would fire at once: ${now}`;
  if (tpNav !== 0n && nav >= tpNav) return `the take-profit would fire at once: ${now}`;
  return null;
}

/** Of a fill at this NAV: the dearest of the order's triggers, as fees grow with the proceeds. */
function feesAt(shares: bigint, nav: bigint): Fees {
  const gross = mulDivDown(shares, nav, NAV_PER_USDG);
  return {
    ...NO_FEES,
    sellUsdg: bpsUp(gross, SELL_FEE_BPS).toString(),
    executorUsdg: executorFee(gross).toString(),
  };
}

/** @throws ApiError UNKNOWN_BASKET, NO_REFERENCE, INSUFFICIENT_SHARES, BAD_REQUEST below $5, UPSTREAM. */
export async function buildExit(service: Service, request: ExitRequest): Promise<ExitPlan> {
  return await refuseSurely(service, (block) => buildAt(service, request, block));
}

async function buildAt(service: Service, request: ExitRequest, block: BlockId): Promise<ExitPlan> {
  const { client, deployment, marks, balances } = service;
  const { address, shares } = request;
  const stopNav = request.stopNav ?? 0n;
  const tpNav = request.tpNav ?? 0n;
  const basket = basketOf(service, request.ticker, 400);
  const mark = marks.markOf(basket);
  const rests = requireOrders(basket, mark);

  const batch = new ReadBatch();
  const funding = planFunding(batch, service, basket.vault, address, deployment.exitEscrow);
  const seen = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3, block);

  const balance = required(funding.balance, 'the balance of shares');
  balances.saw(basket.vault, address, balance);
  if (balance < shares) throw insufficientShares(balance, shares);
  const nav = mark.reference.ok ? mark.reference.nav : mark.nav;
  if (nav !== null && mulDivDown(shares, nav, NAV_PER_USDG) < MIN_ORDER) {
    throw new ApiError('BAD_REQUEST', 'shares: an order needs shares worth at least 5 dollars');
  }
  const chainBlock = seen();
  const deadline = chainBlock.time + request.expiryDays * DAY_SECONDS;
  const data = encodeFunctionData({
    abi: exitEscrowAbi,
    functionName: 'create',
    args: [
      {
        vault: basket.vault,
        shares,
        stopNav,
        tpNav,
        hardFloorNav: 0n,
        // Zero asks the escrow for its own: 100 bps, widening to 500 once armed.
        slippageBps: 0,
        capBps: 0,
        deadline,
      },
    ],
  });
  const plan = await finishPlan(service, {
    from: address,
    tx: { to: deployment.exitEscrow, data },
    approval: approvalFor(funding, deployment.exitEscrow, shares),
    simulate: request.simulate,
    eth: required(funding.eth, 'the ETH balance'),
    warnings: [rests, restsWhilePaused(marks.snapshot()), firesAtOnce(mark, stopNav, tpNav)],
    block: chainBlock,
    // An order that would live less than an hour is not accepted.
    expiresAt: deadline - Number(MIN_ORDER_LIFETIME),
    fees: feesAt(shares, tpNav === 0n ? stopNav : tpNav),
  });
  return { ...plan, kind: exitKind(stopNav, tpNav), deadline };
}
