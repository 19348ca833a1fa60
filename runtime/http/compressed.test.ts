import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '../logger.ts';
import { createMetrics } from '../metrics.ts';
import { createHttpApp, type Listening, listen } from './server.ts';
import { COMPRESS_FROM_BYTES, hasAlready } from './shared-body.ts';

let listening: Listening | null = null;

afterEach(async () => {
  await listening?.close(100);
  listening = null;
});

const LARGE = JSON.stringify({ text: 'a nav of 12.5 '.repeat(COMPRESS_FROM_BYTES / 10) });
const SMALL = JSON.stringify({ nav: 12.5 });

async function serve(): Promise<number> {
  const http = createHttpApp({
    logger: createLogger('test', 'fatal'),
    metrics: createMetrics('test'),
    readiness: [],
    bodyLimitBytes: 1_024,
    trustProxy: 0,
    requestsPerMinute: 0,
  });
  for (const [path, text] of Object.entries({ '/large': LARGE, '/small': SMALL })) {
    const etag = `"${path.slice(1)}"`;
    const bytes = Buffer.from(text);
    http.route('get', path, (request, response) => {
      response.set({ ETag: etag, 'Cache-Control': 'public, max-age=1' });
      if (hasAlready(request.headers['if-none-match'], etag)) response.status(304).end();
      else response.type('application/json').send(bytes);
    });
    http.share({ path, cacheControl: 'public, max-age=1', bodyFor: () => ({ bytes, etag }) });
  }
  http.route('get', '/events', (_request, response) => {
    response.type('text/event-stream').send(`data: ${LARGE}\n\n`);
  });
  http.finish();
  listening = await listen(http.app, '127.0.0.1', 0);
  return listening.port;
}

type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; bytes: Buffer };

/** As it stands on the wire: fetch would decompress. */
async function get(port: number, path: string, headers: Record<string, string>, method = 'GET') {
  return new Promise<Answer>((resolve, reject) => {
    request({ port, path, headers, method, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes: Buffer.concat(chunks),
        }),
      );
    })
      .once('error', reject)
      .end();
  });
}

describe('compression', () => {
  it.each([
    ['gzip', gunzipSync],
    ['deflate', inflateSync],
    ['br', brotliDecompressSync],
  ])('sends a large body as %s under a weak ETag', async (encoding, decompress) => {
    const port = await serve();
    const { headers, bytes } = await get(port, '/large', { 'accept-encoding': encoding });
    expect(headers['content-encoding']).toBe(encoding);
    expect(headers.vary).toContain('Accept-Encoding');
    expect(headers.etag).toBe('W/"large"');
    expect(bytes.length).toBeLessThan(LARGE.length / 10);
    expect(decompress(bytes).toString()).toBe(LARGE);
  });

  it.each(['W/"large"', '"large"', '"other", W/"large"', '*'])(
    'finds the body again by %s',
    async (tag) => {
      const port = await serve();
      const asked = { 'accept-encoding': 'gzip', 'if-none-match': tag };
      const compressed = await get(port, '/large', asked);
      expect([compressed.status, compressed.bytes.length]).toEqual([304, 0]);
      const plain = await get(port, '/large', { 'if-none-match': tag });
      expect([plain.status, plain.bytes.length]).toEqual([304, 0]);
    },
  );

  it.each([
    ['a small body', '/small', SMALL, { 'accept-encoding': 'gzip' }],
    ['a client that takes none', '/large', LARGE, {}],
    ['a client that refuses', '/large', LARGE, { 'accept-encoding': 'identity' }],
    ['a stream of events', '/events', `data: ${LARGE}\n\n`, { 'accept-encoding': 'gzip' }],
  ])('leaves %s as it is', async (_name, path, text, headers) => {
    const answer = await get(await serve(), path, headers);
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(answer.headers.vary).toContain('Accept-Encoding');
    expect(answer.headers.etag ?? '"').toMatch(/^"/);
    expect(answer.bytes.toString()).toBe(text);
    expect(Number(answer.headers['content-length'])).toBe(answer.bytes.length);
  });

  it('sends no body to HEAD', async () => {
    const answer = await get(await serve(), '/large', { 'accept-encoding': 'gzip' }, 'HEAD');
    expect([answer.status, answer.bytes.length]).toEqual([200, 0]);
  });
});
