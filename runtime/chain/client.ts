/** The chain client: explicit transports only (viem's defaults for chain 4663 point at third parties). */
import {
  BaseError,
  type Chain,
  createPublicClient,
  createTransport,
  defineChain,
  type EIP1193RequestFn,
  http,
  type HttpTransportConfig,
  type PublicClient,
  RpcRequestError,
  TimeoutError,
  type Transport,
  withRetry,
} from 'viem';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import { faultLine } from '../fault-line.ts';
import { type Logger, redactUrl } from '../logger.ts';
import { OperatorError } from '../operator-error.ts';
import { type Ask, checkingAnswers } from './answer-shape.ts';
import type { ChainVerdict } from './endpoint-chain.ts';
import { Endpoints } from './endpoints.ts';
import { type Verdict, verdictOf } from './endpoint-verdict.ts';
import { httpHoldingLogs } from './held-logs.ts';
import { keepAliveFetch } from './keep-alive-fetch.ts';
import { isLimit, saysNothingOfTheRange } from './read-logs.ts';

export type ChainClientOptions = {
  urls: readonly string[];
  timeoutMs: number;
  multicall3: `0x${string}`;
  /** A contract of the deployment: of several endpoints one where it has no code is not asked. */
  contract?: `0x${string}`;
  /** How often watchers poll, in milliseconds; waits of ours poll by themselves. */
  pollingIntervalMs?: number;
  /** Told when an endpoint of several is left, and when it is used again. */
  logger?: Logger;
  /**
   * Answers of `eth_getLogs` of so many bytes come as HeldLogs (held-logs.ts), which only `readLogs` understands;
   * absent: none.
   */
  heldFrom?: number;
};

const OVER_NODE = { fetchFn: keepAliveFetch, maxResponseBodySize: false } as const;

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
 * A read client; over several endpoints it asks the best one that answers (endpoints.ts). Retries are few and bounded:
 * a caller's own deadline rules. `cacheTime` is zero: a block number older than the answer it goes with has misled
 * callers before.
 */
export function createChainClient(options: ChainClientOptions): PublicClient {
  const { urls, timeoutMs } = options;
  const [only] = urls;
  if (only === undefined) throw new Error('at least one RPC URL is needed');
  return createPublicClient({
    chain: defineBasketChain(urls, options.multicall3),
    transport:
      urls.length === 1
        ? askedAgain(overNode(only, { timeout: timeoutMs, retryCount: 0 }, options))
        : overSeveral(options),
    cacheTime: 0,
    pollingInterval: options.pollingIntervalMs ?? 250,
  }) as PublicClient;
}

/** One broken connection proves nothing. */
const AGAIN_AFTER_MS = 100;
/** Too many calls are fewer a moment later; of logs it may be said of a range that is too long. */
const AFTER_LIMIT_MS = [250, 500, 1_000];
/** Verdicts after which the same call may be answered. */
const PASSING: ReadonlySet<Verdict['tag']> = new Set(['fault', 'late', 'rate_limited']);

/** EIP-1474: nodes say so of what the same call does not meet a moment later. */
function isInternal(error: Error): boolean {
  if (!(error instanceof BaseError)) return false;
  const answer = error.walk((cause) => cause instanceof RpcRequestError);
  return answer instanceof RpcRequestError && answer.code === -32_603;
}

/**
 * Asks again where that may help. viem's own second try waits as long as the endpoint says, a day if it likes, and no
 * deadline of the call ends that.
 */
function askedAgain(transport: Transport): Transport {
  return (parameters) => {
    const made = transport(parameters);
    const ask = made.request as Ask;
    const request: Ask = async (call, options) => {
      const tagOf = (error: Error) => verdictOf(error, call.method).tag;
      return await withRetry(async () => await ask(call, options), {
        retryCount: AFTER_LIMIT_MS.length,
        delay: ({ count, error }) =>
          tagOf(error) === 'rate_limited' ? (AFTER_LIMIT_MS[count] ?? 0) : AGAIN_AFTER_MS,
        shouldRetry: ({ count, error }) =>
          count === 0
            ? PASSING.has(tagOf(error)) || (tagOf(error) === 'refused' && isInternal(error))
            : tagOf(error) === 'rate_limited' && call.method !== 'eth_getLogs',
      });
    };
    return { ...made, request: request as EIP1193RequestFn };
  };
}

