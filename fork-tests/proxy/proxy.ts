/**
 * A JSON-RPC proxy that fails on purpose: it stands between a process under test and Anvil and answers as real
 * endpoints have been seen to: late, cut off, with an error for what it did, from the past, or not at all.
 *
 *   const proxy = await startProxy(anvil.url);
 *   proxy.on('eth_sendRawTransaction', { nth: 2 }, { fault: 'http', status: 429 });
 */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type RpcRequest = { jsonrpc: string; id: unknown; method: string; params: unknown[] };
export type RpcReply = {
  jsonrpc: string;
  id: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
};

export type Fault =
  /** Forwards and answers, this much later. */
  | { fault: 'delay'; ms: number }
  /** Closes the connection; `forwarded` says whether the node saw the call first. */
  | { fault: 'drop'; forwarded: boolean }
  /** Answers with a JSON-RPC error; `forwarded` says whether the node saw the call first. */
  | { fault: 'error'; code: number; message: string; data?: unknown; forwarded: boolean }
  /** An HTTP status instead of an answer, for the whole request; nothing is forwarded. */
  | { fault: 'http'; status: number; headers?: Record<string, string>; body?: string }
  /** Forwards and lets the test change the answer, or do something before it is given. */
  | {
      fault: 'rewrite';
      rewrite: (reply: RpcReply, request: RpcRequest) => RpcReply | Promise<RpcReply>;
    }
  /** Answers with a fixed result; nothing is forwarded. */
  | { fault: 'result'; result: unknown }
  /** Forwards the call again this many times before the answer is given. */
  | { fault: 'replay'; times: number }
  /** Answers as a replica this many blocks behind. */
  | { fault: 'stale'; blocks: number }
  /** Never answers; the connection stays open. */
  | { fault: 'hang' };

export type Match = {
  /** The n-th matching call alone, from 1. */
  nth?: number;
  /** At most this many calls. */
  times?: number;
  /** Only calls whose parameters satisfy this. */
  where?: (params: unknown[]) => boolean;
};

export type Rule = {
  /** Calls that matched method and `where` so far. */
  readonly seen: number;
  /** Calls that the fault was applied to. */
  readonly hits: number;
  remove(): void;
};

