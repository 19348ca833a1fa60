import { get } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiError } from '../errors.ts';
import { createLogger } from '../logger.ts';
import { createMetrics } from '../metrics.ts';
import type { ReadinessResult } from '../readiness.ts';
import { createHttpApp, type HttpAppOptions, type Listening, listen } from './server.ts';

let listening: Listening | null = null;
let readiness: ReadinessResult = { ok: true };

afterEach(async () => {
  await listening?.close(100);
  listening = null;
  readiness = { ok: true };
});

async function serve(
  overrides: Partial<HttpAppOptions> = {},
  alsoServed = '/also',
): Promise<string> {
  const metrics = createMetrics('test');
  const http = createHttpApp({
    logger: createLogger('test', 'fatal'),
    metrics,
    readiness: [{ name: 'chain', check: () => readiness }],
    bodyLimitBytes: 1_024,
    trustProxy: 0,
    requestsPerMinute: 0,
    ...overrides,
  });
  http.route('get', '/thing/:id', (request, response) => {
    response.json({ id: request.params.id });
  });
  http.route('post', '/thing/:id', (request, response) => {
    response.json({ got: request.body });
  });
  http.route('get', alsoServed, (_request, response) => {
    response.json({});
  });
  http.route('get', '/refused', () => {
    throw new ApiError('SESSION_LIMIT', 'over the limit', { details: { next: 'ask_owner' } });
  });
  http.route('get', '/away', () => {
    throw new ApiError('UPSTREAM', 'the chain is away: retry');
  });
  http.route('get', '/broken', async () => {
    throw new Error('the password is hunter2');
  });
  http.finish();
  listening = await listen(http.app, '127.0.0.1', 0);
  return listening.url;
}

const post = (url: string, body: string, type = 'application/json') =>
  fetch(url, { method: 'POST', body, headers: { 'content-type': type } });

