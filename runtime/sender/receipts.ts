/** Reads receipts of an entry's attempts in one request and tells them apart. */
import type { Hex } from 'viem';
import { quantity } from './classify.ts';
import { type Entry, liveAttempts, type Receipt } from './entry.ts';
import type { Rpc, RpcAnswer } from './rpc.ts';

export type ReceiptView =
  | { tag: 'found'; receipt: Receipt }
  /** Every attempt was asked for and none has a receipt. */
  | { tag: 'none' }
  /** Not all answers came: nothing may be concluded. */
  | { tag: 'unknown' };

/** One request for all attempts of all entries, in the order of the entries. */
export async function readReceipts(
  rpc: Rpc,
  entries: readonly Entry[],
): Promise<readonly ReceiptView[]> {
  const hashes = entries.map((entry) => liveAttempts(entry).map(({ hash }) => hash));
  const answers = await rpc.batch(hashes.flat().map(receiptCall));
  let at = 0;
  return hashes.map((own) => {
    const mine = answers.slice(at, at + own.length);
    at += own.length;
    return view(mine, own.length);
  });
}

export function receiptCall(hash: Hex) {
  return { method: 'eth_getTransactionReceipt', params: [hash] };
}

function view(answers: readonly RpcAnswer[], expected: number): ReceiptView {
  let unknown = answers.length < expected;
  for (const answer of answers) {
    if (answer.tag !== 'result') unknown = true;
    else if (answer.result !== null) {
      const receipt = readReceipt(answer.result);
      if (receipt) return { tag: 'found', receipt };
      unknown = true;
    }
  }
  return unknown ? { tag: 'unknown' } : { tag: 'none' };
}

/** A receipt's fields, or null when something is missing (nodes answer pending ones with a null block). */
export function readReceipt(value: unknown): Receipt | null {
  if (typeof value !== 'object' || value === null) return null;
  const fields = value as Record<string, unknown>;
  const blockNumber = quantity(fields['blockNumber']);
  const gasUsed = quantity(fields['gasUsed']);
  const status = quantity(fields['status']);
  const { transactionHash, blockHash } = fields;
  if (blockNumber === null || gasUsed === null || status === null) return null;
  if (typeof transactionHash !== 'string' || typeof blockHash !== 'string') return null;
  return {
    hash: transactionHash as Hex,
    success: status === 1n,
    blockNumber,
    blockHash: blockHash as Hex,
    gasUsed,
    effectiveGasPrice: quantity(fields['effectiveGasPrice']) ?? 0n,
  };
}
