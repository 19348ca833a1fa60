/** What /mcp refuses before a tool is called, and from whom. */
import { request as httpRequest } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fork, startFork } from '../harness/fork.ts';
import { CURRENT_VERSION, currentMessage, legacyClient, post, send } from './mcp-client.ts';
import { launchApi } from './use-api.ts';

/** Nothing here changes the chain: one fork and one api, without a revert between tests. */
let fork: Fork;
let api: Awaited<ReturnType<typeof launchApi>>;
beforeAll(async () => {
  fork = await startFork();
  api = await launchApi(fork.url, fork.deployment);
  await api.marksSettled();
});
afterAll(async () => {
  await api.stop();
  rmSync(api.folder, { recursive: true, force: true });
  await fork.anvil.stop();
});

const SECRET = `0x${'ab'.repeat(32)}`;
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const both = { accept: 'application/json, text/event-stream' };
const port = () => new URL(api.url).port;

/** JSON-RPC's shape around the one error shape, as HTTP's other refusals have it. */
function expectRefused({ json, headers }: Awaited<ReturnType<typeof post>>, why: RegExp): void {
  const error = expect.stringMatching(why);
  expect(json).toEqual({
    jsonrpc: '2.0',
    id: null,
    error: {
      code: -32_000,
      message: error,
      data: { error, code: 'BAD_REQUEST', retryable: false },
    },
  });
  expect(headers['cache-control']).toBe('no-store');
}

describe('who may call', () => {
  test.each([
    ['its address', () => `127.0.0.1:${port()}`, undefined, 200],
    ['this machine by name', () => `localhost:${port()}`, 'http://localhost:3000', 200],
    ['this machine by IPv6', () => `[::1]:${port()}`, 'http://[::1]:6274', 200],
    ['a rebound name', () => 'evil.example.com', undefined, 403],
    ['a rebound name and its page', () => 'evil.example.com', 'http://evil.example.com', 403],
    ['the page of a stranger', () => `127.0.0.1:${port()}`, 'https://evil.example.com', 403],
    ['a page without an origin', () => `127.0.0.1:${port()}`, 'null', 403],
    ['a Host that is none', () => 'a b', undefined, 403],
    ['a key for a Host', () => SECRET, undefined, 403],
    ['a user at this machine', () => `evil@127.0.0.1:${port()}`, undefined, 403],
    ['a path on this machine', () => `127.0.0.1:${port()}/evil`, undefined, 403],
  ])('%s', async (_, host, origin, status) => {
    const answer = await post(api.url, ping, {
      ...both,
      host: host(),
      ...(origin === undefined ? {} : { origin }),
    });
    expect(answer.status).toBe(status);
    expect(answer.text).not.toContain('abab');
    expect(answer.text).not.toContain('evil');
    if (status === 403) expectRefused(answer, /MCP_ALLOWED_HOSTS/);
  });
});

