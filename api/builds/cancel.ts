/** Takes an open order or schedule back: everything in escrow returns to its owner (IOrderEscrow.cancel). */
import { type Address, encodeFunctionData, type Hex, isAddressEqual, zeroAddress } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { ApiError } from '../../runtime/errors.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import type { Simulation } from '../chain/dry-run.ts';
import { refuseSurely } from '../chain/newest-block.ts';
import { type BlockId, optional, type Pending, ReadBatch } from '../../runtime/chain/read-batch.ts';
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
  const { escrow } = request;
  const escrows = escrowsOf(service.deployment);
  if (escrow !== undefined && !escrows.some((each) => isAddressEqual(each, escrow))) {
    throw new ApiError('BAD_REQUEST', 'escrow: not an order escrow of this service');
  }
  const indexed = await service.orders.find(request.orderId);
  return await refuseSurely(service, (block) => buildAt(service, request, indexed, block));
}

async function buildAt(
  service: Service,
  request: CancelRequest,
  indexed: Order | null,
  block: BlockId,
): Promise<CancelPlan> {
  const { client, deployment, indexer } = service;
  const { orderId, address } = request;
  const escrows = escrowsOf(deployment);
  const named = request.escrow ?? indexed?.escrow;

  const batch = new ReadBatch();
  const answers = (named === undefined ? escrows : [named]).map((escrow) =>
    ask(batch, escrow, orderId),
  );
  const seen = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3, block);
  const chainBlock = seen();
  const found = answers.find(({ state }) => state() !== 'none') ?? answers[0];
  if (found === undefined || (named === undefined && found.state() === 'none')) {
    throw new ApiError('NOT_FOUND', 'this order is not in the index: pass its escrow');
  }
  const { escrow } = found;
  // Where the chain stands below the index, its rows may be of blocks that are gone.
  const isAhead = indexer.current && indexer.height > chainBlock.number;
  const isOfEscrow = indexed !== null && isAddressEqual(indexed.escrow, escrow);
  refuseUnlessOpen(found.state(), isAhead && isOfEscrow ? indexed : null, block);

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
    block: chainBlock,
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

/**
 * The chain's word first; what it does not know yet, the index may. What that says alone is asked of the newest block:
 * where no node has it, the order is not refused for good.
 * @param later what an index that has read on from the block says of the order; null: nothing.
 */
function refuseUnlessOpen(state: OrderState, later: Order | null, block: BlockId): void {
  if (state === 'none' && later === null) {
    throw new ApiError('NOT_FOUND', 'this escrow knows no such order');
  }
  const isClosed = state !== 'none' && state !== 'open';
  const ended = isClosed ? state : (later?.closedAs ?? null);
  if (ended === null) return;
  if (!isClosed && block !== 'latest') {
    throw new ApiError('UPSTREAM', 'the chain answers from before the end of this order: retry');
  }
  throw new ApiError('ORDER_NOT_OPEN', `the order is ${ended} already`, { status: 409 });
}
