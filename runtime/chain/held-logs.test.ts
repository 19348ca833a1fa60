import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { HttpRequestError, numberToHex, type PublicClient, TimeoutError } from 'viem';
import { afterEach, expect, it } from 'vitest';
import { createChainClient } from './client.ts';
import { HeldLogs } from './held-logs.ts';
import { MalformedLogs } from './log-shape.ts';
import { readLogs, saysNothingOfTheRange } from './read-logs.ts';

const FILTER = { addresses: ['0x01', '0x02'] as const, topics: ['0x0a'] as const };
const HELD_FROM = 2_000;
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

type Listener = (...of: [...Parameters<RequestListener>, body: string]) => void;

async function serve(listener: Listener): Promise<string> {
  const server = createServer((request, response) => {
    void text(request).then((body) => listener(request, response, body));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const clientOf = (...urls: string[]): PublicClient =>
  createChainClient({
    urls,
    timeoutMs: 500,
    multicall3: '0x00000000000000000000000000000000000000ca',
    heldFrom: HELD_FROM,
  });

const JSON_TYPE = { 'content-type': 'application/json' };
const answers =
  (body: string | Buffer, headers: object = {}): RequestListener =>
  (_, response) =>
    response.writeHead(200, { ...JSON_TYPE, ...headers }).end(body);

/** In the reverse of the chain's order. */
const logs = Array.from({ length: 40 }, (_, index) => ({
  address: `0x${'AA'.repeat(20)}`,
  topics: [`0x${'0a'.repeat(32)}`],
  data: '0x',
  blockNumber: numberToHex(100 - Math.floor(index / 4)),
  blockTimestamp: numberToHex(1_000 - Math.floor(index / 4)),
  blockHash: `0x${'bb'.repeat(32)}`,
  logIndex: numberToHex(3 - (index % 4)),
  transactionHash: `0x${'cc'.repeat(32)}`,
  removed: index === 7,
}));
const bodyOf = (result: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, result });
const LARGE = bodyOf(logs);
const SMALL = bodyOf(logs.slice(0, 2));

const ask = (client: PublicClient): Promise<unknown> =>
  client.request({ method: 'eth_getLogs', params: [{ fromBlock: '0x1', toBlock: '0x64' }] });
const read = async (client: PublicClient) => await readLogs(client, FILTER, 1, 100);
const faultOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => value,
    (error: unknown) => error,
  );

it('holds what is large, plain or zipped, and reads it as what is small', async () => {
  expect(LARGE.length).toBeGreaterThan(HELD_FROM);
  for (const url of [
    await serve(answers(LARGE)),
    await serve(answers(gzipSync(LARGE), { 'content-encoding': 'gzip' })),
    await serve(answers(JSON.stringify({ result: logs, id: 1, jsonrpc: '2.0' }))),
    await serve(answers(`${JSON.stringify({ id: 1, result: logs }, null, 2)}\n`)),
  ]) {
    const client = clientOf(url);
    const held = await ask(client);
    expect(held).toBeInstanceOf(HeldLogs);
    expect((held as HeldLogs).bytes.buffer.byteLength).toBe((held as HeldLogs).bytes.length);
    const found = await read(client);
    expect(found).toHaveLength(39);
    expect(found[0]).toMatchObject({
      address: `0x${'aa'.repeat(20)}`,
      block: 91,
      logIndex: 0,
      time: 991,
    });
  }
  const small = clientOf(await serve(answers(SMALL)));
  expect(await ask(small)).toEqual(logs.slice(0, 2));
  expect(await read(small)).toHaveLength(2);
});

it('holds the answer of that endpoint of several that gave it', async () => {
  // Each endpoint is asked for its chain too, and whether it has the last block.
  const answering = async (toLogs: string) =>
    await serve((_, response, asked) => {
      const body = asked.includes('eth_getLogs') ? toLogs : besideLogs(asked);
      response.writeHead(200, JSON_TYPE).end(body);
    });
  const client = clientOf(await answering(LARGE.slice(0, -9)), await answering(LARGE));
  expect(await ask(client)).toBeInstanceOf(HeldLogs);
  expect(await read(client)).toHaveLength(39);
});

it('is asked elsewhere first, and reads here what comes back from there', async () => {
  const client = clientOf(await serve(answers(LARGE)));
  const seen: number[] = [];
  const elsewhere = async (held: HeldLogs) => {
    seen.push(held.bytes.length);
    return { taken: true };
  };
  expect(await readLogs(client, FILTER, 1, 100, { elsewhere })).toEqual({ taken: true });
  const back = async (held: HeldLogs) => {
    held.bytes = structuredClone(held.bytes, { transfer: [held.bytes.buffer] });
    return null;
  };
  expect(await readLogs(client, FILTER, 1, 100, { elsewhere: back })).toHaveLength(39);
  const small = clientOf(await serve(answers(SMALL)));
  expect(await readLogs(small, FILTER, 1, 100, { elsewhere })).toHaveLength(2);
  expect(seen).toEqual([LARGE.length]);
});

it('tells faults as it would of small answers', async () => {
  const refusal = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32_005, message: 'x'.repeat(HELD_FROM) },
  });
  const broken = LARGE.replace('cc"', 'cc');
  const cut = LARGE.slice(0, -9);
  const thrown = async (listener: RequestListener) =>
    await faultOf(read(clientOf(await serve(listener))));
  expect(await thrown(answers(refusal))).toMatchObject({ code: -32_005 });
  expect(await thrown(answers(broken))).toBeInstanceOf(HttpRequestError);
  expect(await thrown(answers(cut))).toBeInstanceOf(HttpRequestError);
  const both = `{"id":1,"result":[],"error":{"code":-32005,"message":"${'x'.repeat(HELD_FROM)}"}}`;
  expect(await thrown(answers(both))).toMatchObject({ code: -32_005 });
  const failed: RequestListener = (_, response) => response.writeHead(503, JSON_TYPE).end(LARGE);
  expect(await thrown(failed)).toMatchObject({ status: 503 });
  expect(await thrown(() => undefined)).toBeInstanceOf(TimeoutError);
});