describe('what a message is', () => {
  test.each([
    ['no JSON', '{"jsonrpc":', 400, -32_700],
    ['nothing', '', 400, -32_600],
    ['null', 'null', 400, -32_600],
    ['a number', '1', 400, -32_600],
    ['a text', '"x"', 400, -32_600],
    ['a batch', [ping, ping], 400, -32_600],
    ['an empty batch', [], 400, -32_600],
    ['no JSON-RPC', { hello: 1 }, 400, -32_600],
    ['JSON-RPC 1.0', { ...ping, jsonrpc: '1.0' }, 400, -32_600],
    [
      'a message nested without end',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"basket_markets","arguments":${'{"a":'.repeat(30_000)}1${'}'.repeat(30_000)}}}`,
      400,
      -32_600,
    ],
    ['an id that is an object', { ...ping, id: {} }, 400, -32_600],
    ['an id that is a key', { ...ping, id: SECRET }, 400, -32_600],
    ['an id with a key in it', { ...ping, id: `call-${SECRET}` }, 400, -32_600],
    ['a body over the limit', { ...ping, params: { x: 'x'.repeat(300_000) } }, 413, -32_000],
  ])('%s is refused', async (_, body, status, code) => {
    const answer = await post(api.url, body, both);
    expect({ status: answer.status, json: answer.json }).toMatchObject({
      status,
      json: {
        jsonrpc: '2.0',
        id: null,
        error: { code, data: { code: 'BAD_REQUEST', retryable: false } },
      },
    });
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.text).not.toContain('abab');
  });

  test.each([
    ['a text', 'x'],
    ['null', null],
    ['a list', []],
  ])('params that are %s are refused as such', async (_, params) => {
    const answer = await post(api.url, { ...ping, params }, both);
    expect(answer.json).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32_602, message: 'params: expected an object' },
    });
  });

  test.each(['/mcp/', '/MCP', '/Mcp/?a=1'])('is refused in the same shape at %s', async (path) => {
    const headers = { ...both, 'content-type': 'application/json' };
    const url = api.url + path;
    const answer = await fetch(url, { method: 'POST', headers, body: '{' });
    expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32_700 } });
    const served = await fetch(url, { method: 'POST', headers, body: JSON.stringify(ping) });
    expect(await served.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  test('another media type is refused', async () => {
    const answer = await post(api.url, 'a=1', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(answer).toMatchObject({ status: 415, json: { error: { code: -32_000 } } });
  });

  test('a notification is taken without a word', async () => {
    const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const answer = await post(api.url, note, both);
    expect([answer.status, answer.text]).toEqual([202, '']);
  });

  test('an unknown method, version or header is an error that repeats no key', async () => {
    const unknown = await post(api.url, { ...ping, method: SECRET }, both);
    expect(unknown.json).toMatchObject({ id: 1, error: { code: -32_601 } });
    const current = currentMessage(SECRET);
    const version = currentMessage('tools/list');
    for (const answer of [
      unknown,
      await post(api.url, ping, { ...both, 'mcp-protocol-version': SECRET }),
      await post(api.url, current.body, { ...both, ...current.headers }),
      await post(api.url, version.body, { ...both, ...version.headers, 'mcp-method': SECRET }),
      await post(api.url, JSON.stringify(version.body).replaceAll(CURRENT_VERSION, SECRET), {
        ...both,
        ...version.headers,
        'mcp-protocol-version': SECRET,
      }),
    ]) {
      expect(answer.json).toHaveProperty('error');
      expect(answer.text).not.toContain('abab');
    }
  });
});

test.each(['GET', 'DELETE', 'PUT', 'HEAD'])('%s is no way to call', async (method) => {
  const answer = await send(api.url, method, undefined, { accept: 'text/event-stream' });
  expect(answer.status).toBe(405);
  expect(String(answer.headers.allow).split(', ')).toContain('POST');
  if (method !== 'HEAD') expect(answer.json).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
});

describe('answers are JSON', () => {
  test.each([
    ['no Accept', {}],
    ['anything', { accept: '*/*' }],
    ['JSON alone', { accept: 'application/json' }],
    ['JSON with a weight', { accept: 'text/html;q=0.9, application/json;q=0.5' }],
    ['both', both],
  ])('to %s, in both eras', async (_, headers) => {
    const current = currentMessage('tools/list');
    for (const answer of [
      await post(api.url, { ...ping, method: 'tools/list' }, headers),
      await post(api.url, current.body, { ...headers, ...current.headers }),
    ]) {
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      expect(answer.json).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
    }
  });

  test.each(['text/html', 'text/event-stream'])('not to %s alone', async (accept) => {
    const answer = await post(api.url, ping, { accept });
    expect(answer.status).toBe(406);
    expectRefused(answer, /Accept must allow/);
  });
});

test('a client that leaves takes nothing with it', async () => {
  const call = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'basket_buy',
      arguments: { ticker: 'MAG7', amountUsdg: 10, address: fork.accounts.alice.account.address },
    },
  });
  const leave = () =>
    new Promise<void>((resolve) => {
      const headers = { 'content-type': 'application/json', 'content-length': call.length };
      const sent = httpRequest(`${api.url}/mcp`, { method: 'POST', headers }, () => resolve());
      sent.once('error', () => resolve());
      sent.once('close', () => resolve());
      // Gone as soon as the whole message is on its way.
      sent.end(call, () => sent.destroy());
    });
  await Promise.all(Array.from({ length: 20 }, leave));
  const client = await legacyClient(api.url);
  expect((await client.list()).length).toBe(11);
  await client.close();
});

test('prefix, hosts and rate limit are settings', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'));
  const other = await launchApi(fork.url, fork.deployment, {
    FOLDER: folder,
    MCP_TOOL_PREFIX: 'idx-',
    MCP_ALLOWED_HOSTS: 'inspector.example.org, Other.Example.org',
    PUBLIC_BASE_URL: 'https://api.example.org/base',
    HTTP_REQUESTS_PER_MINUTE: '6',
  });
  try {
    const asked = (host: string, origin: string) =>
      post(other.url, { ...ping, method: 'tools/list' }, { ...both, host, origin });
    for (const [host, origin, status] of [
      ['api.example.org', 'https://api.example.org', 200],
      ['api.example.org:443', 'https://inspector.example.org', 200],
      ['other.example.org', 'https://other.example.org', 200],
      ['example.org', 'https://api.example.org', 403],
      ['api.example.org', 'https://example.org', 403],
    ] as const) {
      const answer = await asked(host, origin);
      expect([host, origin, answer.status]).toEqual([host, origin, status]);
      if (status === 200) expect(answer.text).toContain('"idx-agent_trade"');
    }
    await asked('api.example.org', 'https://api.example.org');
    const limited = await asked('api.example.org', 'https://api.example.org');
    expect(limited.status).toBe(429);
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
    expect(limited.json).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32_000, data: { code: 'PAUSED', retryable: true } },
    });
  } finally {
    await other.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
