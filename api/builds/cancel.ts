/** Takes an open order back: everything in escrow returns to its owner (IOrderEscrow.cancel). */
import { type Address, encodeFunctionData, isAddressEqual, zeroAddress } from 'viem';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { ApiError } from '../../runtime/errors.ts';
import type { Simulation } from '../chain/dry-run.ts';
import { optional, ReadBatch } from '../chain/read-batch.ts';
import { isEscrow, type Order, planState } from '../orders/order-index.ts';
import type { CancelRequest } from '../schemas/transactions.ts';
import type { Service } from '../service.ts';
import { finishPlan, type Plan } from './plan.ts';

export type CancelPlan = Plan;

const NOT_SIMULATED: Simulation = {
  ok: null,
  skipped: 'give address, the owner of the order, to simulate',
};

/**
 * @throws ApiError BAD_REQUEST for an escrow that is none, NOT_FOUND for an order not in the index (pass escrow),
 * ORDER_NOT_OPEN (409) once it is filled, cancelled or expired and sent back, UPSTREAM.
 */
export async function buildCancel(service: Service, request: CancelRequest): Promise<CancelPlan> {
  const { client, deployment, orders } = service;
  const { orderId, address } = request;
  if (request.escrow !== undefined && !isEscrow(deployment, request.escrow)) {
    throw new ApiError('BAD_REQUEST', 'escrow: not an order escrow of this service');
  }
  const indexed = await orders.find(orderId);
  const escrow = request.escrow ?? indexed?.escrow;
  if (escrow === undefined) {
    throw new ApiError('NOT_FOUND', 'this order is not in the index: pass its escrow');
  }

  const batch = new ReadBatch();
  const state = planState(batch, escrow, orderId);
  const owner = batch.add({
    to: escrow,
    abi: exitEscrowAbi,
    functionName: 'ownerOf',
    args: [orderId],
  });
  await batch.send(client, deployment.multicall3);
  refuseUnlessOpen(state(), indexed, escrow);

  const data = encodeFunctionData({ abi: exitEscrowAbi, functionName: 'cancel', args: [orderId] });
  const holder = optional(owner) ?? zeroAddress;
  const stranger = address !== undefined && holder !== zeroAddress && address !== holder;
  const plan = await finishPlan(service, {
    from: address ?? zeroAddress,
    tx: { to: escrow, data },
    approval: null,
    simulate: request.simulate && address !== undefined,
    // Not read: a cancel moves no ETH, and its warning belongs to trades.
    eth: 1n,
    warnings: [stranger ? 'only the owner of the order can cancel it: address is not' : null],
  });
  const skipped = request.simulate && address === undefined;
  return skipped ? { ...plan, simulation: NOT_SIMULATED } : plan;
}

/** The chain's word first; what it does not know yet, the index may. */
function refuseUnlessOpen(
  state: ReturnType<ReturnType<typeof planState>>,
  indexed: Order | null,
  escrow: Address,
): void {
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
