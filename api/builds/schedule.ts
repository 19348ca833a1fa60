/** A prefunded series of equal buys over escrowed USDG: Subscribe or TWAP (IScheduleEscrow). */
import { encodeFunctionData } from 'viem';
import {
  MAX_SCHEDULE_LIFETIME,
  MIN_ORDER,
  MIN_SCHEDULE_INTERVAL,
} from '../../contracts-abi/constants.ts';
import { scheduleEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { ApiError } from '../../runtime/errors.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { ScheduleRequest } from '../schemas/transactions.ts';
import { basketOf, type Service } from '../service.ts';
import { buyOrderFees } from './limit.ts';
import { approvalFor, finishPlan, type Plan, planFunding, usdgShortfall } from './plan.ts';
import { requireOrders, restsWhilePaused } from './refusals.ts';

export type ScheduleKind = 'subscribe' | 'twap';
export type SchedulePlan = Plan & {
  kind: ScheduleKind;
  /** All buys together, USDG base units: what is escrowed. */
  totalUsdg: string;
  everySeconds: number;
  /** Unix seconds at which the last slot would close, were it mined at once. */
  deadline: number;
  note: string;
};

/** IScheduleEscrow.Kind, in its order. */
const KINDS: readonly ScheduleKind[] = ['subscribe', 'twap'];

const NOTE =
  'all buys are escrowed now; the first is due as soon as the transaction is mined, each further one an interval later. A slot that nobody fills is skipped, and its USDG comes back at the end. Each buy is all-in: the swaps, the 0.20% mint fee and the executor fee of max($0.25, 0.15%), at most 1%, come out of it. Cancel at any time to take back what is left.';

/** @throws ApiError UNKNOWN_BASKET, NO_REFERENCE, BAD_REQUEST below $5 a buy or outside of the escrow's times, UPSTREAM. */
export async function buildSchedule(
  service: Service,
  request: ScheduleRequest,
): Promise<SchedulePlan> {
  const { client, deployment, marks } = service;
  const { address, amountUsdg, buys, everyHours: everySeconds, kind } = request;
  const basket = basketOf(service, request.ticker, 400);
  const rests = requireOrders(basket, marks.markOf(basket));
  refuseTerms(request);
  const total = amountUsdg * BigInt(buys);

  const batch = new ReadBatch();
  const funding = planFunding(batch, service, deployment.usdg, address, deployment.scheduleEscrow);
  const seen = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3);

  const block = seen();
  const data = encodeFunctionData({
    abi: scheduleEscrowAbi,
    functionName: 'create',
    args: [
      {
        kind: KINDS.indexOf(kind),
        vault: basket.vault,
        total,
        slots: buys,
        interval: everySeconds,
        // Zero: the moment it is mined, so that an approval may take its time.
        startAt: 0,
        // Zero asks the escrow for its own: 100 bps, widening to 500 once armed.
        slippageBps: request.slippageBps ?? 0,
        capBps: 0,
      },
    ],
  });
  const plan = await finishPlan(service, {
    from: address,
    tx: { to: deployment.scheduleEscrow, data },
    approval: approvalFor(funding, deployment.scheduleEscrow, total),
    simulate: request.simulate,
    eth: required(funding.eth, 'the ETH balance'),
    warnings: [
      rests,
      restsWhilePaused(marks.snapshot()),
      usdgShortfall(required(funding.balance, 'the USDG balance'), total),
    ],
    block,
    expiresAt: null,
    fees: buyOrderFees(amountUsdg, BigInt(buys)),
  });
  return {
    ...plan,
    kind,
    totalUsdg: total.toString(),
    everySeconds,
    deadline: block.time + buys * everySeconds,
    note: NOTE,
  };
}

/** What the escrow would revert with BelowMinimum and BadTerms. */
function refuseTerms({ amountUsdg, buys, everyHours: everySeconds }: ScheduleRequest): void {
  if (amountUsdg < MIN_ORDER) {
    throw new ApiError('BAD_REQUEST', 'amountUsdg: each buy needs at least 5 dollars');
  }
  if (BigInt(everySeconds) < MIN_SCHEDULE_INTERVAL) {
    throw new ApiError('BAD_REQUEST', 'everyHours: an interval is at least ten minutes');
  }
  if (BigInt(buys) * BigInt(everySeconds) > MAX_SCHEDULE_LIFETIME) {
    throw new ApiError('BAD_REQUEST', 'buys: a schedule runs for at most 365 days in all');
  }
}
