/** Reads what arming depends on from the escrow, and what a mined fill paid from its receipt. */
import { type Address, type Hex, type PublicClient, parseEventLogs } from 'viem';
import { NAV_SCALE, SHARE, USD } from '../../contracts-abi/constants.ts';
import { exitEscrowAbi, limitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { mulDivUp } from '../../contracts-abi/rounding.ts';
import type { EscrowKind } from '../firewall/known-protocol.ts';
import type { AuctionTerms } from '../policy/arming.ts';
import { within } from './deadline.ts';
import { rpcFaultOf } from './rpc-fault.ts';

export type OrderReader = {
  /** The auction terms of an order, or null when the chain does not answer. */
  auctionTerms(kind: EscrowKind, escrow: Address, id: Hex): Promise<AuctionTerms | null>;
  receipt(hash: Hex): Promise<ReceiptRead>;
};

type ReceiptRead =
  | { tag: 'receipt'; logs: Parameters<typeof parseEventLogs>[0]['logs'] }
  | { tag: 'unavailable'; why: string };

export function createOrderReader(client: PublicClient, timeoutMs: number): OrderReader {
  return {
    async auctionTerms(kind, escrow, id) {
      try {
        if (kind === 'exit') {
          const read = client.readContract({
            address: escrow,
            abi: exitEscrowAbi,
            functionName: 'orderOf',
            args: [id],
          });
          const { armedAt, terms } = await within(read, timeoutMs, 'orderOf');
          // As FillPricing.exitFloor: shares x NAV, in USDG, rounded up.
          const hardFloorGross = mulDivUp(
            terms.shares,
            terms.hardFloorNav,
            (SHARE * NAV_SCALE) / USD,
          );
          return { ...auctionOf(armedAt, terms), hardFloorGross };
        }
        const read = client.readContract({
          address: escrow,
          abi: limitEscrowAbi,
          functionName: 'orderOf',
          args: [id],
        });
        const { armedAt, terms } = await within(read, timeoutMs, 'orderOf');
        return { ...auctionOf(armedAt, terms), hardFloorGross: 0n };
      } catch {
        // Expected: the chain is out of reach. Without the terms nothing is armed; the next try reads again.
        return null;
      }
    },
    async receipt(hash) {
      try {
        const { logs } = await within(
          client.getTransactionReceipt({ hash }),
          timeoutMs,
          'the receipt',
        );
        return { tag: 'receipt', logs };
      } catch (error) {
        const fault = rpcFaultOf(error);
        return { tag: 'unavailable', why: fault.tag === 'unavailable' ? fault.why : fault.tag };
      }
    },
  };
}

function auctionOf(
  armedAt: number,
  terms: { slippageBps: number; capBps: number; deadline: number },
) {
  return {
    armedAt: BigInt(armedAt),
    slippageBps: BigInt(terms.slippageBps),
    capBps: BigInt(terms.capBps),
    deadline: BigInt(terms.deadline),
  };
}

/** The executor fee that OrderFilled of this order reports to us, or null when the logs hold no such event. */
export function feeFromLogs(
  logs: Parameters<typeof parseEventLogs>[0]['logs'],
  escrow: Address,
  id: Hex,
  executor: Address,
): bigint | null {
  const filled = parseEventLogs({ abi: exitEscrowAbi, eventName: 'OrderFilled', logs }).find(
    (log) =>
      log.address.toLowerCase() === escrow.toLowerCase() &&
      log.args.id === id &&
      log.args.executor.toLowerCase() === executor.toLowerCase(),
  );
  return filled?.args.executorFee ?? null;
}
