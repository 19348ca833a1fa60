/** Reads what arming depends on from the escrow, and what a mined fill paid from its receipt. */
import { type Address, erc20Abi, type Hex, type PublicClient, parseEventLogs } from 'viem';
import { NAV_SCALE, SHARE, USD } from '../../contracts-abi/constants.ts';
import {
  coverMarketAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  scheduleEscrowAbi,
} from '../../contracts-abi/generated/index.ts';
import { mulDivUp } from '../../contracts-abi/rounding.ts';
import { steadyNow } from '../../runtime/clock.ts';
import type { AuctionTerms } from '../policy/arming.ts';
import type { AttemptKind, FillType } from '../work.ts';
import { within } from './deadline.ts';
import { rpcFaultOf } from './rpc-fault.ts';

export type OrderReader = {
  /** The auction terms of an order, or null when the chain does not answer. */
  auctionTerms(type: FillType, escrow: Address, id: Hex): Promise<AuctionTerms | null>;
  receipt(hash: Hex): Promise<ReceiptRead>;
  /** How many positions the cover market has sold, a while old at most; null when the chain does not answer. */
  positionCount(coverMarket: Address): Promise<bigint | null>;
};

type ReceiptRead =
  | { tag: 'receipt'; logs: Logs; gasL1: bigint | null }
  | { tag: 'unavailable'; why: string };

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
    async receipt(hash) {
      try {
        const receipt = await within(
          client.getTransactionReceipt({ hash }),
          timeoutMs,
          'the receipt',
        );
        return { tag: 'receipt', logs: receipt.logs, gasL1: gasForL1(receipt) };
      } catch (error) {
        const fault = rpcFaultOf(error);
        return { tag: 'unavailable', why: fault.tag === 'unavailable' ? fault.why : fault.tag };
      }
    },
  };
}

/** Arbitrum receipts tell how much of `gasUsed` paid for the data on L1; null on a chain that does not. */
function gasForL1(receipt: object): bigint | null {
  const told = 'gasUsedForL1' in receipt ? receipt.gasUsedForL1 : null;
  if (typeof told === 'bigint') return told;
  return typeof told === 'string' && /^0x[0-9a-f]{1,16}$/i.test(told) ? BigInt(told) : null;
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

type Logs = Parameters<typeof parseEventLogs>[0]['logs'];

/**
 * What a receipt's logs moved of `usdg` to `receiver`, less what it moved away: base units, the truth of a balance
 * whatever an event of another contract says.
 */
export function netTransfers(logs: Logs, usdg: Address, receiver: Address): bigint {
  const to = receiver.toLowerCase();
  let net = 0n;
  for (const { address, args } of parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs })) {
    if (address.toLowerCase() !== usdg.toLowerCase()) continue;
    if (args.to.toLowerCase() === to) net += args.value;
    if (args.from.toLowerCase() === to) net -= args.value;
  }
  return net;
}

/** The executor fee that OrderFilled of this order reports to us, or null when the logs hold no such event. */
export function feeTold(
  logs: Logs,
  work: { contract: Address; id: string },
  executor: Address,
): bigint | null {
  const filled = parseEventLogs({ abi: exitEscrowAbi, eventName: 'OrderFilled', logs }).find(
    ({ address, args }) =>
      address.toLowerCase() === work.contract.toLowerCase() &&
      args.id === work.id &&
      args.executor.toLowerCase() === executor.toLowerCase(),
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
