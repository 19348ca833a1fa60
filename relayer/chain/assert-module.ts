/** Whether the session module signs as we do. */
import type { PublicClient } from 'viem';
import { sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { actionDigest } from '../../contracts-abi/typed-data.ts';

/** A relayer that hashes otherwise than the module would refuse every action, or worse: find out at the start. */
export async function assertModule(
  client: PublicClient,
  sessionModule: `0x${string}`,
): Promise<void> {
  const sample = {
    account: sessionModule,
    key: sessionModule,
    kind: 1,
    vault: sessionModule,
    amount: 1n,
    limit: 2n,
    slippageBps: 3,
    data: '0x04',
    nonce: 5n,
    deadline: 6,
    fee: 7n,
  } as const;
  const digest = await client.readContract({
    address: sessionModule,
    abi: sessionModuleAbi,
    functionName: 'hashAction',
    args: [sample],
  });
  if (digest !== actionDigest(sample, sessionModule)) {
    throw new Error(`the session module at ${sessionModule} signs under another domain`);
  }
}
