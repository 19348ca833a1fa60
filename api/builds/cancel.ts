/** Takes an open order or schedule back: everything in escrow returns to its owner (IOrderEscrow.cancel). */
import { type Address, encodeFunctionData, type Hex, isAddressEqual, zeroAddress } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { ApiError } from '../../runtime/errors.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import type { Simulation } from '../chain/dry-run.ts';
import { optional, type Pending, ReadBatch } from '../../runtime/chain/read-batch.ts';
import { type Order, type OrderState, planState } from '../orders/order-index.ts';
import type { CancelRequest } from '../schemas/transactions.ts';
import type { Service } from '../service.ts';
import { finishPlan, NO_FEES, type Plan } from './plan.ts';

export type CancelPlan = Plan;

const NOT_SIMULATED: Simulation = {
  ok: null,
  skipped: 'give address, the owner of the order, to simulate',
};

/** What one escrow says of the order. */
type Answer = { escrow: Address; state: () => OrderState; owner: Pending<Address> };

/**
 * One aggregated read. An order that the index has not seen yet is looked for in every escrow.
 * @throws ApiError BAD_REQUEST for an escrow that is none, NOT_FOUND for an order that neither the index nor an escrow
 * knows (pass escrow), ORDER_NOT_OPEN (409) once it is filled, cancelled or expired and sent back, UPSTREAM.
 */
export async function buildCancel(service: Service, request: CancelRequest): Promise<CancelPlan> {
  const { client, deployment, orders } = service;
  const { orderId, address } = request;
  const escrows = escrowsOf(deployment);
  const given = request.escrow;
  if (given !== undefined && !escrows.some((each) => isAddressEqual(each, given))) {
    throw new ApiError('BAD_REQUEST', 'escrow: not an order escrow of this service');
  }
  const indexed = await orders.find(orderId);
  const named = given ?? indexed?.escrow;

  const batch = new ReadBatch();
  const answers = (named === undefined ? escrows : [named]).map((escrow) =>
    ask(batch, escrow, orderId),
  );
  const seen = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3);
  const found = answers.find(({ state }) => state() !== 'none') ?? answers[0];
  if (found === undefined || (named === undefined && found.state() === 'none')) {
    throw new ApiError('NOT_FOUND', 'this order is not in the index: pass its escrow');
  }
  const { escrow } = found;
  refuseUnlessOpen(found.state(), indexed, escrow);

  const data = encodeFunctionData({ abi: exitEscrowAbi, functionName: 'cancel', args: [orderId] });
  const holder = optional(found.owner) ?? zeroAddress;
  const stranger =
    address !== undefined && holder !== zeroAddress && !isAddressEqual(address, holder);
  const plan = await finishPlan(service, {
    from: address ?? zeroAddress,
    tx: { to: escrow, data },
    approval: null,
    simulate: request.simulate && address !== undefined,
    eth: null,
    warnings: [stranger ? 'only the owner of the order can cancel it: address is not' : null],
    block: seen(),
    expiresAt: null,
    fees: NO_FEES,
  });
  const skipped = request.simulate && address === undefined;
  return skipped ? { ...plan, simulation: NOT_SIMULATED } : plan;
}

/** All of them answer as IOrderEscrow. */
function escrowsOf(deployment: Deployment): readonly Address[] {
  return [deployment.exitEscrow, deployment.limitEscrow, deployment.scheduleEscrow];
}

function ask(batch: ReadBatch, escrow: Address, orderId: Hex): Answer {
  return {
    escrow,
    state: planState(batch, escrow, orderId),
    owner: batch.add({
      to: escrow,
      abi: exitEscrowAbi,
      functionName: 'ownerOf',
      args: [orderId],
    }),
  };
}

/** The chain's word first; what it does not know yet, the index may. */
function refuseUnlessOpen(state: OrderState, indexed: Order | null, escrow: Address): void {
  const known = indexed !== null && isAddressEqual(indexed.escrow, escrow);
  if (state === 'none' && !known) {
    throw new ApiError('NOT_FOUND', 'this escrow knows no such order');
  }
  const indexedEnd = known ? indexed.closedAs : null;
  const ended = state === 'none' || state === 'open' ? indexedEnd : state;
  if (ended !== null) {
    throw new ApiError('ORDER_NOT_OPEN', `the order is ${ended} already`, { status: 409 });
  }
}