const HEAD = {
  number: '0x64',
  hash: `0x${'bb'.repeat(32)}`,
  parentHash: `0x${'ba'.repeat(32)}`,
  timestamp: '0x3e8',
  transactions: [],
};
/** What a node of this chain answers beside logs. */
const besideLogs = (asked: string): string =>
  bodyOf(asked.includes('eth_getBlockBy') ? HEAD : '0x1237');

/** Answers what it is asked beside logs as a node of this chain does. */
async function node(logsAnswer: string): Promise<{ asked: number; url: string }> {
  const seen = { asked: 0, url: '' };
  const server = createServer((request, response) => {
    void text(request).then((asked) => {
      const isOfLogs = asked.includes('eth_getLogs');
      if (isOfLogs) seen.asked += 1;
      response.writeHead(200, JSON_TYPE).end(isOfLogs ? logsAnswer : besideLogs(asked));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  seen.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return seen;
}

it('leaves an endpoint whose large answers are broken for one that answers, and holds what that one tells', async () => {
  const cut = LARGE.slice(0, LARGE.lastIndexOf('}', LARGE.length - 4) + 1);
  const foreign = bodyOf(logs.map((log) => ({ ...log, blockNumber: '0x65' })));
  for (const broken of [LARGE.replace('cc"', 'cc'), cut, foreign]) {
    const [bad, good] = [await node(broken), await node(LARGE)];
    const client = clientOf(bad.url, good.url);
    let taken = 0;
    const elsewhere = async (held: HeldLogs) => {
      taken += held.bytes.length === LARGE.length ? 1 : 0;
      return null;
    };
    for (let again = 0; again < 20; again += 1) {
      // What it answers well beside logs does not speak for them.
      await client.getChainId();
      expect(await readLogs(client, FILTER, 1, 100, { elsewhere })).toHaveLength(39);
    }
    // It is found out, and left alone after that.
    expect(bad.asked).toBeGreaterThan(1);
    expect(bad.asked).toBeLessThan(10);
    expect(taken).toBeGreaterThan(10);
  }
});

const BENT: [string, (log: (typeof logs)[number]) => unknown][] = [
  ['nothing', () => null],
  ['no address', (log) => ({ ...log, address: undefined })],
  ['no topics', (log) => ({ ...log, topics: undefined })],
  ['a topic in capitals', (log) => ({ ...log, topics: [`0x${'0A'.repeat(32)}`] })],
  ['a topic that is none', (log) => ({ ...log, topics: [null] })],
  ['a topic that is short', (log) => ({ ...log, topics: ['0x'] })],
  ['half a byte', (log) => ({ ...log, data: '0x0' })],
  ['a time that is none', (log) => ({ ...log, blockTimestamp: 'now' })],
  ['no hash', (log) => ({ ...log, blockHash: '0x' })],
  ['no index', (log) => ({ ...log, logIndex: undefined })],
  ['no block, as one that waits', (log) => ({ ...log, blockNumber: null, blockHash: null })],
  ['a block that was not asked for', (log) => ({ ...log, blockNumber: '0x65' })],
];

it.each(BENT)('asks another endpoint where a log has %s', async (_, bend) => {
  const bent = (...at: number[]) =>
    logs.map((log, index) => (at.includes(index) ? bend(log) : log));
  const shown = [
    [bodyOf(bent(3)), LARGE, 39],
    [bodyOf(bent(0)), LARGE, 39],
    [bodyOf(bent(...logs.keys())), LARGE, 39],
    [bodyOf(bent(2).slice(0, 3)), bodyOf(logs.slice(0, 3)), 3],
  ] as const;
  for (const [answer, right, count] of shown) {
    const [bad, good] = [await node(answer), await node(right)];
    expect(await read(clientOf(bad.url, good.url))).toHaveLength(count);
    expect(bad.asked).toBeGreaterThan(0);
    const thrown = await faultOf(read(clientOf(bad.url)));
    expect(thrown).toBeInstanceOf(MalformedLogs);
    expect(saysNothingOfTheRange(thrown)).toBe(true);
  }
});

it('tells an answer that breaks off or is no JSON, which a shorter one may not, from no answer at all', async () => {
  const cut: RequestListener = (request, response) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': LARGE.length });
    response.write(LARGE.slice(0, 3_000), () => request.socket.destroy());
  };
  const zipped = gzipSync(LARGE);
  const thrown = async (listener: RequestListener) =>
    await faultOf(read(clientOf(await serve(listener))));
  for (const listener of [
    answers(LARGE.slice(0, -9)),
    answers('<html>too large</html>'),
    cut,
    answers(zipped.subarray(0, -40), { 'content-encoding': 'gzip' }),
  ]) {
    const error = await thrown(listener);
    expect(error).toBeInstanceOf(HttpRequestError);
    expect(saysNothingOfTheRange(error)).toBe(false);
  }
  const refused = await faultOf(read(clientOf('http://127.0.0.1:1')));
  expect(saysNothingOfTheRange(refused)).toBe(true);
  const limited = await serve((_, response) => response.writeHead(429).end());
  expect(saysNothingOfTheRange(await faultOf(read(clientOf(limited))))).toBe(true);
  // Nor is the one hidden by the other, in whatever order they are asked.
  const gateway = (await node(LARGE.slice(0, -9))).url;
  for (const silent of ['http://127.0.0.1:1', limited]) {
    for (const urls of [
      [gateway, silent],
      [silent, gateway],
    ]) {
      expect(saysNothingOfTheRange(await faultOf(read(clientOf(...urls))))).toBe(false);
    }
  }
});

it('counts a log once that a node tells twice', async () => {
  const client = clientOf(await serve(answers(bodyOf([...logs, ...logs]))));
  expect(await read(client)).toHaveLength(39);
});

it('holds nothing but logs', async () => {
  const client = clientOf(await serve(answers(LARGE)));
  const call = { method: 'eth_unknown' } as unknown as { method: 'eth_chainId' };
  expect(await client.request(call)).toEqual(logs);
});
