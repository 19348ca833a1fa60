/** Who holds which power on what stands, and what stands of the cover market, in lines for the operator. */
import { type Address, zeroAddress } from 'viem';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { basketRegistryAbi, protocolPauseAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { coverLines, readCover } from './cover-state.ts';

export async function describeStanding(
  client: ReadClient,
  deployment: Deployment,
): Promise<string[]> {
  const { pause, registry, coverMarket, baskets } = deployment;
  const owned = { pause, registry, 'cover market': coverMarket };
  const [owners, guardian, treasury, paused, cover] = await Promise.all([
    Promise.all(Object.entries(owned).map(([name, address]) => ownerLine(client, name, address))),
    client.readContract({ address: pause, abi: protocolPauseAbi, functionName: 'guardian' }),
    client.readContract({ address: registry, abi: basketRegistryAbi, functionName: 'treasury' }),
    client.readContract({ address: pause, abi: protocolPauseAbi, functionName: 'paused' }),
    readCover(client, deployment),
  ]);
  return [
    ...owners,
    `guardian: ${guardian}${paused ? ' (paused now)' : ''}`,
    `treasury: ${treasury}`,
    `baskets: ${baskets.map(({ ticker }) => ticker).join(' ')}`,
    ...coverLines(cover),
  ];
}

/** Both steps of a hand-over show: who owns it, and who has yet to accept. */
async function ownerLine(client: ReadClient, name: string, address: Address): Promise<string> {
  const read = { address, abi: protocolPauseAbi } as const;
  const [owner, pending] = await Promise.all([
    client.readContract({ ...read, functionName: 'owner' }),
    client.readContract({ ...read, functionName: 'pendingOwner' }),
  ]);
  return pending === zeroAddress
    ? `owner of ${name} ${address}: ${owner}`
    : `owner of ${name} ${address}: ${owner} until ${pending} calls acceptOwnership() on it`;
}
