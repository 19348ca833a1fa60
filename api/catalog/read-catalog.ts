/** Reads the catalog from the chain: three aggregated calls, at start and every few minutes. */
import { type Address, erc20Abi, isAddressEqual, type PublicClient, zeroAddress } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { basketRegistryAbi, basketVaultAbi } from '../../contracts-abi/generated/index.ts';
import { optional, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { planTokenPools, planWethTiers } from '../../runtime/quotes/pools.ts';
import { routesTo, type TokenPools } from '../../runtime/quotes/routes.ts';
import { type Basket, Catalog } from './catalog.ts';

type Token = { symbol: string; decimals: number; pools: TokenPools };

/** @throws ApiError UPSTREAM when the chain does not answer. */
export async function readCatalog(client: PublicClient, deployment: Deployment): Promise<Catalog> {
  const listing = new ReadBatch();
  const listed = listing.add({
    to: deployment.registry,
    abi: basketRegistryAbi,
    functionName: 'baskets',
    args: [],
  });
  await listing.send(client, deployment.multicall3);
  const rows = required(listed, 'the registry');

  const vaults = new ReadBatch();
  const reads = rows.map((row) => ({
    row,
    composition: vaults.add({
      to: row.vault,
      abi: basketVaultAbi,
      functionName: 'composition',
      args: [],
    }),
    genesis: vaults.add({
      to: row.vault,
      abi: basketVaultAbi,
      functionName: 'genesisAt',
      args: [],
    }),
    fee: vaults.add({
      to: row.vault,
      abi: basketVaultAbi,
      functionName: 'managementFeeBps',
      args: [],
    }),
  }));
  await vaults.send(client, deployment.multicall3);
  const found = reads.map(({ row, composition, genesis, fee }) => {
    const [parts, decimals] = required(composition, `the constituents of ${row.ticker}`);
    return {
      row,
      parts: parts.map((part, index) => ({ ...part, genesisDecimals: decimals[index] ?? 0 })),
      genesisAt: required(genesis, `the genesis of ${row.ticker}`),
      mgmtFeeBps: required(fee, `the fee of ${row.ticker}`),
    };
  });

  const addresses = [...new Set(found.flatMap(({ parts }) => parts.map(({ token }) => token)))];
  const { tokens, wethUsdgTiers } = await readTokens(client, deployment, addresses);
  const baskets = found.map(({ row, parts, genesisAt, mgmtFeeBps }): Basket => {
    const weights = deployment.baskets.find(({ ticker }) => ticker === row.ticker)?.targetWeights;
    return {
      ticker: row.ticker,
      name: row.name,
      thesis: row.thesis,
      group: row.group,
      risk: row.risk === '' ? null : row.risk,
      riskNote: row.riskNote === '' ? null : row.riskNote,
      rebalance: row.rebalance,
      vault: row.vault,
      mgmtFeeBps,
      genesisAt,
      ordersEnabled: row.ordersEnabled,
      constituents: parts.map(({ token, genesisUnits, genesisDecimals, pool, viaWeth }) => {
        const known = tokens.get(token);
        if (known === undefined) throw new Error(`token ${token} was not read`);
        const isUsdg = isAddressEqual(token, deployment.usdg);
        return {
          symbol: known.symbol,
          token,
          decimals: known.decimals,
          genesisUnits,
          genesisDecimals,
          pool: isAddressEqual(pool, zeroAddress) ? null : pool,
          viaWeth,
          targetWeight: weights?.[known.symbol] ?? null,
          routes: isUsdg ? [] : routesTo(token, deployment, known.pools, wethUsdgTiers),
          isUsdg,
        };
      }),
    };
  });
  return new Catalog(baskets);
}

async function readTokens(
  client: PublicClient,
  deployment: Deployment,
  addresses: readonly Address[],
): Promise<{ tokens: Map<Address, Token>; wethUsdgTiers: number[] }> {
  const batch = new ReadBatch();
  const wethUsdg = planWethTiers(batch, deployment);
  const reads = addresses.map((token) => ({
    token,
    symbol: batch.add({ to: token, abi: erc20Abi, functionName: 'symbol', args: [] }),
    decimals: batch.add({ to: token, abi: erc20Abi, functionName: 'decimals', args: [] }),
    pools: planTokenPools(batch, deployment, token),
  }));
  await batch.send(client, deployment.multicall3);
  const tokens = new Map<Address, Token>();
  for (const read of reads) {
    tokens.set(read.token, {
      // A token without a readable symbol is still one of the basket's: show its address.
      symbol: optional(read.symbol) ?? read.token,
      decimals: required(read.decimals, `the decimals of ${read.token}`),
      pools: read.pools(),
    });
  }
  return { tokens, wethUsdgTiers: wethUsdg() };
}
