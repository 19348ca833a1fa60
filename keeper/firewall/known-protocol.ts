/**
 * What the firewall knows of the protocol: addresses from the deployment file, vaults and their constituents from
 * the registry that it names. Nothing of it comes from a job source.
 */
import { type Address, getAddress, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { basketRegistryAbi, basketVaultAbi } from '../../contracts-abi/generated/index.ts';

export type EscrowKind = 'exit' | 'limit';

export type KnownProtocol = {
  usdg: Address;
  weth: Address;
  swapRouter02: Address;
  zapper: Address;
  /** Escrow of each job type that this keeper executes. */
  escrows: ReadonlyMap<string, { kind: EscrowKind; address: Address }>;
  /** Constituents by vault, both checksummed. */
  vaults: ReadonlyMap<Address, ReadonlySet<Address>>;
  /** Union of all constituents. */
  tokens: ReadonlySet<Address>;
};

/** Reads every vault of the registry and its constituents: two aggregated calls. Throws when the chain cannot be read. */
export async function readKnownProtocol(
  client: PublicClient,
  deployment: Deployment,
): Promise<KnownProtocol> {
  const registered = await client.readContract({
    address: deployment.registry,
    abi: basketRegistryAbi,
    functionName: 'baskets',
  });
  const addresses = registered.map(({ vault }) => getAddress(vault));
  const constituents = await client.multicall({
    allowFailure: false,
    contracts: addresses.map((address) => ({
      address,
      abi: basketVaultAbi,
      functionName: 'constituents' as const,
    })),
  });
  return knownProtocol(
    deployment,
    addresses.map((vault, index) => ({
      vault,
      tokens: (constituents[index] ?? []).map(({ token }) => getAddress(token)),
    })),
  );
}

/** The same from plain values. */
export function knownProtocol(
  deployment: Deployment,
  baskets: readonly { vault: Address; tokens: readonly Address[] }[],
): KnownProtocol {
  return {
    usdg: deployment.usdg,
    weth: deployment.weth,
    swapRouter02: deployment.swapRouter02,
    zapper: deployment.zapper,
    escrows: new Map([
      ['sell', { kind: 'exit', address: deployment.exitEscrow }],
      ['limit', { kind: 'limit', address: deployment.limitEscrow }],
    ]),
    vaults: new Map(baskets.map(({ vault, tokens }) => [vault, new Set(tokens)])),
    tokens: new Set(baskets.flatMap(({ tokens }) => tokens)),
  };
}