export type Proxy = {
  url: string;
  /** Adds a rule; the newest that applies wins. Method "*" matches all. */
  on(method: string, match: Match, fault: Fault): Rule;
  clear(): void;
  /** From now on requests of several calls are answered with this HTTP status and nothing else. */
  refuseBatches(status: number): void;
  /** Calls seen so far, by method. */
  counts(): Record<string, number>;
  /** HTTP requests seen so far. */
  requests(): number;
  resetCounts(): void;
  /** Cuts all connections and refuses new ones, as a dead node does; `resume` listens on the same port again. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
};

type ActiveRule = { method: string; match: Match; fault: Fault; seen: number; hits: number };

/** Parameter position of the block tag. */
const TAG_AT: Record<string, number> = {
  eth_getBlockByNumber: 0,
  eth_getTransactionCount: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_call: 1,
  eth_estimateGas: 1,
  eth_simulateV1: 1,
  eth_getStorageAt: 2,
};

class ConnectionCut extends Error {}
class HttpFault extends Error {
  readonly fault: Extract<Fault, { fault: 'http' }>;
  constructor(fault: Extract<Fault, { fault: 'http' }>) {
    super('http fault');
    this.fault = fault;
  }
}

class FaultProxy {
  readonly #upstream: URL;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #rules: ActiveRule[] = [];
  /** HTTP status for batches; null: they are served. */
  batchStatus: number | null = null;
  #counts: Record<string, number> = {};
  #requests = 0;

  constructor(upstream: string) {
    this.#upstream = new URL(upstream);
  }

  get requests(): number {
    return this.#requests;
  }

  get counts(): Record<string, number> {
    return { ...this.#counts };
  }

  resetCounts(): void {
    this.#counts = {};
    this.#requests = 0;
  }

  add(rule: ActiveRule): void {
    this.#rules.unshift(rule);
  }

  remove(rule: ActiveRule): void {
    const at = this.#rules.indexOf(rule);
    if (at >= 0) this.#rules.splice(at, 1);
  }

  clear(): void {
    this.#rules.length = 0;
  }

  close(): void {
    this.#agent.destroy();
  }

  async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readAll(incoming);
    this.#requests += 1;
    const body = JSON.parse(text) as RpcRequest | RpcRequest[];
    if (this.batchStatus !== null && Array.isArray(body)) {
      response.writeHead(this.batchStatus, { 'content-type': 'text/html' });
      response.end('<html>no batches</html>');
      return;
    }
    try {
      // In order, as nodes mostly do; a fault of one call of a batch decides about that call alone.
      const replies: RpcReply[] = [];
      for (const call of Array.isArray(body) ? body : [body])
        replies.push(await this.#answer(call));
      const json = JSON.stringify(Array.isArray(body) ? replies : replies[0]);
      response.writeHead(200, { 'content-type': 'application/json' }).end(json);
    } catch (error) {
      if (error instanceof HttpFault) {
        response.writeHead(error.fault.status, error.fault.headers).end(error.fault.body);
      } else {
        // A cut connection asked for by a rule, or an upstream that is gone: either way the caller sees it break.
        incoming.socket.destroy();
      }
    }
  }

  async #answer(call: RpcRequest): Promise<RpcReply> {
    this.#counts[call.method] = (this.#counts[call.method] ?? 0) + 1;
    const rule = this.#ruleFor(call);
    if (rule === null) return await this.#forward(call);
    const { fault } = rule;
    switch (fault.fault) {
      case 'delay':
        await pause(fault.ms);
        return await this.#forward(call);
      case 'drop':
        if (fault.forwarded) await this.#forward(call);
        throw new ConnectionCut();
      case 'error': {
        if (fault.forwarded) await this.#forward(call);
        const { code, message, data } = fault;
        const error = data === undefined ? { code, message } : { code, message, data };
        return { jsonrpc: '2.0', id: call.id, error };
      }
      case 'http':
        throw new HttpFault(fault);
      case 'rewrite':
        return fault.rewrite(await this.#forward(call), call);
      case 'result':
        return { jsonrpc: '2.0', id: call.id, result: fault.result };
      case 'replay': {
        for (let index = 0; index < fault.times; index += 1) await this.#forward(call);
        return await this.#forward(call);
      }
      case 'stale':
        return await this.#forwardStale(call, fault.blocks);
      case 'hang':
        return await new Promise<never>(() => undefined);
    }
    return fault satisfies never;
  }

  #ruleFor(call: RpcRequest): ActiveRule | null {
    for (const rule of this.#rules) {
      const { method, match } = rule;
      if (method !== '*' && method !== call.method) continue;
      if (match.where && !match.where(call.params ?? [])) continue;
      rule.seen += 1;
      if (match.nth !== undefined && rule.seen !== match.nth) continue;
      if (match.times !== undefined && rule.hits >= match.times) continue;
      rule.hits += 1;
      return rule;
    }
    return null;
  }

  async #forwardStale(call: RpcRequest, blocks: number): Promise<RpcReply> {
    const head = await this.#forward({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_blockNumber',
      params: [],
    });
    const seen = Math.max(0, Number(head.result) - blocks);
    const tag = `0x${seen.toString(16)}`;
    if (call.method === 'eth_blockNumber') return { jsonrpc: '2.0', id: call.id, result: tag };
    if (call.method === 'eth_getTransactionReceipt') {
      const reply = await this.#forward(call);
      const block = (reply.result as { blockNumber?: string } | null)?.blockNumber;
      return block !== undefined && Number(block) > seen ? { ...reply, result: null } : reply;
    }
    const at = TAG_AT[call.method];
    if (at === undefined) return await this.#forward(call);
    const params = [...call.params];
    if (['latest', 'pending', undefined].includes(params[at] as string | undefined))
      params[at] = tag;
    return await this.#forward({ ...call, params });
  }

  #forward(call: RpcRequest): Promise<RpcReply> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        this.#upstream,
        { method: 'POST', agent: this.#agent, headers: { 'content-type': 'application/json' } },
        (response) => {
          readAll(response)
            .then((text) => resolve(JSON.parse(text) as RpcReply))
            .catch(reject);
        },
      );
      outgoing.on('error', reject);
      outgoing.end(JSON.stringify(call));
    });
  }
}

/** Starts a proxy in front of one endpoint on a port that the system picks. */
export async function startProxy(upstream: string): Promise<Proxy> {
  const faults = new FaultProxy(upstream);
  const listen = async (port: number) => {
    const server = createServer({ keepAlive: true }, (incoming, response) => {
      faults.serve(incoming, response).catch(() => incoming.socket.destroy());
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return server;
  };
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;
  const shut = async (): Promise<void> => {
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  };
  return {
    url: `http://127.0.0.1:${port}`,
    on: (method, match, fault) => {
      const rule: ActiveRule = { method, match, fault, seen: 0, hits: 0 };
      faults.add(rule);
      return {
        get seen() {
          return rule.seen;
        },
        get hits() {
          return rule.hits;
        },
        remove: () => faults.remove(rule),
      };
    },
    clear: () => faults.clear(),
    refuseBatches: (status) => {
      faults.batchStatus = status;
    },
    counts: () => faults.counts,
    requests: () => faults.requests,
    resetCounts: () => faults.resetCounts(),
    pause: shut,
    resume: async () => {
      server = await listen(port);
    },
    stop: async () => {
      await shut();
      faults.close();
    },
  };
}

async function readAll(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
