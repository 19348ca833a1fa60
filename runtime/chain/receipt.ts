/** What a mined transaction moved and cost, from its receipt. */
import { type Address, erc20Abi, type Hex, type PublicClient, parseEventLogs } from 'viem';
import { within } from '../deadline.ts';
import { faultLine } from '../fault-line.ts';

export type Logs = Parameters<typeof parseEventLogs>[0]['logs'];

type ReceiptRead =
  /** `gasL1`: of `gasUsed`, what paid for data on L1; null where the chain does not tell. */
  { tag: 'receipt'; logs: Logs; gasL1: bigint | null } | { tag: 'unavailable'; why: string };

export type ReceiptReader = (hash: Hex) => Promise<ReceiptRead>;

/** The reader never throws: a chain out of reach is a receipt to be read later. */
export function createReceiptReader(client: PublicClient, timeoutMs: number): ReceiptReader {
  return async (hash) => {
    try {
      const reading = client.getTransactionReceipt({ hash });
      const receipt = await within(reading, timeoutMs, 'the receipt');
      return { tag: 'receipt', logs: receipt.logs, gasL1: gasForL1(receipt) };
    } catch (error) {
      return { tag: 'unavailable', why: faultLine(error) };
    }
  };
}

/** Arbitrum receipts tell how much of `gasUsed` paid for the data on L1; null on a chain that does not. */
function gasForL1(receipt: object): bigint | null {
  const told = 'gasUsedForL1' in receipt ? receipt.gasUsedForL1 : null;
  if (typeof told === 'bigint') return told;
  return typeof told === 'string' && /^0x[0-9a-f]{1,16}$/i.test(told) ? BigInt(told) : null;
}

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
