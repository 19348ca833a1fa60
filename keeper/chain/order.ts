/** Reads what arming depends on from the escrow, and what a mined fill paid from its receipt. */
import { type Address, type Hex, type PublicClient, parseEventLogs } from 'viem';
import { NAV_SCALE, SHARE, USD } from '../../contracts-abi/constants.ts';
import {
  coverMarketAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  scheduleEscrowAbi,
} from '../../contracts-abi/generated/index.ts';
import { mulDivUp } from '../../contracts-abi/rounding.ts';
import { createReceiptReader, type Logs, type ReceiptReader } from '../../runtime/chain/receipt.ts';
import { steadyNow } from '../../runtime/clock.ts';
import { within } from '../../runtime/deadline.ts';
import type { AuctionTerms } from '../policy/arming.ts';
import type { AttemptKind, FillType } from '../work.ts';

export type OrderReader = {
  /** The auction terms of an order, or null when the chain does not answer. */
  auctionTerms(type: FillType, escrow: Address, id: Hex): Promise<AuctionTerms | null>;
  receipt: ReceiptReader;
  /** How many positions the cover market has sold, a while old at most; null when the chain does not answer. */
  positionCount(coverMarket: Address): Promise<bigint | null>;
};

/** A position can be paid days after it was sold: a number so old misses none that is. */
const POSITION_COUNT_MS = 60_000;

export function createOrderReader(client: PublicClient, timeoutMs: number): OrderReader {
  let counted: { count: bigint; atMs: number } | null = null;
  return {
    async auctionTerms(type, escrow, id) {
      try {
        if (type === 'sell') {
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
        if (type === 'schedule') return await slotAuction(client, escrow, id, timeoutMs);
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
    async positionCount(coverMarket) {
      if (counted !== null && steadyNow() - counted.atMs < POSITION_COUNT_MS) return counted.count;
      try {
        const read = client.readContract({
          address: coverMarket,
          abi: coverMarketAbi,
          functionName: 'positionCount',
        });
        counted = { count: await within(read, timeoutMs, 'positionCount'), atMs: steadyNow() };
        return counted.count;
      } catch {
        // Expected: the chain is out of reach. The next look asks again.
        return null;
      }
    },
    receipt: createReceiptReader(client, timeoutMs),
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

/** A slot is armed for itself: what the widening must reach, it must reach before the slot closes. */
async function slotAuction(
  client: PublicClient,
  escrow: Address,
  id: Hex,
  timeoutMs: number,
): Promise<AuctionTerms> {
  const contract = { address: escrow, abi: scheduleEscrowAbi, args: [id] } as const;
  const read = client.multicall({
    allowFailure: false,
    contracts: [
      { ...contract, functionName: 'scheduleOf' },
      { ...contract, functionName: 'slotNow' },
    ],
  });
  const [{ armedAt, terms }, [, , , closesAt]] = await within(read, timeoutMs, 'scheduleOf');
  return { ...auctionOf(armedAt, { ...terms, deadline: closesAt }), hardFloorGross: 0n };
}

/** The executor fee that OrderFilled of this order reports to us, or null when the logs hold no such event. */
export function feeTold(
  logs: Logs,
  work: { contract: Address; id: string },
  executor: Address,
): bigint | null {
  // Of all logs of a batch only those that name this order are taken apart: each member looks for its own.
  const own = logs.filter(
    ({ address, topics }) =>
      topics[1] === work.id && address.toLowerCase() === work.contract.toLowerCase(),
  );
  const filled = parseEventLogs({ abi: exitEscrowAbi, eventName: 'OrderFilled', logs: own }).find(
    ({ args }) => args.executor.toLowerCase() === executor.toLowerCase(),
  );
  return filled?.args.executorFee ?? null;
}

/**
 * Whether the logs tell that this very work was done for us: OrderFilled of the order, the event of a step, RewardPaid
 * of a payout. Always true of a foreign job, whose events nobody here knows.
 */
export function tellsOf(
  logs: Logs,
  work: { kind: AttemptKind; contract: Address; id: string },
  executor: Address,
): boolean {
  if (work.kind === 'foreign' || work.kind === 'arm') return true;
  if (work.kind === 'fill') return feeTold(logs, work, executor) !== null;
  const contract = work.contract.toLowerCase();
  const us = executor.toLowerCase();
  return parseEventLogs({
    abi: coverMarketAbi,
    eventName: ['SnapshotTaken', 'WeekSettled', 'WeekVoided', 'RewardPaid'],
    logs,
  }).some(
    ({ address, args }) => address.toLowerCase() === contract && args.executor.toLowerCase() === us,
  );
}
