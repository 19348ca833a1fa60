import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ENDPOINTS } from '../endpoints/index.ts';
import { ApiClientError, createApiClient } from './index.ts';
import { routesOf } from './route-table.ts';
import { ROUTES } from './routes.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const seen: { method: string; url: string; body: string; type: string | undefined }[] = [];
let answer: Answer;
let base: string;

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (part: string) => {
    body += part;
  });
  request.on('end', () => {
    const { method = '', url = '' } = request;
    seen.push({ method, url, body, type: request.headers['content-type'] });
    answer(request, response);
  });
});

const says =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  seen.length = 0;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function refusal(call: Promise<unknown>): Promise<ApiClientError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiClientError);
  return error as ApiClientError;
}

describe('the client', () => {
  it('knows the routes that the endpoints have; else run npm run build:client', () => {
    expect(ROUTES).toEqual(routesOf(ENDPOINTS));
  });

  it('needs nothing of the server at run time', () => {
    const files = new Set<string>();
    const follow = (url: URL) => {
      if (files.has(url.href)) return;
      files.add(url.href);
      const source = readFileSync(url, 'utf8');
      const imported = source.matchAll(/^(?:import|export) (?!type )[^;]*? from '([^']+)';/gm);
      for (const [statement, path] of imported) {
        expect(path, statement).toMatch(/^\.\//);
        follow(new URL(path ?? '', url));
      }
    };
    follow(new URL('index.ts', import.meta.url));
    const names = [...files].map((href) => href.slice(href.lastIndexOf('/') + 1));
    expect(names.toSorted()).toEqual(['client.ts', 'error.ts', 'index.ts', 'routes.ts']);
  });

  it('puts inputs into path, query and body, under a base path', async () => {
    const client = createApiClient({ baseUrl: `${base}/some/base/` });
    answer = says(200, { markets: [], asOfMs: 1, live: true });
    const { live } = await client.markets({ fields: 'ticker,nav', prices: '0' });
    expect(live).toBe(true);
    await client.markets();
    await client.basket({ ticker: 'A/B ?' });
    await client.buildBuy({ ticker: 'MAG7', amountUsdg: 5.5, address: '0x1', simulate: false });
    expect(seen).toEqual([
      {
        method: 'GET',
        url: '/some/base/v1/markets?fields=ticker%2Cnav&prices=0',
        body: '',
        type: undefined,
      },
      { method: 'GET', url: '/some/base/v1/markets', body: '', type: undefined },
      { method: 'GET', url: '/some/base/v1/baskets/A%2FB%20%3F', body: '', type: undefined },
      {
        method: 'POST',
        url: '/some/base/v1/tx/buy',
        body: '{"ticker":"MAG7","amountUsdg":5.5,"address":"0x1","simulate":false}',
        type: 'application/json',
      },
    ]);
  });

  it('refuses to ask without what the path needs', async () => {
    const client = createApiClient({ baseUrl: base });
    await expect(client.basket({ ticker: '' })).rejects.toThrow(/ticker is required/);
    expect(seen).toEqual([]);
  });

  it('throws what the service refused', async () => {
    const client = createApiClient({ baseUrl: base });
    answer = says(
      429,
      { error: 'too many requests', code: 'PAUSED', retryable: true },
      { 'retry-after': '17', 'x-request-id': 'abc' },
    );
    expect(await refusal(client.jobs())).toMatchObject({
      message: 'too many requests',
      status: 429,
      code: 'PAUSED',
      retryable: true,
      retryAfter: 17,
      requestId: 'abc',
    });
    answer = says(404, { error: 'no basket', code: 'UNKNOWN_BASKET', retryable: false });
    const error = await refusal(client.basket({ ticker: 'NONE' }));
    expect(error).toMatchObject({ status: 404, code: 'UNKNOWN_BASKET', retryable: false });
    expect(error.retryAfter).toBeUndefined();
  });

  it('reads a date in Retry-After', async () => {
    const client = createApiClient({ baseUrl: base });
    const later = new Date(Date.now() + 30_000).toUTCString();
    answer = says(
      503,
      { error: 'paused', code: 'PAUSED', retryable: true },
      { 'retry-after': later },
    );
    const { retryAfter = 0 } = await refusal(client.jobs());
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(30);
  });

  it("tells a proxy's words from the service's", async () => {
    const client = createApiClient({ baseUrl: base });
    answer = says(502, '<html>Bad Gateway</html>', { 'content-type': 'text/html' });
    expect(await refusal(client.baskets())).toMatchObject({
      status: 502,
      code: 'UNEXPECTED',
      retryable: true,
    });
    answer = says(200, '<html>captive portal</html>');
    expect(await refusal(client.baskets())).toMatchObject({ status: 200, code: 'UNEXPECTED' });
    answer = says(403, { message: 'no' });
    expect(await refusal(client.baskets())).toMatchObject({ code: 'UNEXPECTED', retryable: false });
  });

  it('gives up when no answer comes in time, also in the middle of one', async () => {
    const client = createApiClient({ baseUrl: base, timeoutMs: 50 });
    answer = () => {};
    expect(await refusal(client.baskets())).toMatchObject({
      status: 0,
      code: 'TIMEOUT',
      retryable: true,
    });
    answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"indexes":');
    };
    expect(await refusal(client.baskets())).toMatchObject({ code: 'TIMEOUT' });
    answer = says(200, { ok: true });
    expect(await client.health({ timeoutMs: 10_000 })).toEqual({ ok: true });
  });

  it('ends with the caller, for the reason that the caller gave', async () => {
    const client = createApiClient({ baseUrl: base });
    const controller = new AbortController();
    const reason = new Error('the user left');
    answer = () => controller.abort(reason);
    await expect(client.health({ signal: controller.signal })).rejects.toBe(reason);
    await expect(client.baskets({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('says so when nobody listens', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => {
      closed.listen(0, '127.0.0.1', resolve);
    });
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => {
      closed.close(resolve);
    });
    const client = createApiClient({ baseUrl: `http://127.0.0.1:${port}` });
    expect(await refusal(client.health())).toMatchObject({
      status: 0,
      code: 'UNREACHABLE',
      retryable: true,
    });
  });
});
