import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import {
  createPublicClient,
  http,
  HttpRequestError,
  ResponseBodyTooLargeError,
  TimeoutError,
} from 'viem';
import { afterEach, expect, it } from 'vitest';
import { keepAliveFetch } from './keep-alive-fetch.ts';

let server: Server | null = null;
let connections = 0;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve) ?? resolve(null));
  server = null;
});

async function serve(listener: RequestListener): Promise<string> {
  connections = 0;
  const started = createServer((request, response) => {
    // A body is read before it is answered.
    request.resume().on('end', () => listener(request, response));
  });
  server = started;
  started.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}
const clientOf = (url: string, timeout = 5_000) =>
  createPublicClient({
    transport: http(url, {
      fetchFn: keepAliveFetch,
      maxResponseBodySize: false,
      retryCount: 0,
      timeout,
    }),
  });
const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1237' });
const JSON_TYPE = { 'content-type': 'application/json' };

it('asks over one connection, one after another, and reads what is zipped', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(gzipSync(answer));
  });
  const client = clientOf(url);
  for (let turn = 0; turn < 5; turn += 1) expect(await client.getChainId()).toBe(4663);
  expect(connections).toBe(1);
});

it('reads text of any script', async () => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'ß 株 𝄞' });
  const url = await serve((_, response) => response.writeHead(200, JSON_TYPE).end(body));
  const asked = clientOf(url).request({ method: 'web3_clientVersion' });
  expect(await asked).toBe('ß 株 𝄞');
});

it('reads a long text as it is, whether its length is told or not', async () => {
  const long = Array.from({ length: 60_000 }, (_, index) => `${index} ß 株 𝄞`).join(' ');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: long });
  const url = await serve((request, response) => {
    const told = request.url === '/told' ? { 'content-length': Buffer.byteLength(body) } : {};
    response.writeHead(200, { ...JSON_TYPE, ...told }).end(body);
  });
  for (const path of ['/told', '/untold', '/told']) {
    const asked = clientOf(`${url}${path}`).request({ method: 'web3_clientVersion' });
    expect(await asked).toBe(long);
  }
  expect(Buffer.byteLength(body)).toBeGreaterThan(1_000_000);
});

it('refuses a text that is longer than any that is asked for, and one that breaks off', async () => {
  const url = await serve((request, response) => {
    const length = request.url === '/long' ? 11_000_000 : 1_000_000;
    response.writeHead(200, { ...JSON_TYPE, 'content-length': length });
    if (request.url === '/long') response.end(Buffer.alloc(length, ' '));
    else response.write(' '.repeat(500_000), () => request.socket.destroy());
  });
  const thrown = (path: string) => expect(clientOf(`${url}${path}`).getChainId()).rejects;
  await thrown('/long').toBeInstanceOf(ResponseBodyTooLargeError);
  await thrown('/cut').toBeInstanceOf(HttpRequestError);
});

it('unzips no more than it would read, and follows to nothing longer', async () => {
  // 400 MB in 0.4.
  const part = gzipSync(Buffer.alloc(20_000_000));
  const target = { url: '' };
  const url = await serve((request, response) => {
    if (request.url === '/long') response.writeHead(200, JSON_TYPE).end(Buffer.alloc(11_000_000));
    else if (request.url === '/zipped') {
      response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' });
      response.end(Buffer.concat(Array.from({ length: 20 }, () => part)));
    } else response.writeHead(307, { location: `${target.url}/long` }).end();
  });
  target.url = url;
  const thrown = (path: string) => expect(clientOf(`${url}${path}`).getChainId()).rejects;
  await thrown('/sent').toBeInstanceOf(ResponseBodyTooLargeError);
  const before = process.memoryUsage().rss;
  await Promise.all(
    Array.from({ length: 8 }, () => thrown('/zipped').toBeInstanceOf(ResponseBodyTooLargeError)),
  );
  // Of eight answers as far as they are read, and not whole.
  expect(process.memoryUsage().rss - before).toBeLessThan(300_000_000);
});

it('tells a text that trickles beyond the deadline from one that breaks off', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': 1_000_000 }).write(' '.repeat(99));
  });
  await expect(clientOf(url, 100).getChainId()).rejects.toBeInstanceOf(TimeoutError);
});

it('goes where an answer sends it', async () => {
  const target = { url: '' };
  const url = await serve((request, response) => {
    if (request.url === '/there') response.writeHead(200, JSON_TYPE).end(answer);
    else response.writeHead(307, { location: `${target.url}/there` }).end();
  });
  target.url = url;
  expect(await clientOf(url).getChainId()).toBe(4663);
});

it('tells a status, a silence, a broken answer and a refused connection as viem does', async () => {
  const url = await serve((request, response) => {
    if (request.url === '/late') return;
    if (request.url === '/cut') {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': 1_000 }).write('{"jsonrpc"');
      setImmediate(() => request.socket.destroy());
      return;
    }
    response.writeHead(429, { 'retry-after': '3' }).end('slow down');
  });
  const thrown = (path: string, timeout?: number) =>
    clientOf(`${url}${path}`, timeout)
      .getChainId()
      .then(
        () => null,
        (error: unknown) => error,
      );
  const limited = await thrown('/');
  expect(limited).toBeInstanceOf(HttpRequestError);
  expect(limited).toMatchObject({ status: 429 });
  expect((limited as HttpRequestError).headers?.get('retry-after')).toBe('3');
  expect(await thrown('/late', 50)).toBeInstanceOf(TimeoutError);
  expect(await thrown('/cut')).toBeInstanceOf(HttpRequestError);
  const nobody = clientOf('http://127.0.0.1:1');
  await expect(nobody.getChainId()).rejects.toBeInstanceOf(HttpRequestError);
});

it('tells the status of an error that calls itself JSON and is none, or that breaks off', async () => {
  const url = await serve((request, response) => {
    if (request.url !== '/cut') {
      response.writeHead(429, { ...JSON_TYPE, 'retry-after': '3' }).end(request.url?.slice(1));
      return;
    }
    response.writeHead(429, { ...JSON_TYPE, 'content-length': 1_000 }).write('{"jsonrpc"');
    setImmediate(() => request.socket.destroy());
  });
  for (const path of ['/', '/slow', '/%7B', '/cut']) {
    const thrown: unknown = await clientOf(`${url}${path}`)
      .getChainId()
      .catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(HttpRequestError);
    expect(thrown).toMatchObject({ status: 429 });
  }
});

it('asks again when a connection was closed while it lay idle', async () => {
  let served = 0;
  const url = await serve((request, response) => {
    served += 1;
    // The second request on a connection meets its end.
    if (served === 2) request.socket.resetAndDestroy();
    else response.writeHead(200, JSON_TYPE).end(answer);
  });
  const client = clientOf(url);
  expect(await client.getChainId()).toBe(4663);
  expect(await client.getChainId()).toBe(4663);
  expect(served).toBe(3);
});
