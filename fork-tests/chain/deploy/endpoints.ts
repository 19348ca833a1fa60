/** The endpoints of RPC_URLS that serve this chain: another chain's estimates and nonces would be taken for its own. */
import { createPublicClient, custom, http } from 'viem';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import { LIVE } from '../../../contracts-abi/live-addresses.ts';
import { createChainClient, defineBasketChain } from '../../../runtime/chain/client.ts';
import type { ReadClient } from '../client.ts';
import { DeployError } from './errors.ts';
import type { Say } from './operator.ts';

/**
 * A client over those that are of this chain; where there is one endpoint alone, every command asks it itself. The
 * others are left out for this run, with a line for each. Throws a DeployError when all that answer are of another
 * chain, and what the first one said when none answers.
 */
export async function connectTo(
  urls: readonly string[],
  timeout: number,
  say: Say,
): Promise<ReadClient> {
  if (urls.length === 1) return clientOf(urls, timeout);
  const answers = await Promise.allSettled(
    urls.map((url) => clientOf([url], timeout).getChainId()),
  );
  const own = urls.filter((_, index) => {
    const answer = answers[index];
    return answer?.status === 'fulfilled' && answer.value === CHAIN_ID;
  });
  // By their places: a URL may hold a provider's key.
  const others = answers.flatMap((answer, index) => {
    if (answer.status === 'rejected') return [`endpoint ${index + 1} of RPC_URLS does not answer`];
    if (answer.value === CHAIN_ID) return [];
    return [`endpoint ${index + 1} of RPC_URLS serves chain ${answer.value}`];
  });
  if (own.length === 0) {
    const failed = answers.filter((answer) => answer.status === 'rejected');
    if (failed.length === answers.length) throw failed[0]?.reason;
    throw new DeployError(`${others.join(', ')}, and this protocol is for ${CHAIN_ID}`);
  }
  for (const line of others) say(`Note: ${line}, and is not used.`);
  return clientOf(own, timeout);
}

/** Retries for some seconds: public endpoints answer 429 now and then, and a break costs the operator more. */
const RETRIES = { retryCount: 4, retryDelay: 150 };

/** Of several, one that falls silent in mid-run is left alone, not waited for at every call. */
function clientOf(urls: readonly string[], timeoutMs: number): ReadClient {
  const [only] = urls;
  const { multicall3 } = LIVE;
  return createPublicClient({
    chain: defineBasketChain(urls, multicall3),
    transport:
      urls.length === 1
        ? http(only, { timeout: timeoutMs, ...RETRIES })
        : custom(createChainClient({ urls, timeoutMs, multicall3 }), RETRIES),
    cacheTime: 0,
  }) as ReadClient;
}
