/** Who used a nonce: the `Executed` events of the session module and the `CoverExecuted` events of the cover module. */
import { type Address, getAbiItem, type Hex, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { coverModuleAbi, sessionModuleAbi } from '../../contracts-abi/generated/index.ts';

export type Execution = { hash: Hex; digest: Hex; blockNumber: bigint };

const executed = getAbiItem({ abi: sessionModuleAbi, name: 'Executed' });
const coverExecuted = getAbiItem({ abi: coverModuleAbi, name: 'CoverExecuted' });

/**
 * The execution that used a nonce of a module, searched over the last `lookback` blocks and not before the protocol;
 * null when it is older or the node does not serve that range.
 */
export async function findExecution(
  client: PublicClient,
  deployment: Pick<Deployment, 'startBlock' | 'coverModule'>,
  id: { module: Address; account: Address; nonce: bigint },
  lookback: bigint,
): Promise<Execution | null> {
  try {
    const head = await client.getBlockNumber();
    const start = BigInt(deployment.startBlock);
    const from = head > lookback ? head - lookback : 0n;
    const range = {
      address: id.module,
      args: { account: id.account },
      fromBlock: from > start ? from : start,
      toBlock: head,
      strict: true,
    } as const;
    const logs =
      id.module === deployment.coverModule
        ? await client.getLogs({ ...range, event: coverExecuted })
        : await client.getLogs({ ...range, event: executed });
    const log = logs.find(({ args }) => args.nonce === id.nonce);
    if (log === undefined) return null;
    return { hash: log.transactionHash, digest: log.args.digest, blockNumber: log.blockNumber };
  } catch {
    // Expected: providers cap ranges and prune; that the nonce is used is known without the hash.
    return null;
  }
}
