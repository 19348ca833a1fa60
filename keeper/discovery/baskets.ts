/** What quotes need of each basket, read from the registry, the vaults and the Uniswap factory: three calls. */
import { type Address, erc20Abi, getAddress, isAddressEqual, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { basketRegistryAbi, basketVaultAbi } from '../../contracts-abi/generated/index.ts';
import { optional, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { planTokenPools, planWethTiers } from '../../runtime/quotes/pools.ts';
import type { QuotedBasket } from '../../runtime/quotes/quoted-basket.ts';
import { routesTo } from '../../runtime/quotes/routes.ts';

export type KnownBasket = QuotedBasket & { ticker: string; vault: Address };

/** By vault, checksummed. @throws ApiError UPSTREAM when the chain does not answer. */
export async function readBaskets(
  client: PublicClient,
  deployment: Deployment,
): Promise<Map<Address, KnownBasket>> {
  const { multicall3, registry, usdg } = deployment;
  const listing = new ReadBatch();
  const listed = listing.add({
    to: registry,
    abi: basketRegistryAbi,
    functionName: 'baskets',
    args: [],
  });
  await listing.send(client, multicall3);

  const vaults = new ReadBatch();
  const reads = required(listed, 'the registry').map(({ vault, ticker }) => ({
    ticker,
    vault: getAddress(vault),
    parts: vaults.add({ to: vault, abi: basketVaultAbi, functionName: 'constituents', args: [] }),
  }));
  await vaults.send(client, multicall3);
  const found = reads.map(({ ticker, vault, parts }) => ({
    ticker,
    vault,
    parts: required(parts, `the constituents of ${ticker}`),
  }));

  const tokens = new Set(found.flatMap(({ parts }) => parts.map(({ token }) => getAddress(token))));
  const markets = new ReadBatch();
  const wethTiers = planWethTiers(markets, deployment);
  const pending = [...tokens].map((token) => ({
    token,
    symbol: markets.add({ to: token, abi: erc20Abi, functionName: 'symbol', args: [] }),
    pools: planTokenPools(markets, deployment, token),
  }));
  await markets.send(client, multicall3);
  const tiers = wethTiers();
  const known = new Map(
    pending.map(({ token, symbol, pools }) => {
      const isUsdg = isAddressEqual(token, usdg);
      const routes = isUsdg ? [] : routesTo(token, deployment, pools(), tiers);
      return [token, { token, symbol: optional(symbol) ?? token, routes, isUsdg }] as const;
    }),
  );
  return new Map(
    found.map(({ ticker, vault, parts }) => {
      const constituents = parts.map(({ token, genesisUnits }) => {
        const read = known.get(getAddress(token));
        if (read === undefined) throw new Error(`token ${token} was not read`);
        return { ...read, genesisUnits };
      });
      return [vault, { ticker, vault, constituents }];
    }),
  );
}
