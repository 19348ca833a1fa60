import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createChainClient } from './client.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function clientOf(listener: RequestListener) {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return createChainClient({
    urls: [`http://127.0.0.1:${port}`],
    timeoutMs: 5_000,
    multicall3: `0x${'ca'.repeat(20)}`,
  });
}

const CHAIN = '{"jsonrpc":"2.0","id":1,"result":"0x1237"}';
const LIMIT = '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"too many"}}';
const REFUSAL = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}';

test.each(['', LIMIT, '<html>'])(
  'one endpoint that is to be left alone for a day is asked again in a moment: %s',
  async (body) => {
    let asked = 0;
    const client = await clientOf((_, response) => {
      asked += 1;
      if (asked > 2) response.end(CHAIN);
      else response.writeHead(429, { 'retry-after': '86400' }).end(body);
    });
    expect(await client.getChainId()).toBe(4663);
    expect(asked).toBe(3);
  },
);

test.each([
  ['a fault of the node', -32_603, undefined, 2],
  ['a revert that it calls so', -32_603, '0x08c379a0', 1],
  ['a method that it lacks', -32_601, undefined, 1],
])('one endpoint is asked again where that may help: %s', async (_what, code, data, times) => {
  let asked = 0;
  const client = await clientOf((_, response) => {
    asked += 1;
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message: 'x', data } }));
  });
  await expect(client.getChainId()).rejects.toThrow();
  expect(asked).toBe(times);
});

test('one endpoint that breaks off is asked once more, one that refuses is not', async () => {
  let asked = 0;
  const broken = await clientOf((request) => {
    asked += 1;
    request.socket.destroy();
  });
  await expect(broken.getChainId()).rejects.toThrow();
  expect(asked).toBe(2);
  const refusing = await clientOf((_, response) => {
    asked += 1;
    response.end(REFUSAL);
  });
  await expect(refusing.getChainId()).rejects.toThrow();
  expect(asked).toBe(3);
});
