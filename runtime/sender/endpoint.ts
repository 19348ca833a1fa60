/** One RPC endpoint as the sender asks it: every exchange noted for its health, nothing asked before its chain is known. */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type Belongs, EndpointChain, NOT_USED } from '../chain/endpoint-chain.ts';
import { EndpointHealth, type Trouble } from '../chain/endpoint-health.ts';
import { RATE_CODES } from '../chain/endpoint-verdict.ts';
import { steadyNow } from '../clock.ts';
import { faultLine } from '../fault-line.ts';
import type { RpcAnswer, RpcCall, RpcOptions } from './rpc.ts';

const MOST_RESPONSE_BYTES = 32 * 1024 * 1024;
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
export const HEAD: RpcCall = { method: 'eth_blockNumber', params: [] };
/** Statuses by which a gateway refuses the form of a request: a single call may suit it better than a batch. */
const REFUSED_FORM = new Set([400, 405, 413, 415]);
/** Statuses that a gateway gives before it hands a request on. */
const NOT_HANDED_ON = new Set([400, 401, 402, 403, 404, 405, 413, 415, 429]);

type Reply =
  | { tag: 'body'; status: number; retryAfterMs: number | null; text: string }
  | { tag: 'not_delivered' | 'unknown'; message: string; isLate?: boolean };

export class Endpoint {
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
      options.chain ?? null,
      async ({ method, params }) => {
        const call = { method, params: params as readonly unknown[] };
        const reply = await this.#exchange(JSON.stringify(envelope(call, 1)));
        const [answer] = readReply(reply, 1);
        if (!this.#noteTrouble(reply) && answer?.tag !== 'result') this.#failed({ tag: 'fault' });
        return answer?.tag === 'result' ? answer.result : null;
      },
      (told) => options.onForeign?.(url, told),
    );
  }

  async post(body: string): Promise<Reply> {
    const { health } = this;
    if (health.paused || health.behind) {
      return { tag: 'not_delivered', message: 'the endpoint is given a pause' };
    }
    const belongs = await this.#belongs();
    if (belongs !== 'right') {
      return { tag: 'not_delivered', message: `it ${NOT_USED[belongs]}` };
    }
    return await this.#judged(body);
  }

  /** Where its pause is over and others answer, it is asked something that nobody waits for. */
  probe(): void {
    if (this.#probing || !this.health.doubtful) return;
    this.#probing = true;
    this.chain.doubt();
    void this.#answers().finally(() => {
      this.#probing = false;
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  async #answers(): Promise<void> {
    if ((await this.#belongs()) === 'right') await this.#judged(JSON.stringify(envelope(HEAD, 1)));
  }

  /** Whether it may be used; where our contract is missing it is left alone for a while. */
  async #belongs(): Promise<Belongs> {
    const belongs = await this.chain.check();
    if (belongs === 'empty') this.#failed({ tag: 'fault' });
    return belongs;
  }

  async #judged(body: string): Promise<Reply> {
    const reply = await this.#exchange(body);
    if (!this.#noteTrouble(reply)) this.health.succeeded();
    return reply;
  }

  #failed(trouble: Trouble): void {
    this.health.failed(trouble);
    if (this.health.paused) this.chain.doubt();
  }

  /** Takes note of what the reply says against the endpoint; false when it says nothing. */
  #noteTrouble(reply: Reply): boolean {
    if (reply.tag === 'body' && reply.status === 429) {
      this.#failed({ tag: 'rate_limited', retryAfterMs: reply.retryAfterMs });
      return true;
    }
    if (reply.tag === 'body' && reply.status < 500) return false;
    // An only endpoint is not left alone for being slow.
    const isLate = reply.tag === 'unknown' && reply.isLate === true && this.#hasOthers;
    this.#failed({ tag: isLate ? 'late' : 'fault' });
    return true;
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

/** All calls, in one request where the endpoint takes batches. */
export async function ask(
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
