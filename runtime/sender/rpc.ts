/**
 * JSON-RPC as the sender needs it: over several endpoints, with every answer kept as what it proves.
 *
 * A library that retries and throws hides the one thing that decides about money: whether a request may have been
 * processed. Here each answer is one of four: a result, an error of the JSON-RPC layer, a certain non-delivery, or
 * not known.
 */
import {
  anyServes,
  type ChainVerdict,
  type ForeignChain,
  type WantedChain,
} from '../chain/endpoint-chain.ts';
import { ask, Endpoint, HEAD } from './endpoint.ts';

export type RpcCall = { method: string; params: readonly unknown[] };

export type RpcAnswer =
  | { tag: 'result'; result: unknown }
  /** The node answered: it read the request and says no. */
  | { tag: 'error'; code: number; message: string; data: unknown }
  /** The request was certainly not processed: refused connection, rate limit, no permission. */
  | { tag: 'not_delivered'; message: string }
  /** A time-out, a broken connection, a gateway's fault: it may or may not have been processed. */
  | { tag: 'unknown'; message: string };

export interface Rpc {
  /** All calls to one endpoint, in one request where it takes batches; the next endpoint when nothing came back. */
  batch(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]>;
  /**
   * One call to every endpoint in turn until one returns a result; all answers, in order of asking.
   * @param goOn asked before every endpoint but the first
   */
  untilResult(call: RpcCall, goOn?: () => boolean): Promise<readonly RpcAnswer[]>;
  /** The same calls to every endpoint at once; per call, the answers of all of them. */
  everywhere(calls: readonly RpcCall[]): Promise<readonly (readonly RpcAnswer[])[]>;
  /**
   * Compares the heads of all endpoints and gives those a pause that are behind: one that answers promptly from a
   * frozen head would otherwise be asked for ever.
   */
  preferFreshest(): Promise<void>;
  /** Asks every endpoint for its chain; does not wait for the silent ones where one serves it. */
  servesChain(): Promise<ChainVerdict>;
  close(): void;
}

export type RpcOptions = {
  urls: readonly string[];
  /** Longest wait for an answer; several endpoints that are asked in turn share it. */
  timeoutMs: number;
  /** Most calls in one request. */
  batchLimit?: number;
  clock?: () => number;
  /** An endpoint of another chain is asked for nothing else; absent: any chain will do. */
  chain?: WantedChain;
  /** Told of each endpoint of another chain. */
  onForeign?: (url: string, told: ForeignChain) => void;
};

/** Blocks behind the best endpoint that are still the ordinary lag of a replica. */
const TOLERATED_LAG = 20n;
/** Opens the port; nothing is sent until the first call. */
export function createRpc(options: RpcOptions): Rpc {
  const all = options.urls.map((url) => new Endpoint(url, options));
  if (all.length === 0) throw new Error('at least one RPC URL is needed');
  const limit = options.batchLimit ?? 50;

  /** Those not of another chain; all where none is left, and then they say so. */
  const ours = (): readonly Endpoint[] => {
    const left = all.filter(({ chain }) => !chain.isForeign);
    return left.length > 0 ? left : all;
  };

  /** Healthy ones first, each group in the order of the configuration. */
  const inOrder = (): Endpoint[] => [
    ...ours().filter(({ health }) => health.well),
    ...ours().filter(({ health }) => !health.well),
  ];

  /** Whom to ask where all are asked: nobody waits for one that is doubtful while another is well. */
  const audience = (): readonly Endpoint[] => {
    const endpoints = ours();
    return endpoints.some(({ health }) => health.well)
      ? endpoints.filter(({ health }) => !health.doubtful)
      : endpoints;
  };

  const probe = (): void => {
    const endpoints = ours();
    if (!endpoints.some(({ health }) => health.well)) return;
    for (const endpoint of endpoints) endpoint.probe();
  };

  const batch = async (calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]> => {
    probe();
    let answers: readonly RpcAnswer[] = [];
    for (const endpoint of inOrder()) {
      answers = await ask(endpoint, calls, limit);
      if (answers.some(({ tag }) => tag === 'result' || tag === 'error')) return answers;
    }
    return answers;
  };

  return {
    batch,
    untilResult: async (call, goOn = () => true) => {
      probe();
      const answers: RpcAnswer[] = [];
      for (const [index, endpoint] of inOrder().entries()) {
        if (index > 0 && !goOn()) break;
        const [answer] = await ask(endpoint, [call], limit);
        if (answer) answers.push(answer);
        if (answer?.tag === 'result') break;
      }
      return answers;
    },
    everywhere: async (calls) => {
      probe();
      const all = await Promise.all(audience().map((endpoint) => ask(endpoint, calls, limit)));
      return calls.map((_, index) => all.flatMap((answers) => answers[index] ?? []));
    },
    preferFreshest: async () => {
      const asked = audience();
      if (asked.length < 2) return;
      const heads = await Promise.all(
        asked.map(async (endpoint) => headOf((await ask(endpoint, [HEAD], limit))[0])),
      );
      const best = heads.reduce<bigint>((high, head) => (head > high ? head : high), -1n);
      for (const [index, { health }] of asked.entries()) {
        const head = heads[index] ?? -1n;
        if (head >= 0n && best - head > TOLERATED_LAG) health.demote();
      }
    },
    servesChain: async () => await anyServes(all.map(({ chain }) => chain)),
    close: () => {
      for (const endpoint of all) endpoint.close();
    },
  };
}

/** The block number of an answer, or -1. */
function headOf(answer: RpcAnswer | undefined): bigint {
  const text = answer?.tag === 'result' ? answer.result : null;
  return typeof text === 'string' && /^0x[0-9a-fA-F]+$/.test(text) ? BigInt(text) : -1n;
}
