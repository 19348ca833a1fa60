/**
 * The fast way of shared reads carries what the ordinary way carries: the same request by both (Express matches a path
 * with a slash at its end too, the fast way does not) and by the usual middleware stack, compared header by header.
 */
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../runtime/logger.ts';
import { createMetrics, type Metrics } from '../../runtime/metrics.ts';
import { usualStack } from '../bench/reads/usual-stack.ts';
import { useFork } from '../harness/fork.ts';
import { type ApiUnderTest, launchApi } from './use-api.ts';
import {
  type AccessLine,
  LogLines,
  requestCounts,
  type WireAnswer,
  type WireRequest,
  wireRequest,
} from './wire-request.ts';

const LIMIT = 500;
/** One snapshot for the whole file: bodies of two requests can then be compared. */
const STILL = {
  MARKS_INTERVAL_MS: '60000',
  MARKS_STALE_AFTER_MS: '3600000',
  COST_INTERVAL_MS: '3600000',
  LOG_LEVEL: 'debug',
};

const fork = useFork();
const log = new LogLines();
let api: ApiUnderTest & { folder: string };

beforeAll(async () => {
  api = await launchApi(
    fork.url,
    fork.deployment,
    { ...STILL, HTTP_REQUESTS_PER_MINUTE: String(LIMIT) },
    log,
  );
  await api.until('/v1/markets', ({ status }) => status === 200);
});

afterAll(async () => {
  await api.stop();
  rmSync(api.folder, { recursive: true, force: true });
});

/** What an answer shows of itself: itself, its log line, and where it was counted. */
type Trace = { answer: WireAnswer; line: AccessLine; counted: string[] };

async function trace(
  url: string,
  lines: LogLines,
  metrics: () => Promise<string>,
  request: WireRequest,
): Promise<Trace> {
  const before = requestCounts(await metrics());
  const logged = lines.accesses().length;
  const answer = await wireRequest(url, request);
  const line = await lineAfter(lines, logged);
  const after = requestCounts(await metrics());
  const counted = [...after].filter(
    ([key, count]) => !key.includes(' /metrics ') && count !== (before.get(key) ?? 0),
  );
  for (const [key, count] of counted) expect(count).toBe((before.get(key) ?? 0) + 1);
  return { answer, line, counted: counted.map(([key]) => key) };
}

