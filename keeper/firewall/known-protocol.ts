/**
 * What the firewall knows of the protocol: addresses from the deployment file, vaults and their constituents from
 * the registry that it names. Nothing of it comes from a job source.
 */
import { type Address, getAddress, type Hex, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { basketRegistryAbi, basketVaultAbi } from '../../contracts-abi/generated/index.ts';
import type { FillType } from '../work.ts';

/** Selectors by contract: what the operator lets run on contracts that are not ours (foreign.ts). */
export type ForeignContracts = ReadonlyMap<Address, ReadonlySet<Hex>>;

export type KnownProtocol = {
  usdg: Address;
  weth: Address;
  swapRouter02: Address;
  zapper: Address;
  /** Escrow of each type of fill. */
  escrows: ReadonlyMap<FillType, Address>;
  coverMarket: Address;
  foreign: ForeignContracts;
  /** Constituents by vault, both checksummed. */
  vaults: ReadonlyMap<Address, ReadonlySet<Address>>;
  /** Union of all constituents. */
  tokens: ReadonlySet<Address>;
};

/** Reads every vault of the registry and its constituents: two aggregated calls. Throws when the chain cannot be read. */
export async function readKnownProtocol(
  client: PublicClient,
  deployment: Deployment,
  foreign: ForeignContracts = new Map(),
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
    foreign,
  );
}

/** The same from plain values. */
export function knownProtocol(
  deployment: Deployment,
  baskets: readonly { vault: Address; tokens: readonly Address[] }[],
  foreign: ForeignContracts = new Map(),
): KnownProtocol {
  return {
    usdg: deployment.usdg,
    weth: deployment.weth,
    swapRouter02: deployment.swapRouter02,
    zapper: deployment.zapper,
    escrows: new Map([
      ['sell', deployment.exitEscrow],
      ['limit', deployment.limitEscrow],
      ['schedule', deployment.scheduleEscrow],
    ]),
    coverMarket: deployment.coverMarket,
    foreign,
    vaults: new Map(baskets.map(({ vault, tokens }) => [vault, new Set(tokens)])),
    tokens: new Set(baskets.flatMap(({ tokens }) => tokens)),
  };
}
