/**
 * JSON-RPC as the sender needs it: over several endpoints, with every answer kept as what it proves.
 *
 * A library that retries and throws hides the one thing that decides about money: whether a request may have been
 * processed. Here each answer is one of four: a result, an error of the JSON-RPC layer, a certain non-delivery, or
 * not known.
 */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { anyServes, type ChainVerdict, EndpointChain } from '../chain/endpoint-chain.ts';
import { EndpointHealth } from '../chain/endpoint-health.ts';
import { RATE_CODES } from '../chain/endpoint-verdict.ts';
import { steadyNow } from '../clock.ts';
import { faultLine } from '../fault-line.ts';

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
  servesChain(chainId: number): Promise<ChainVerdict>;
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
  chainId?: number;
  /** Told once of each endpoint of another chain. */
  onForeign?: (url: string, chainId: number) => void;
};

const MOST_RESPONSE_BYTES = 32 * 1024 * 1024;
/** Blocks behind the best endpoint that are still the ordinary lag of a replica. */
const TOLERATED_LAG = 20n;
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
const HEAD: RpcCall = { method: 'eth_blockNumber', params: [] };
const CHAIN: RpcCall = { method: 'eth_chainId', params: [] };
/** Statuses by which a gateway refuses the form of a request: a single call may suit it better than a batch. */
const REFUSED_FORM = new Set([400, 405, 413, 415]);
/** Statuses that a gateway gives before it hands a request on. */
const NOT_HANDED_ON = new Set([400, 401, 402, 403, 404, 405, 413, 415, 429]);

type Reply =
  | { tag: 'body'; status: number; retryAfterMs: number | null; text: string }
  | { tag: 'not_delivered' | 'unknown'; message: string; isLate?: boolean };

class Endpoint {
  readonly #url: URL;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #timeoutMs: number;
  readonly #hasOthers: boolean;
  readonly health: EndpointHealth;
  readonly chain: EndpointChain;
  #probing = false;
  batches = true;

