import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createRpc, type Rpc } from './rpc.ts';

type Handler = (body: unknown, response: ServerResponse) => void;

const servers: Server[] = [];
let rpc: Rpc | null = null;

afterEach(async () => {
  rpc?.close();
  rpc = null;
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }
});

async function serve(handler: Handler): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      handler(JSON.parse(Buffer.concat(chunks).toString('utf8')), response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Echoes each call's first parameter; answers batches in reverse order, as nodes may. */
function echo(body: unknown, response: ServerResponse): void {
  const one = (call: { id: number; params: unknown[] }) => ({
    jsonrpc: '2.0',
    id: call.id,
    result: call.params[0],
  });
  type Call = { id: number; params: unknown[] };
  const answer = Array.isArray(body) ? (body as Call[]).map(one).reverse() : one(body as Call);
  response.end(JSON.stringify(answer));
}

function call(value: unknown) {
  return { method: 'eth_test', params: [value] };
}

function open(urls: string[], timeoutMs = 300): Rpc {
  rpc = createRpc({ urls, timeoutMs, batchLimit: 3 });
  return rpc;
}

const WAIT = { timeout: 10_000, interval: 20 };

describe('createRpc', () => {
  it('matches the answers of a batch by id and cuts long ones', async () => {
    let requests = 0;
    const url = await serve((body, response) => {
      requests += 1;
      echo(body, response);
    });
    const answers = await open([url]).batch([1, 2, 3, 4, 5, 6, 7].map(call));
    expect(answers).toEqual([1, 2, 3, 4, 5, 6, 7].map((result) => ({ tag: 'result', result })));
    expect(requests).toBe(3);
  });

  it('asks one by one where batches are not taken, and remembers it', async () => {
    let batches = 0;
    const url = await serve((body, response) => {
      if (!Array.isArray(body)) return echo(body, response);
      batches += 1;
      response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}');
    });
    const port = open([url]);
    for (let round = 0; round < 2; round += 1) {
      const answers = await port.batch([call('a'), call('b')]);
      expect(answers).toEqual([
        { tag: 'result', result: 'a' },
        { tag: 'result', result: 'b' },
      ]);
    }
    expect(batches).toBe(1);
  });

  it.each([
    ['HTTP 429', 429, '', 'not_delivered'],
    [
      'HTTP 429 with an error in it',
      429,
      '{"jsonrpc":"2.0","id":1,"error":{"code":1}}',
      'not_delivered',
    ],
    ['HTTP 401', 401, 'no', 'not_delivered'],
    [
      'a rate limit inside a 200',
      200,
      '{"id":1,"error":{"code":-32005,"message":"x"}}',
      'not_delivered',
    ],
    ['HTTP 502', 502, '<html>', 'unknown'],
    ['HTTP 200 with nonsense', 200, '<html>', 'unknown'],
    ['an empty object', 200, '{}', 'unknown'],
    ['an answer to another id', 200, '{"id":7,"result":1}', 'unknown'],
    ['a JSON-RPC error in a 500', 500, '{"id":1,"error":{"code":-32000,"message":"x"}}', 'error'],
  ])('%s is what it proves', async (_, status, text, tag) => {
    const url = await serve((__, response) => {
      response.writeHead(status).end(text);
    });
    const [answer] = await open([url]).batch([call(1)]);
    expect(answer?.tag).toBe(tag);
  });

  it('tells a refused connection from a cut one and from silence', async () => {
    const dead = await serve(echo);
    const [gone] = servers.splice(0);
    await new Promise((resolve) => {
      gone?.close(resolve);
    });
    expect((await open([dead]).batch([call(1)]))[0]?.tag).toBe('not_delivered');
    rpc?.close();
    const cut = await serve((_, response) => response.socket?.destroy());
    expect((await open([cut]).batch([call(1)]))[0]?.tag).toBe('unknown');
    rpc?.close();
    const silent = await serve(() => undefined);
    const started = Date.now();
    expect((await open([silent]).batch([call(1)]))[0]?.tag).toBe('unknown');
    expect(Date.now() - started).toBeLessThan(2_000);
  });

  it('goes to the next endpoint when one does not answer, and gives the bad one a pause', async () => {
    let bad = 0;
    const first = await serve((_, response) => {
      bad += 1;
      response.writeHead(429, { 'retry-after': '5' }).end();
    });
    const second = await serve(echo);
    const port = open([first, second]);
    for (let round = 0; round < 5; round += 1) {
      expect(await port.batch([call(round)])).toEqual([{ tag: 'result', result: round }]);
    }
    expect(bad).toBe(1);
  });

  it('pays once for an endpoint that is silent: then others are asked, and a probe finds out when it is back', async () => {
    let silent = true;
    let asked = 0;
    const first = await serve((body, response) => {
      asked += 1;
      if (!silent) echo(body, response);
    });
    const second = await serve(echo);
    const time = { now: 0 };
    const port = createRpc({ urls: [first, second], timeoutMs: 3_000, clock: () => time.now });
    rpc = port;
    const round = async (): Promise<void> => {
      expect(await port.batch([call(1)])).toEqual([{ tag: 'result', result: 1 }]);
      expect(await port.everywhere([call(2)])).toEqual([
        expect.arrayContaining([{ tag: 'result', result: 2 }]),
      ]);
      expect(await port.untilResult(call(3))).toEqual([{ tag: 'result', result: 3 }]);
    };
    for (let rounds = 0; rounds < 3; rounds += 1) await round();
    expect(asked).toBe(1);
    // Its pause is over: the probe is all that it is asked, and nobody waits for that.
    time.now += 1_000;
    await round();
    await vi.waitUntil(() => asked === 2, WAIT);
    silent = false;
    await vi.waitUntil(async () => {
      time.now += 1_000;
      await round();
      return asked > 5;
    }, WAIT);
  });

  it('shares the time among the endpoints that are asked in turn', async () => {
    const silent = await Promise.all([serve(() => undefined), serve(() => undefined)]);
    const answers = await open(silent, 400).untilResult(call(1));
    expect(answers).toEqual([
      { tag: 'unknown', message: 'no answer in 200 ms' },
      { tag: 'unknown', message: 'no answer in 200 ms' },
    ]);
  });

  it('asks every endpoint until one takes it, and reports all answers', async () => {
    const first = await serve((_, response) => {
      response.end('{"id":1,"error":{"code":-32000,"message":"no"}}');
    });
    const second = await serve(echo);
    const answers = await open([first, second]).untilResult(call('x'));
    expect(answers.map(({ tag }) => tag)).toEqual(['error', 'result']);
  });

  it('leaves an endpoint whose head is far behind the others', async () => {
    const heads = ['0x10', '0x100'];
    const urls = await Promise.all(
      heads.map((head) =>
        serve((body, response) => {
          response.end(JSON.stringify({ id: (body as { id: number }).id, result: head }));
        }),
      ),
    );
    const port = open(urls);
    expect(await port.batch([call(1)])).toEqual([{ tag: 'result', result: '0x10' }]);
    await port.preferFreshest();
    expect(await port.batch([call(1)])).toEqual([{ tag: 'result', result: '0x100' }]);
  });

  it('reaches everybody with what must be heard', async () => {
    const seen: string[] = [];
    const urls = await Promise.all(
      ['a', 'b'].map((name) =>
        serve((body, response) => {
          seen.push(name);
          echo(body, response);
        }),
      ),
    );
    const answers = await open(urls).everywhere([call(1), call(2)]);
    expect(seen.sort()).toEqual(['a', 'b']);
    expect(answers.map((each) => each.length)).toEqual([2, 2]);
  });

  describe('endpoints of another chain', () => {
    /** Tells this chain, and counts what else it was asked. */
    async function serveChain(chain: { id: string; asked: number; fails?: boolean }) {
      return await serve((body, response) => {
        const { id, method } = body as { id: number; method: string };
        if (method !== 'eth_chainId') chain.asked += 1;
        const told: Record<string, string> = { eth_chainId: chain.id, eth_getCode: '0x60' };
        const result = told[method] ?? 'done';
        if (chain.fails === true) response.writeHead(503).end();
        else response.end(JSON.stringify({ id, result }));
      });
    }

    it('are asked for nothing, whatever their place, and named once', async () => {
      const other = { id: '0x1', asked: 0 };
      const ours = { id: '0x1237', asked: 0 };
      const urls = [await serveChain(other), await serveChain(ours)];
      const foreign: unknown[] = [];
      const port = createRpc({
        urls,
        timeoutMs: 1_000,
        chain: { id: 4_663 },
        onForeign: (url, told) => foreign.push([url, told]),
      });
      rpc = port;
      const done = { tag: 'result', result: 'done' };
      expect(await port.servesChain()).toEqual({ tag: 'right' });
      for (let round = 0; round < 3; round += 1) {
        expect(await port.batch([call(1)])).toEqual([done]);
        expect((await port.untilResult(call(2))).at(-1)).toEqual(done);
        expect((await port.everywhere([call(3)]))[0]).toContainEqual(done);
      }
      expect(other.asked).toBe(0);
      expect(foreign).toEqual([[urls[0], { tag: 'foreign', id: 1 }]]);
    });

    it('may have our id: where our contract has no code nothing is sent, until it has', async () => {
      const contract = '0x00000000000000000000000000000000000c0de0';
      const asked: string[] = [];
      let code = '0x';
      const url = await serve((body, response) => {
        const { id, method } = body as { id: number; method: string };
        asked.push(method);
        const told: Record<string, string> = { eth_chainId: '0x1237', eth_getCode: code };
        response.end(JSON.stringify({ id, result: told[method] ?? 'first' }));
      });
      const second = await serveChain({ id: '0x1237', asked: 0 });
      const time = { now: 0 };
      const told: unknown[] = [];
      const port = createRpc({
        urls: [url, second],
        timeoutMs: 1_000,
        clock: () => time.now,
        chain: { id: 4_663, contract },
        onForeign: (where, what) => told.push([where, what]),
      });
      rpc = port;
      for (let round = 0; round < 10; round += 1) {
        const answers = await port.untilResult(call(round));
        expect(answers.at(-1)).toEqual({ tag: 'result', result: 'done' });
        time.now += 1_000;
      }
      expect(new Set(asked)).toEqual(new Set(['eth_chainId', 'eth_getCode']));
      expect(told).toEqual([[url, { tag: 'empty', contract }]]);
      code = '0x60';
      await vi.waitUntil(async () => {
        time.now += 1_000;
        const [answer] = await port.untilResult(call(1));
        return answer?.tag === 'result' && answer.result === 'first';
      }, WAIT);
    });

    it('are nobody to send through where there is none of ours', async () => {
      const other = { id: '0x1', asked: 0 };
      const port = createRpc({
        urls: [await serveChain(other)],
        timeoutMs: 1_000,
        chain: { id: 4_663 },
      });
      rpc = port;
      expect(await port.servesChain()).toEqual({ tag: 'foreign', ids: [1] });
      expect(await port.untilResult(call(1))).toMatchObject([{ tag: 'not_delivered' }]);
      expect(other.asked).toBe(0);
    });

    it('are found out after a pause too: something else may answer there by then', async () => {
      const first: { id: string; asked: number; fails?: boolean } = { id: '0x1237', asked: 0 };
      const ours = { id: '0x1237', asked: 0 };
      const urls = [await serveChain(first), await serveChain(ours)];
      const time = { now: 0 };
      let foreign = 0;
      const port = createRpc({
        urls,
        timeoutMs: 1_000,
        chain: { id: 4_663 },
        clock: () => time.now,
        onForeign: () => {
          foreign += 1;
        },
      });
      rpc = port;
      await port.batch([call(1)]);
      first.fails = true;
      for (let round = 0; round < 3; round += 1) await port.batch([call(1)]);
      first.fails = false;
      first.id = '0x1';
      first.asked = 0;
      await vi.waitUntil(async () => {
        time.now += 1_000;
        await port.batch([call(1)]);
        return foreign === 1;
      }, WAIT);
      expect(first.asked).toBe(0);
    });
  });
});
