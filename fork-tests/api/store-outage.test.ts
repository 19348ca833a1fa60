/** What reads answer while the PostgreSQL behind the api is out of reach, and that they come back by themselves. */
import { rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { usePostgres } from '../harness/postgres.ts';
import { expectError, expectOk, launchApi } from './use-api.ts';

const fork = useFork();
const postgres = usePostgres();

/** A way to the server that can be cut: connections break, new ones are refused. */
async function wireTo(serverPort: number) {
  const open = new Set<Socket>();
  let server: Server | null = null;
  const listen = async (port: number): Promise<number> => {
    const listening = createServer((incoming) => {
      const outgoing = connect(serverPort, '127.0.0.1');
      for (const [from, to] of [
        [incoming, outgoing],
        [outgoing, incoming],
      ] as const) {
        open.add(from);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          open.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    await new Promise<void>((resolve) => {
      listening.listen(port, '127.0.0.1', resolve);
    });
    server = listening;
    return (listening.address() as AddressInfo).port;
  };
  const port = await listen(0);
  const cut = async (): Promise<void> => {
    const closing = new Promise<void>((resolve) => {
      if (server === null) resolve();
      else server.close(() => resolve());
    });
    for (const socket of open) socket.destroy();
    await closing;
    server = null;
  };
  return { port, cut, mend: () => listen(port) };
}

test('while the store is out of reach reads are 502 and retryable, totals the last ones, and the log keeps quiet', async () => {
  const url = new URL(await postgres.database('outage'));
  const wire = await wireTo(Number(url.port));
  url.port = String(wire.port);
  const log: string[] = [];
  const settings = { DATABASE_URL: url.href, LOG_LEVEL: 'warn' };
  const api = await launchApi(fork.url, fork.deployment, settings, {
    write: (line) => void log.push(line),
  });
  try {
    await api.settled();
    const alice = fork.accounts.alice.account.address;
    const before = await api.get('/v1/stats');
    expect(before.body).toMatchObject({ live: true, volumeAllTime: expect.any(Number) });
    await wire.cut();
    const paths = [
      ...['orders', 'positions', 'strategies'].map((name) => `/v1/${name}/${alice}`),
      '/v1/nav/CORE/history?res=1h&days=1',
    ];
    await api.until(paths[0] ?? '', ({ status }) => status !== 200);
    for (const path of paths) {
      const answer = await api.get(path);
      expectError(answer, 502, 'UPSTREAM', /store/);
      expect(answer.body.retryable).toBe(true);
    }
    const stats = await api.get('/v1/stats');
    expectOk(stats);
    expect(stats.body).toMatchObject({ live: false, volumeAllTime: before.body.volumeAllTime });
    expectOk(await api.get('/v1/markets'));
    await api.until('/ready', ({ text }) => text.includes('the store does not answer'));
    // One line a request, and no stack of ours in any.
    const answers = log.filter((line) => line.includes('answered with a fault'));
    expect(answers.length).toBeGreaterThan(paths.length - 1);
    expect(answers.join('')).not.toContain('"stack"');

    await wire.mend();
    await api.until('/ready', ({ status }) => status === 200);
    for (const path of paths) expectOk(await api.get(path));
    await api.until('/v1/stats', ({ body }) => (body.live as unknown) === true);
  } finally {
    await api.stop();
    await wire.cut();
    rmSync(api.folder, { recursive: true, force: true });
  }
});
