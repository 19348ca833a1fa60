/** A relayer that hashes otherwise than the modules would refuse every action, or worse: found out at the start. */
import type { PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { coverModuleAbi, sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { digestOf } from '../signed-action.ts';

/** @throws Error naming the module that signs under another domain. */
export async function assertModules(client: PublicClient, deployment: Deployment): Promise<void> {
  const { sessionModule, coverModule } = deployment;
  const common = {
    account: sessionModule,
    key: sessionModule,
    kind: 1,
    data: '0x04',
    nonce: 5n,
    deadline: 6,
    fee: 7n,
  } as const;
  const trade = { ...common, vault: sessionModule, amount: 1n, limit: 2n, slippageBps: 3 };
  const [traded, covered] = await Promise.all([
    client.readContract({
      address: sessionModule,
      abi: sessionModuleAbi,
      functionName: 'hashAction',
      args: [trade],
    }),
    client.readContract({
      address: coverModule,
      abi: coverModuleAbi,
      functionName: 'hashAction',
      args: [common],
    }),
  ]);
  if (traded !== digestOf(trade, sessionModule)) {
    throw new Error(`the session module at ${sessionModule} signs under another domain`);
  }
  if (covered !== digestOf(common, coverModule)) {
    throw new Error(`the cover module at ${coverModule} signs under another domain`);
  }
}