  constructor(url: string, options: RpcOptions) {
    this.#url = new URL(url);
    const count = options.urls.length;
    this.#timeoutMs = options.timeoutMs / count;
    this.#hasOthers = count > 1;
    const settings = { keepAlive: true, maxSockets: 32, timeout: this.#timeoutMs };
    this.#agent =
      this.#url.protocol === 'https:' ? new HttpsAgent(settings) : new HttpAgent(settings);
    this.health = new EndpointHealth(options.clock ?? steadyNow);
    this.chain = new EndpointChain(
      options.chainId ?? null,
      async () => {
        const reply = await this.#judged(JSON.stringify(envelope(CHAIN, 1)));
        const [answer] = readReply(reply, 1);
        return answer?.tag === 'result' ? answer.result : null;
      },
      (id) => options.onForeign?.(url, id),
    );
  }

  async post(body: string): Promise<Reply> {
    const { health } = this;
    if (health.paused || health.behind) {
      return { tag: 'not_delivered', message: 'the endpoint is given a pause' };
    }
    const chain = await this.chain.check();
    if (chain === 'foreign') return { tag: 'not_delivered', message: 'it serves another chain' };
    if (chain === 'unknown') {
      return { tag: 'not_delivered', message: 'it does not tell its chain' };
    }
    return await this.#judged(body);
  }

  /** Where its pause is over and others answer, it is asked something that nobody waits for. */
  probe(): void {
    if (this.#probing || !this.health.doubtful) return;
    this.#probing = true;
    this.chain.doubt();
    void this.chain.read().finally(() => {
      this.#probing = false;
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  async #judged(body: string): Promise<Reply> {
    const reply = await this.#exchange(body);
    if (reply.tag === 'body' && reply.status === 429) {
      this.health.failed({ tag: 'rate_limited', retryAfterMs: reply.retryAfterMs });
    } else if (reply.tag === 'body' && reply.status < 500) {
      this.health.succeeded();
    } else {
      // An only endpoint is not left alone for being slow.
      const isLate = reply.tag === 'unknown' && reply.isLate === true && this.#hasOthers;
      this.health.failed({ tag: isLate ? 'late' : 'fault' });
    }
    if (this.health.paused) this.chain.doubt();
    return reply;
  }

  #exchange(body: string): Promise<Reply> {
    return new Promise((resolve) => {
      const open = this.#url.protocol === 'https:' ? httpsRequest : httpRequest;
      const request: ClientRequest = open(
        this.#url,
        {
          method: 'POST',
          agent: this.#agent,
          headers: {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          let size = 0;
          response.on('data', (chunk: Buffer) => {
            size += chunk.length;
            if (size > MOST_RESPONSE_BYTES) request.destroy(new Error('response too large'));
            else chunks.push(chunk);
          });
          response.on('end', () => {
            const seconds = Number(response.headers['retry-after']);
            finish({
              tag: 'body',
              status: response.statusCode ?? 0,
              retryAfterMs: Number.isFinite(seconds) ? seconds * 1_000 : null,
              text: Buffer.concat(chunks).toString('utf8'),
            });
          });
          response.on('aborted', () => finish({ tag: 'unknown', message: 'response cut off' }));
        },
      );
      const deadline = setTimeout(() => {
        const message = `no answer in ${Math.round(this.#timeoutMs)} ms`;
        finish({ tag: 'unknown', message, isLate: true });
        request.destroy();
      }, this.#timeoutMs);
      const finish = (reply: Reply): void => {
        clearTimeout(deadline);
        resolve(reply);
      };
      request.on('error', (error: NodeJS.ErrnoException) => {
        const code = error.code ?? '';
        const tag = NOT_CONNECTED.has(code) ? 'not_delivered' : 'unknown';
        finish({ tag, message: code === '' ? faultLine(error) : code });
      });
      request.end(body);
    });
  }
}

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
    servesChain: async (chainId) =>
      await anyServes(
        all.map(({ chain }) => chain),
        chainId,
      ),
    close: () => {
      for (const endpoint of all) endpoint.close();
    },
  };
}

async function ask(
  endpoint: Endpoint,
  calls: readonly RpcCall[],
  limit: number,
): Promise<readonly RpcAnswer[]> {
  if (calls.length === 0) return [];
  if (calls.length === 1 || !endpoint.batches) {
    const answers: RpcAnswer[] = [];
    for (const call of calls) {
      const [answer] = readReply(await endpoint.post(JSON.stringify(envelope(call, 1))), 1);
      answers.push(answer ?? missing);
    }
    return answers;
  }
  const answers: RpcAnswer[] = [];
  for (let at = 0; at < calls.length; at += limit) {
    const part = calls.slice(at, at + limit);
    const body = JSON.stringify(part.map((call, index) => envelope(call, index + 1)));
    const reply = await endpoint.post(body);
    if (reply.tag === 'body' && refusesBatches(reply)) {
      // The endpoint takes none: every later call goes alone.
      endpoint.batches = false;
      return [...answers, ...(await ask(endpoint, calls.slice(at), limit))];
    }
    answers.push(...readReply(reply, part.length));
  }
  return answers;
}

/** The block number of an answer, or -1. */
function headOf(answer: RpcAnswer | undefined): bigint {
  const text = answer?.tag === 'result' ? answer.result : null;
  return typeof text === 'string' && /^0x[0-9a-fA-F]+$/.test(text) ? BigInt(text) : -1n;
}

const missing: RpcAnswer = { tag: 'unknown', message: 'no answer to this call in the response' };

function envelope(call: RpcCall, id: number): object {
  return { jsonrpc: '2.0', id, method: call.method, params: call.params };
}

/** By one JSON-RPC error for all of them, or by a status that says that the request itself was not to its liking. */
function refusesBatches({ status, text }: { status: number; text: string }): boolean {
  return REFUSED_FORM.has(status) || (status === 200 && isOneError(text));
}

function isOneError(text: string): boolean {
  const body = parse(text);
  return !Array.isArray(body) && readItem(body)?.tag === 'error';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // expected: an HTML error page of a gateway
    return null;
  }
}

function readReply(reply: Reply, count: number): RpcAnswer[] {
  if (reply.tag !== 'body') {
    const { tag, message } = reply;
    return Array.from({ length: count }, () => ({ tag, message }));
  }
  const body = parse(reply.text);
  const items = Array.isArray(body) ? (body as unknown[]) : [body];
  const byId = new Map<unknown, RpcAnswer>();
  for (const item of items) {
    const answer = readItem(item);
    if (answer) byId.set((item as { id?: unknown }).id, answer);
  }
  const fallback: RpcAnswer = NOT_HANDED_ON.has(reply.status)
    ? { tag: 'not_delivered', message: `HTTP ${reply.status}` }
    : { tag: 'unknown', message: `HTTP ${reply.status} without an answer` };
  return Array.from({ length: count }, (_, index) => {
    // A 429 that also carries a JSON-RPC error is still a 429.
    if (reply.status === 429) return fallback;
    return byId.get(index + 1) ?? fallback;
  });
}

function readItem(item: unknown): RpcAnswer | null {
  if (typeof item !== 'object' || item === null) return null;
  const { error } = item as { error?: unknown };
  if (typeof error === 'object' && error !== null) {
    const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown };
    const text = typeof message === 'string' ? message.slice(0, 2_000) : '';
    const number = typeof code === 'number' ? code : 0;
    if (RATE_CODES.has(number)) return { tag: 'not_delivered', message: `rate limit: ${number}` };
    return { tag: 'error', code: number, message: text, data };
  }
  return 'result' in item ? { tag: 'result', result: item.result } : null;
}
