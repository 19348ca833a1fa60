import { request as send } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiError } from '../errors.ts';
import { createLogger } from '../logger.ts';
import { createMetrics } from '../metrics.ts';
import { createHttpApp, type HttpAppOptions, type Listening, listen } from './server.ts';

let listening: Listening | null = null;

afterEach(async () => {
  await listening?.close(100);
  listening = null;
});

/** One shared route; `ways` tells which way each request went. */
async function serve(overrides: Partial<HttpAppOptions> = {}) {
  const ways: string[] = [];
  const http = createHttpApp({
    logger: createLogger('test', 'fatal'),
    metrics: createMetrics('test'),
    readiness: [],
    bodyLimitBytes: 1_024,
    trustProxy: 0,
    requestsPerMinute: 0,
    ...overrides,
  });
  http.route('get', '/shared', (request, response) => {
    ways.push('express');
    if (request.query.bad !== undefined) throw new ApiError('BAD_REQUEST', 'bad is bad');
    response.json({ ok: true });
  });
  http.share({
    path: '/shared',
    cacheControl: 'public, max-age=1',
    bodyFor: (query) => {
      if (query.bad !== undefined) throw new ApiError('BAD_REQUEST', 'bad is bad');
      ways.push('front');
      return { bytes: Buffer.from('{"ok":true}'), etag: '"1"' };
    },
  });
  http.finish();
  listening = await listen(http.app, '127.0.0.1', 0);
  const ask = (path: string, method = 'GET', headers: Record<string, string> = {}, body = '') =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      send({ port: listening?.port, path, method, headers, agent: false }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString('utf8');
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
      })
        .once('error', reject)
        .end(body);
    });
  return { ask, ways };
}

describe('the front', () => {
  it.each([
    ['GET', '/shared'],
    ['GET', '/shared?a=1'],
    ['HEAD', '/shared'],
  ])('answers %s %s before Express', async (method, path) => {
    const { ask, ways } = await serve();
    const answer = await ask(path, method);
    expect(answer).toEqual({ status: 200, text: method === 'HEAD' ? '' : '{"ok":true}' });
    expect(ways).toEqual(['front']);
  });

  it.each([
    ['a slash more', 'GET', '/shared/', '', 200],
    ['another case', 'GET', '/SHARED', '', 200],
    ['a refused query', 'GET', '/shared?bad=1', '', 400],
    ['a fragment in the query', 'GET', '/shared?a=1#bad', '', 200],
    ['a body', 'GET', '/shared', '{"a":1}', 200],
  ])('leaves %s to Express', async (_name, method, path, body, status) => {
    const { ask, ways } = await serve();
    const headers: Record<string, string> =
      body === ''
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(body.length) };
    expect((await ask(path, method, headers, body)).status).toBe(status);
    expect(ways).toEqual(['express']);
  });

  it.each(['POST', 'DELETE', 'PUT'])('never answers %s', async (method) => {
    const { ask, ways } = await serve();
    expect((await ask('/shared', method)).status).toBe(405);
    expect(ways).toEqual([]);
  });

  it('counts by the address that a trusted proxy names, an IPv6 /64 as one', async () => {
    const { ask } = await serve({ requestsPerMinute: 1, trustProxy: ['loopback'] });
    const statuses = [];
    for (const address of [
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8:0:1::1',
      '192.0.2.1',
      '192.0.2.2',
    ]) {
      statuses.push((await ask('/shared', 'GET', { 'x-forwarded-for': address })).status);
    }
    expect(statuses).toEqual([200, 429, 200, 200, 200]);
  });

  it('does not believe a stranger', async () => {
    const { ask } = await serve({ requestsPerMinute: 1, trustProxy: ['192.0.2.0/24'] });
    expect((await ask('/shared', 'GET', { 'x-forwarded-for': '198.51.100.1' })).status).toBe(200);
    expect((await ask('/shared', 'GET', { 'x-forwarded-for': '198.51.100.2' })).status).toBe(429);
  });
});