function overNode(
  url: string,
  config: HttpTransportConfig,
  { heldFrom }: ChainClientOptions,
): Transport {
  const own = { ...config, ...OVER_NODE };
  return heldFrom === undefined
    ? checkingAnswers(http(url, own))
    : httpHoldingLogs(url, own, heldFrom);
}

function overSeveral(options: ChainClientOptions): Transport {
  const { urls, timeoutMs, logger, contract } = options;
  return ({ chain }) => {
    const endpoints = new Endpoints({
      endpoints: urls.map((url) => ({ name: redactUrl(url), ask: askOf(url, chain, options) })),
      timeoutMs,
      verdictOf,
      weightOf: (error) => {
        if (isLimit(error)) return 1;
        return saysNothingOfTheRange(error) ? 0 : 2;
      },
      lateError: ({ method }) =>
        new TimeoutError({ body: { method }, url: urls.map(redactUrl).join(', ') }),
      logger,
      chain: { id: CHAIN_ID, contract },
    });
    const request = ((call: { method: string; params?: unknown }) =>
      endpoints.request(call)) as EIP1193RequestFn;
    const servesChain: ServesChain = async () => await endpoints.servesChain();
    return createTransport(
      {
        key: 'endpoints',
        name: 'several endpoints',
        type: 'endpoints',
        request,
        retryCount: 0,
      },
      { servesChain },
    );
  };
}

/** What the transport over several endpoints knows beyond answering calls. */
type ServesChain = () => Promise<ChainVerdict>;

/** One try at one endpoint. */
function askOf(url: string, chain: Chain | undefined, options: ChainClientOptions) {
  const once = { timeout: options.timeoutMs, retryCount: 0 };
  const { request } = overNode(url, once, options)({ chain });
  const ask = request as (call: object, options: { signal: AbortSignal }) => Promise<unknown>;
  return (call: { method: string; params?: unknown }, signal: AbortSignal): Promise<unknown> =>
    ask(call, { signal });
}

/**
 * Throws when every endpoint serves another chain: every signature and address here is for 4663. Of several all are
 * asked, and one that serves another is left out by the client.
 * @throws ChainUnreachable when none answers
 */
export async function assertChainId(client: PublicClient): Promise<void> {
  const { servesChain } = client.transport as { servesChain?: ServesChain };
  const verdict = await servesChain?.();
  if (verdict?.tag === 'foreign') throw foreignChain(verdict.ids.join(' and '));
  if (verdict?.tag === 'empty') {
    throw new OperatorError(
      `no endpoint of RPC_URLS has the contracts of DEPLOYMENT_FILE: they serve chain ${CHAIN_ID}, but another one than that of the file, or are far behind`,
    );
  }
  let id: number;
  try {
    id = await client.getChainId();
  } catch (cause) {
    throw new ChainUnreachable(client.chain?.rpcUrls.default.http ?? [], cause);
  }
  if (id !== CHAIN_ID) {
    throw foreignChain(String(id));
  }
}

function foreignChain(ids: string): OperatorError {
  return new OperatorError(`the endpoints of RPC_URLS serve chain ${ids}, not ${CHAIN_ID}`);
}

/** Which endpoints are silent. */
export class ChainUnreachable extends OperatorError {
  constructor(urls: readonly string[], cause: unknown) {
    // Hosts, not URLs: what redacts those would take the words beside them too.
    const hosts = urls.map((url) => (URL.canParse(url) ? new URL(url).host : '[url]'));
    super(`no answer from RPC_URLS (${hosts.join(', ')}): ${faultLine(cause)}`, {
      cause,
      remedy: 'Start it again once an endpoint answers, or let a supervisor do so.',
    });
    this.name = 'ChainUnreachable';
  }
}
