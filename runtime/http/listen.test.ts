import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '../logger.ts';
import { createMetrics } from '../metrics.ts';
import { createHttpApp, type Listening, listen } from './server.ts';

let listening: Listening | null = null;

afterEach(async () => {
  await listening?.close(100);
  listening = null;
});

async function serve(timeouts: { headersTimeoutMs?: number; requestTimeoutMs?: number }) {
  const http = createHttpApp({
    logger: createLogger('test', 'fatal'),
    metrics: createMetrics('test'),
    readiness: [],
    bodyLimitBytes: 1_024,
    trustProxy: 0,
    requestsPerMinute: 0,
  });
  http.route('post', '/thing', (request, response) => {
    response.json({ got: request.body });
  });
  http.finish();
  listening = await listen(http.app, '127.0.0.1', 0, timeouts);
  return listening.port;
}

/** Sends the text and nothing more; resolves with what came back when the server has ended the connection. */
async function answerTo(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString('utf8');
    });
    socket.once('end', () => {
      socket.destroy();
      resolve(answer);
    });
    socket.once('error', reject);
  });
}

const HEAD = 'POST /thing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';

describe('the listening socket', () => {
  it('ends a request whose body never comes', async () => {
    const port = await serve({ headersTimeoutMs: 100, requestTimeoutMs: 200 });
    const answer = await answerTo(port, `${HEAD}Content-Length: 100\r\n\r\n{"a":`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('did not arrive in time');
    expect(answer).toContain('"code":"BAD_REQUEST","retryable":false');
  });

  it('ends a request whose headers never end', async () => {
    const port = await serve({ headersTimeoutMs: 100, requestTimeoutMs: 200 });
    const answer = await answerTo(port, HEAD);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"BAD_REQUEST","retryable":false');
  });

  it('answers a request with an Expect that it does not know', async () => {
    const port = await serve({});
    const answer = await answerTo(
      port,
      `${HEAD}Expect: something-else\r\nConnection: close\r\nContent-Length: 7\r\n\r\n{"a":1}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain('{"got":{"a":1}}');
  });

  it('stops reading a body that is over the limit', async () => {
    const port = await serve({});
    const answer = await answerTo(
      port,
      `${HEAD}Connection: close\r\nContent-Length: 2000\r\n\r\n${JSON.stringify({ a: 'x'.repeat(1_992) })}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('"code":"BAD_REQUEST"');
  });

  it('counts chunks of a body without a length against the limit', async () => {
    const port = await serve({});
    const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`;
    const answer = await answerTo(
      port,
      `${HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });
});
