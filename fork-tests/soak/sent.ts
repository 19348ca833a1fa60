/** Everything that a wallet sent, as the chain has it. */
import { type Address, isAddressEqual } from 'viem';
import type { ChainClient } from '../chain/client.ts';

export type Sent = {
  count: number;
  /** Transfers of nothing to itself: nonces that were given back. */
  cancels: number;
  reverted: number;
  /** Wei of all of it, and of what was neither a cancel nor a revert. */
  gasWei: bigint;
  executedWei: bigint;
};

/** By every block from `fromBlock` on. */
export async function readSent(
  client: ChainClient,
  wallet: Address,
  fromBlock: bigint,
): Promise<Sent> {
  const sent: Sent = { count: 0, cancels: 0, reverted: 0, gasWei: 0n, executedWei: 0n };
  const head = await client.getBlockNumber();
  for (let number = fromBlock; number <= head; number += 1n) {
    const { transactions } = await client.getBlock({
      blockNumber: number,
      includeTransactions: true,
    });
    for (const { hash, from, to } of transactions) {
      if (!isAddressEqual(from, wallet)) continue;
      const receipt = await client.getTransactionReceipt({ hash });
      const wei = receipt.gasUsed * receipt.effectiveGasPrice;
      const isCancel = to !== null && isAddressEqual(to, wallet);
      sent.count += 1;
      sent.gasWei += wei;
      if (isCancel) sent.cancels += 1;
      else if (receipt.status === 'success') sent.executedWei += wei;
      else sent.reverted += 1;
    }
  }
  return sent;
}
