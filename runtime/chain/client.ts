/** The chain client: explicit transports only (viem's defaults for chain 4663 point at third parties). */
import { createPublicClient, defineChain, fallback, http, type PublicClient } from 'viem';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';

export type ChainClientOptions = {
  urls: readonly string[];
  timeoutMs: number;
  multicall3: `0x${string}`;
  /** How often watchers poll, in milliseconds; waits of ours poll by themselves. */
  pollingIntervalMs?: number;
};

/** The viem chain of one deployment; its URLs are the configured ones. */
export function defineBasketChain(urls: readonly string[], multicall3: `0x${string}`) {
  return defineChain({
    id: CHAIN_ID,
    name: 'Robinhood Chain',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [...urls] } },
    contracts: { multicall3: { address: multicall3 } },
  });
}

/**
 * A read client over several endpoints, tried in order. Retries are few and bounded: a caller's own deadline rules.
 * `cacheTime` is zero: a block number older than the answer it goes with has misled callers before.
 */
export function createChainClient(options: ChainClientOptions): PublicClient {
  const transports = options.urls.map((url) =>
    http(url, { timeout: options.timeoutMs, retryCount: 1, retryDelay: 100 }),
  );
  const [first] = transports;
  if (first === undefined) throw new Error('at least one RPC URL is needed');
  return createPublicClient({
    chain: defineBasketChain(options.urls, options.multicall3),
    transport: transports.length === 1 ? first : fallback(transports, { retryCount: 0 }),
    cacheTime: 0,
    pollingInterval: options.pollingIntervalMs ?? 250,
  }) as PublicClient;
}

/** Throws when the endpoint serves another chain: every signature and address here is for 4663. */
export async function assertChainId(client: PublicClient): Promise<void> {
  const id = await client.getChainId();
  if (id !== CHAIN_ID) throw new Error(`the RPC endpoint serves chain ${id}, not ${CHAIN_ID}`);
}
