import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPublicClient, http } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verdictOf } from './endpoint-verdict.ts';

type Reply = { status?: number; headers?: Record<string, string>; text: string };

let reply: Reply;
const server = createServer((_, response) => {
  response.writeHead(reply.status ?? 200, reply.headers).end(reply.text);
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const rpcError = (code: number, data?: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message: 'x', data } });

test.each<[string, Reply, object, string?]>([
  ['a revert', { text: rpcError(3, '0x') }, { tag: 'reverted' }],
  ['a revert by its data', { text: rpcError(-32000, { data: '0xab' }) }, { tag: 'reverted' }],
  ['a method it lacks', { text: rpcError(-32601) }, { tag: 'refused' }],
  ['a fault of this call', { text: rpcError(-32000) }, { tag: 'refused' }],
  [
    'a rate limit inside a 200',
    { text: rpcError(-32005) },
    { tag: 'rate_limited', retryAfterMs: null },
  ],
  ['a range of too many logs', { text: rpcError(-32005) }, { tag: 'refused' }, 'eth_getLogs'],
  [
    'too many calls for logs',
    { status: 429, headers: { 'retry-after': '2' }, text: rpcError(-32005) },
    { tag: 'rate_limited', retryAfterMs: 2_000 },
    'eth_getLogs',
  ],
  [
    'too many calls for logs, told inside a 200',
    { text: rpcError(429) },
    { tag: 'rate_limited', retryAfterMs: null },
    'eth_getLogs',
  ],
  [
    'HTTP 429',
    { status: 429, headers: { 'retry-after': '3' }, text: 'slow down' },
    { tag: 'rate_limited', retryAfterMs: 3_000 },
  ],
  [
    'HTTP 429 with an error in it',
    { status: 429, headers: { 'retry-after': '2' }, text: rpcError(1) },
    { tag: 'rate_limited', retryAfterMs: 2_000 },
  ],
  ['HTTP 413', { status: 413, text: 'too large' }, { tag: 'refused' }],
  ['HTTP 401', { status: 401, text: 'no such key' }, { tag: 'fault' }],
  ['HTTP 502', { status: 502, text: '<html>' }, { tag: 'fault' }],
  ['no JSON', { text: '<html>' }, { tag: 'fault' }],
])('%s is told by its structure', async (_, answer, verdict, method = 'eth_call') => {
  reply = answer;
  const { port } = server.address() as AddressInfo;
  const client = createPublicClient({
    transport: http(`http://127.0.0.1:${port}`, { retryCount: 0 }),
  });
  const error: unknown = await client.request({ method: 'eth_chainId' }).catch((e: unknown) => e);
  expect(verdictOf(error, method)).toEqual(verdict);
});

test('what is no error of the client is a fault', () => {
  expect(verdictOf(new Error('x'), 'eth_call')).toEqual({ tag: 'fault' });
});