/** The log line is written when the answer is out, which its reader may see first. */
async function lineAfter(lines: LogLines, count: number): Promise<AccessLine> {
  for (;;) {
    const line = lines.accesses()[count];
    if (line !== undefined) return line;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const apiMetrics = async (): Promise<string> => (await api.get('/metrics')).text;
const byApi = (request: WireRequest) => trace(api.url, log, apiMetrics, request);

/** Answers that follow each other differ in these alone. */
function comparable({ answer, line, counted }: Trace) {
  const { date, ratelimit: _count, 'x-request-id': id, ...headers } = answer.headers;
  expect(typeof date).toBe('string');
  expect(line.req.id).toBe(id);
  expect(line.responseTime).toBeGreaterThanOrEqual(0);
  return {
    status: answer.status,
    headers,
    text: answer.text,
    line: {
      level: line.level,
      msg: line.msg,
      method: line.req.method,
      url: line.req.url.replace('/v1/markets/', '/v1/markets'),
      status: line.res.status,
    },
    counted,
  };
}

function remaining({ answer }: Trace): number {
  const match = /^limit=(\d+), remaining=(\d+), reset=(\d+)$/.exec(
    String(answer.headers.ratelimit),
  );
  expect(match?.[1]).toBe(String(LIMIT));
  return Number(match?.[2]);
}

type Case = [name: string, query: string, request: Omit<WireRequest, 'path'>, status: number];

const CASES: Case[] = [
  ['a plain request', '', {}, 200],
  ['prices=0', '?prices=0', {}, 200],
  ['fields', '?fields=nav,ticker&prices=0', {}, 200],
  ['pretty=1', '?pretty=1', {}, 200],
  ['a key that nobody knows', '?x=1&prices=0', {}, 200],
  ['HEAD', '?prices=0', { method: 'HEAD' }, 200],
  ['a request from a browser', '?prices=0', { headers: { origin: 'https://app.example' } }, 200],
  ['an encoding for a small body', '?prices=0', { headers: { 'accept-encoding': 'gzip' } }, 200],
  ['a body that it has', '?prices=0', { headers: { 'if-none-match': '*' } }, 304],
  ['HEAD of a body that it has', '', { method: 'HEAD', headers: { 'if-none-match': '*' } }, 304],
  ['a body that it has not', '?prices=0', { headers: { 'if-none-match': '"other"' } }, 200],
  ['an unknown field', '?fields=nav,secret', {}, 400],
  ['a price that is not 0', '?prices=1', {}, 400],
  ['a key given twice', '?prices=0&prices=0', {}, 400],
];

describe('the fast way', () => {
  test.each(CASES)('answers %s as Express would', async (_name, query, request, status) => {
    const fast = await byApi({ ...request, path: `/v1/markets${query}` });
    const ordinary = await byApi({ ...request, path: `/v1/markets/${query}` });
    expect(fast.answer.status).toBe(status);
    expect(comparable(fast)).toEqual(comparable(ordinary));
    expect(remaining(ordinary)).toBe(remaining(fast) - 1);
    expect(fast.counted).toEqual([`${request.method ?? 'GET'} /v1/markets ${status}`]);
  });

  test('sends a request id back, and a new one for what is no id', async () => {
    for (const path of ['/v1/markets', '/v1/markets/']) {
      const given = await byApi({ path, headers: { 'x-request-id': 'my-request-7' } });
      expect(given.answer.headers['x-request-id']).toBe('my-request-7');
      const secret = 'ab'.repeat(32);
      const replaced = await byApi({ path, headers: { 'x-request-id': secret } });
      expect(replaced.answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(JSON.stringify(replaced.line)).not.toContain(secret);
    }
  });

  test('finds a body again by its ETag, until it is another', async () => {
    const { answer } = await byApi({ path: '/v1/markets?prices=0' });
    const etag = String(answer.headers.etag);
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`]) {
      const again = await byApi({
        path: '/v1/markets?prices=0',
        headers: { 'if-none-match': tag },
      });
      expect([again.answer.status, again.answer.text, again.answer.headers.etag]).toEqual([
        304,
        '',
        etag,
      ]);
    }
    const pretty = await byApi({
      path: '/v1/markets?prices=0&pretty=1',
      headers: { 'if-none-match': etag },
    });
    expect(pretty.answer.status).toBe(200);
  });
});

describe('beside the usual middleware stack', () => {
  const usualLog = new LogLines();
  let server: Server;
  let metrics: Metrics;
  let url = '';

  beforeAll(async () => {
    const body = (await wireRequest(api.url, { path: '/v1/markets?prices=0' })).text;
    metrics = createMetrics('usual');
    const stack = usualStack({
      logger: createLogger('usual', 'debug', usualLog),
      metrics,
      requestsPerMinute: LIMIT,
      body: () => body,
    });
    server = createServer(stack);
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test.each<[string, Omit<WireRequest, 'path'>]>([
    ['GET', {}],
    ['HEAD', { method: 'HEAD' }],
    ['a conditional GET', { headers: { 'if-none-match': '*' } }],
    ['a request with an id', { headers: { 'x-request-id': 'my-request-7' } }],
  ])('the headers, the log line and the metric of %s are the same', async (_name, request) => {
    const path = '/v1/markets?prices=0';
    const ours = comparable(await byApi({ ...request, path }));
    const usual = comparable(
      await trace(url, usualLog, () => metrics.registry.metrics(), { ...request, path }),
    );
    // Both name the bytes; how the name is made is each one's own.
    expect(ours.headers.etag).toMatch(/^"[^"]+"$/);
    expect(usual.headers.etag).toMatch(/^"[^"]+"$/);
    expect({ ...ours, headers: { ...ours.headers, etag: '' } }).toEqual({
      ...usual,
      headers: { ...usual.headers, etag: '' },
    });
  });
});

describe('over the limit', () => {
  test('both ways count together, and say when the window ends', async () => {
    const lines = new LogLines();
    const limited = await launchApi(
      fork.url,
      fork.deployment,
      { ...STILL, HTTP_REQUESTS_PER_MINUTE: '4' },
      lines,
    );
    try {
      const answers: WireAnswer[] = [];
      for (const path of [
        '/v1/markets',
        '/v1/markets/',
        '/nothing',
        '/v1/markets',
        '/v1/markets',
        '/v1/markets/',
      ]) {
        answers.push(await wireRequest(limited.url, { path }));
      }
      expect(answers.map(({ status }) => status === 429)).toEqual([
        false,
        false,
        false,
        false,
        true,
        true,
      ]);
      for (const { headers, text } of answers.slice(4)) {
        const seconds = Number(headers['retry-after']);
        expect(seconds).toBeGreaterThan(0);
        expect(seconds).toBeLessThanOrEqual(60);
        expect(headers.ratelimit).toBe(`limit=4, remaining=0, reset=${seconds}`);
        expect(headers['ratelimit-policy']).toBe('4;w=60');
        expect(headers['cache-control']).toBe('no-store');
        expect(headers['access-control-allow-origin']).toBe('*');
        expect(headers['x-content-type-options']).toBe('nosniff');
        expect(JSON.parse(text)).toEqual({
          error: 'too many requests: wait and retry',
          code: 'PAUSED',
          retryable: true,
        });
      }
      // A forged address is nobody's here; operators' pages and preflights are never refused.
      const forged = { 'x-forwarded-for': '198.51.100.1' };
      expect(
        (await wireRequest(limited.url, { path: '/v1/markets', headers: forged })).status,
      ).toBe(429);
      expect((await wireRequest(limited.url, { path: '/health' })).status).toBe(200);
      const preflight = await wireRequest(limited.url, {
        method: 'OPTIONS',
        path: '/v1/tx/buy',
        headers: {
          origin: 'https://app.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type',
        },
      });
      expect(preflight.status).toBe(204);
      expect(preflight.headers['access-control-allow-methods']).toContain('POST');
      expect(preflight.headers['access-control-allow-headers']).toContain('Content-Type');
      for (const name of ['ETag', 'X-Request-Id', 'Retry-After', 'RateLimit', 'RateLimit-Policy']) {
        expect(preflight.headers['access-control-expose-headers']).toContain(name);
      }
    } finally {
      await limited.stop();
      rmSync(limited.folder, { recursive: true, force: true });
    }
  });
});
