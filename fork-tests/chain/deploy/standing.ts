/** Who holds which power on what stands, in lines for the operator. */
import { type Address, isAddressEqual, zeroAddress } from 'viem';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import {
  basketRegistryAbi,
  coverMarketAbi,
  protocolPauseAbi,
} from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';

export async function describeStanding(
  client: ReadClient,
  { pause, registry, coverMarket, baskets }: Deployment,
): Promise<string[]> {
  const owned = { pause, registry, 'cover market': coverMarket };
  const [owners, guardian, treasury, paused, weeks, cover] = await Promise.all([
    Promise.all(Object.entries(owned).map(([name, address]) => ownerLine(client, name, address))),
    client.readContract({ address: pause, abi: protocolPauseAbi, functionName: 'guardian' }),
    client.readContract({ address: registry, abi: basketRegistryAbi, functionName: 'treasury' }),
    client.readContract({ address: pause, abi: protocolPauseAbi, functionName: 'paused' }),
    client.readContract({
      address: coverMarket,
      abi: coverMarketAbi,
      functionName: 'publishedWeeks',
    }),
    client.readContract({ address: coverMarket, abi: coverMarketAbi, functionName: 'coverVaults' }),
  ]);
  const covered = baskets.filter(({ vault }) => cover.some((item) => isAddressEqual(item, vault)));
  return [
    ...owners,
    `guardian: ${guardian}${paused ? ' (paused now)' : ''}`,
    `treasury: ${treasury}`,
    `baskets: ${baskets.map(({ ticker }) => ticker).join(' ')}`,
    `cover market: ${weeks.length} weeks published, baskets: ${covered.map(({ ticker }) => ticker).join(' ') || 'none'}`,
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
