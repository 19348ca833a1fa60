/** Who answers without end, with more than an answer holds, or from elsewhere, costs neither memory nor time. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { createHttp } from './http.ts';
import { createPlanner } from './planner.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Writes as fast as it is read; `sent` counts. */
function endless(): { listener: RequestListener; sent: () => number } {
  const chunk = Buffer.alloc(65_536, 0x20);
  let sent = 0;
  return {
    sent: () => sent,
    listener: (_, response) => {
      response.on('error', () => undefined);
      const write = (): void => {
        while (!response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) {
            response.once('drain', write);
            return;
          }
        }
      };
      write();
    },
  };
}

const http = createHttp({ postTimeoutMs: 3_000, getTimeoutMs: 3_000, fetch });
const owner = '0x00000000000000000000000000000000000000aa';
const planFrom = (apiUrl: string) =>
  createPlanner({ apiUrl, owner, key: owner, timeoutMs: 3_000 })(
    { type: 'trade', kind: 'buy', ticker: 'CORE', budget: 20_000_000n },
    0n,
  );

/** What fits between two sockets, and no more. */
const FEW_BYTES = 16_000_000;

test('a body without end is left after what an answer may have', async () => {
  const { listener, sent } = endless();
  const url = await serving(listener);
  expect(await http.post(url, '{}')).toMatchObject({ tag: 'answered', status: 200, body: null });
  expect(await http.get(url)).toMatchObject({ tag: 'answered', status: 200, body: null });
  await expect(planFrom(url)).rejects.toMatchObject({ code: 'UNEXPECTED', status: 200 });
  expect(sent()).toBeLessThan(FEW_BYTES);
});

test('a body that is small only while it is packed is left too', async () => {
  const packed = gzipSync(Buffer.alloc(120_000_000, 0x20));
  const url = await serving((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed);
  });
  const before = process.memoryUsage().rss;
  expect(await http.get(url)).toMatchObject({ tag: 'answered', status: 200, body: null });
  expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000);
});

test('characters that are cut between two pieces stay whole', async () => {
  const bytes = Buffer.from(JSON.stringify({ error: 'zu wenig Guthaben: 5 €' }));
  const cut = bytes.indexOf(0xe2) + 1;
  const url = await serving((_, response) => {
    response.write(bytes.subarray(0, cut), () => {
      setImmediate(() => response.end(bytes.subarray(cut)));
    });
  });
  expect(await http.get(url)).toMatchObject({ body: { error: 'zu wenig Guthaben: 5 €' } });
});

test('a redirect is followed neither to a relayer nor to an api', async () => {
  let elsewhere = 0;
  const other = await serving((_, response) => {
    elsewhere += 1;
    response.end('{"ok":true}');
  });
  const url = await serving((_, response) => {
    response.writeHead(307, { location: other }).end();
  });
  expect(await http.post(url, '{}')).toMatchObject({ tag: 'answered', status: 307 });
  await expect(planFrom(url)).rejects.toMatchObject({ status: 307 });
  expect(elsewhere).toBe(0);
});