describe('the HTTP server', () => {
  it('answers health, readiness with its reason, and metrics', async () => {
    const url = await serve();
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ ok: true });
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    readiness = { ok: false, reason: 'head is 40 s old' };
    const ready = await fetch(`${url}/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({
      ready: false,
      checks: [{ name: 'chain', ok: false, reason: 'head is 40 s old' }],
    });
    await fetch(`${url}/thing/0x${'ab'.repeat(32)}`);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('basket_test_http_request_duration_seconds_count{route="/thing/:id"');
    expect(metrics).not.toContain('abab');
  });

  it.each(['/health', '/ready', '/metrics', '/thing/1'])(
    'gives no ETag to %s and answers no conditional request for it by 304',
    async (path) => {
      const url = (await serve()) + path;
      expect((await fetch(url)).headers.get('etag')).toBeNull();
      // fetch() adds Cache-Control to a conditional request: curl does not.
      for (const name of ['if-none-match', 'if-modified-since']) {
        const value = name === 'if-none-match' ? '*' : new Date().toUTCString();
        const status = await new Promise((resolve, reject) => {
          get(url, { headers: { [name]: value } }, (response) => {
            response.resume().once('end', () => resolve(response.statusCode));
          }).once('error', reject);
        });
        expect([name, status]).toEqual([name, 200]);
      }
    },
  );

  it.each([
    ['an unknown path', '/nothing', {}, 404, 'NOT_FOUND'],
    ['a wrong method', '/thing/1', { method: 'DELETE' }, 405, 'METHOD_NOT_ALLOWED'],
    ['a wrong method on /health', '/health', { method: 'POST' }, 405, 'METHOD_NOT_ALLOWED'],
    ['a path that is no UTF-8', '/thing/%ff', {}, 400, 'BAD_REQUEST'],
    ['a refusal of ours', '/refused', {}, 403, 'SESSION_LIMIT'],
    ['an unexpected fault', '/broken', {}, 500, 'SERVER'],
  ])('answers %s in the one error shape', async (_name, path, init, status, code) => {
    const url = await serve();
    const response = await fetch(url + path, init);
    expect(response.status).toBe(status);
    const body = (await response.json()) as Record<string, unknown>;
    expect(body.code).toBe(code);
    expect(typeof body.error).toBe('string');
    expect(body.retryable).toBe(code === 'SERVER');
    expect(JSON.stringify(body)).not.toContain('hunter2');
  });

  it('names the description of what there is, where there is one', async () => {
    const said = async (url: string) =>
      ((await (await fetch(`${url}/nothing`)).json()) as { error: string }).error;
    expect(await said(await serve())).toBe('no such path');
    await listening?.close(100);
    expect(await said(await serve({}, '/openapi.json'))).toBe(
      'no such path: see /openapi.json for what there is',
    );
  });

  it('tells which methods a path has', async () => {
    const response = await fetch(`${await serve()}/thing/1`, { method: 'PUT' });
    expect(response.headers.get('allow')?.split(', ').toSorted()).toEqual([
      'GET',
      'HEAD',
      'OPTIONS',
      'POST',
    ]);
  });

  it('tells the same to OPTIONS', async () => {
    const response = await fetch(`${await serve()}/thing/1`, { method: 'OPTIONS' });
    expect([response.status, response.headers.get('allow')]).toEqual([
      204,
      'GET, HEAD, POST, OPTIONS',
    ]);
    const unknown = await fetch(`${listening?.url}/nothing`, { method: 'OPTIONS' });
    expect(unknown.status).toBe(404);
  });

  it('refuses malformed JSON, a wrong media type and a body over the limit', async () => {
    const url = `${await serve()}/thing/1`;
    const malformed = await post(url, '{"a":');
    expect([malformed.status, ((await malformed.json()) as { code: string }).code]).toEqual([
      400,
      'BAD_REQUEST',
    ]);
    expect((await post(url, 'a=1', 'application/x-www-form-urlencoded')).status).toBe(415);
    expect((await post(url, JSON.stringify({ a: 'x'.repeat(2_000) }))).status).toBe(413);
    expect(await (await post(url, '{"a":1}')).json()).toEqual({ got: { a: 1 } });
  });

  it.each([
    ['of another type', 'a=1', 'application/x-www-form-urlencoded'],
    ['that is malformed', '{bad', 'application/json'],
    ['over the limit', JSON.stringify({ a: 'x'.repeat(100_000) }), 'application/json'],
  ])('refuses path and method before a body %s', async (_name, body, type) => {
    const url = await serve();
    const unknown = await post(`${url}/nothing`, body, type);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ code: 'NOT_FOUND', retryable: false });
    for (const path of ['/also', '/health']) {
      const wrong = await post(url + path, body, type);
      expect([path, wrong.status, wrong.headers.get('allow')]).toEqual([
        path,
        405,
        'GET, HEAD, OPTIONS',
      ]);
      expect(await wrong.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED', retryable: false });
    }
    const init = { method: 'PUT', body, headers: { 'content-type': type } };
    expect((await fetch(`${url}/thing/1`, init)).status).toBe(405);
    expect((await fetch(`${url}/thing/1`, { ...init, method: 'OPTIONS' })).status).toBe(204);
    // What the path takes is still looked at.
    expect([400, 413, 415]).toContain((await post(`${url}/thing/1`, body, type)).status);
  });

  it.each(['gzip', 'deflate', 'br'])(
    'refuses a body that is not the %s it claims',
    async (encoding) => {
      const url = `${await serve()}/thing/1`;
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body: '{"a":1}xxxxxxxxxxxxxxxx',
      });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: 'BAD_REQUEST', retryable: false });
    },
  );

  it.each(['utf-16', 'utf-16le', 'utf-16be', 'utf-7'])(
    'refuses a body in %s, which would be parsed as another text than the checks of the text read',
    async (charset) => {
      const url = await serve({ keepBodyText: true });
      const body = Buffer.from('{"fee":"0","fee":"5"}', 'utf16le');
      const response = await fetch(`${url}/thing/1`, {
        method: 'POST',
        body: charset === 'utf-16be' ? body.swap16() : body,
        headers: { 'content-type': `application/json; charset=${charset}` },
      });
      expect(response.status).toBe(415);
      expect(await response.json()).toMatchObject({ code: 'BAD_REQUEST' });
      const plain = await post(`${url}/thing/1`, '{"fee":"0"}', 'application/json; charset=UTF-8');
      expect(await plain.json()).toEqual({ got: { fee: '0' } });
    },
  );

  it('limits a client and says when to come back', async () => {
    const url = await serve({ requestsPerMinute: 2 });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await fetch(`${url}/thing/1`)).status);
    expect(statuses).toEqual([200, 200, 429]);
    const limited = await fetch(`${url}/thing/1`);
    const left = Number(limited.headers.get('retry-after'));
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(60);
    expect(limited.headers.get('ratelimit')).toBe(`limit=2, remaining=0, reset=${left}`);
    expect(await limited.json()).toMatchObject({ code: 'PAUSED', retryable: true });
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  it('keeps a request id that is plain and replaces one that is not', async () => {
    const url = `${await serve()}/thing/1`;
    const given = await fetch(url, { headers: { 'x-request-id': 'abc-1' } });
    expect(given.headers.get('x-request-id')).toBe('abc-1');
    const replaced = await fetch(url, { headers: { 'x-request-id': 'a b' } });
    expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const key = 'ab'.repeat(32);
    const secret = await fetch(url, { headers: { 'x-request-id': key } });
    expect(secret.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('refuses what is no request in the one error shape', async () => {
    const { port } = new URL(await serve());
    const answerTo = async (text: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
        let answer = '';
        socket.on('data', (chunk) => {
          answer += chunk.toString('utf8');
        });
        socket.once('end', () => resolve(answer));
        socket.once('error', reject);
      });
    const long = await answerTo(`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(long).toMatch(/^HTTP\/1\.1 413 /);
    expect(long).toContain('"code":"BAD_REQUEST","retryable":false');
    const junk = await answerTo('hello\r\n\r\n');
    expect(junk).toMatch(/^HTTP\/1\.1 400 /);
    expect(junk).toContain('"code":"BAD_REQUEST"');
  });

  it('says in the log why an answer was a fault, and of one that nobody expected where it is from', async () => {
    const lines: string[] = [];
    const logger = createLogger('test', 'info', { write: (line) => lines.push(line) });
    const url = await serve({ logger });
    for (const path of ['/away', '/broken', '/refused']) await fetch(`${url}${path}`);
    await expect.poll(() => lines.length).toBe(2);
    const [away, broken] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(away).toMatchObject({ res: { status: 502 }, why: 'the chain is away: retry' });
    expect(away).not.toHaveProperty('err');
    expect(broken).toMatchObject({ res: { status: 500 }, err: { stack: expect.any(String) } });
  });

  it('names the port when it is taken', async () => {
    const url = await serve();
    const { app } = createHttpApp({
      logger: createLogger('test', 'fatal'),
      metrics: createMetrics('test2'),
      readiness: [],
      bodyLimitBytes: 1_024,
      trustProxy: 0,
      requestsPerMinute: 0,
    });
    const { port } = new URL(url);
    await expect(listen(app, '127.0.0.1', Number(port))).rejects.toThrow(`port ${port}`);
  });
});
