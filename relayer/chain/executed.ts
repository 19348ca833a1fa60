/** Who used a nonce: the session module's `Executed` events. */
import { type Address, getAbiItem, type Hex, type PublicClient } from 'viem';
import { sessionModuleAbi } from '../../contracts-abi/generated/index.ts';

export type Execution = { hash: Hex; digest: Hex; blockNumber: bigint };

const executedEvent = getAbiItem({ abi: sessionModuleAbi, name: 'Executed' });

/**
 * The execution that used `nonce`, searched over the last `lookback` blocks and not before `startBlock`; null when it
 * is older or the node does not serve that range.
 */
export async function findExecution(
  client: PublicClient,
  sessionModule: Address,
  action: { account: Address; key: Address; nonce: bigint },
  range: { lookback: bigint; startBlock: bigint },
): Promise<Execution | null> {
  try {
    const head = await client.getBlockNumber();
    const from = head > range.lookback ? head - range.lookback : 0n;
    const logs = await client.getLogs({
      address: sessionModule,
      event: executedEvent,
      args: { account: action.account, key: action.key },
      fromBlock: from > range.startBlock ? from : range.startBlock,
      toBlock: head,
      strict: true,
    });
    const log = logs.find(({ args }) => args.nonce === action.nonce);
    if (log === undefined) return null;
    return { hash: log.transactionHash, digest: log.args.digest, blockNumber: log.blockNumber };
  } catch {
    // Expected: providers cap ranges and prune; that the nonce is used is known without the hash.
    return null;
  }
}
