/** A node that takes requests and answers none: frozen, its sockets open. The RPC's own timeout lies past this test's. */
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { expectError, launchApi } from './use-api.ts';

const fork = useFork();

test('reads of a frozen node answer long before its timeout: old marks that say so, 502 for the rest', async () => {
  const api = await launchApi(fork.url, fork.deployment, {
    RPC_TIMEOUT_MS: '120000',
    MARKS_STALE_AFTER_MS: '3600000',
    READ_BUDGET_MS: '1000',
  });
  let frozen = false;
  const freeze = (signal: 'SIGSTOP' | 'SIGCONT') => {
    process.kill(fork.anvil.pid, signal);
    frozen = signal === 'SIGSTOP';
  };
  try {
    await api.settled();
    const alice = fork.accounts.alice.account.address;
    const before = (await api.get('/v1/markets')).body;
    freeze('SIGSTOP');
    const marks = await api.until('/v1/markets', ({ body }) => (body.live as unknown) === false);
    expect(marks.status).toBe(200);
    expect(marks.body.markets).toHaveLength((before.markets as unknown as unknown[]).length);
    expect(Number(marks.body.asOfMs)).toBeGreaterThanOrEqual(Number(before.asOfMs));
    const stats = await api.get('/v1/stats');
    expect({ status: stats.status, live: stats.body.live }).toEqual({ status: 200, live: false });
    const session = `/v1/agent/session?owner=${alice}&key=${alice}`;
    const paths = [session, ...['wallet', 'positions'].map((route) => `/v1/${route}/${alice}`)];
    for (const answer of await Promise.all(paths.map((path) => api.get(path)))) {
      expectError(answer, 502, 'UPSTREAM', /in time/);
      expect(answer.body.retryable).toBe(true);
    }
    expect((await api.get('/ready')).text).toMatch(
      /marks are \d+ s old: the chain does not answer/,
    );

    freeze('SIGCONT');
    await fork.warp(1);
    await api.until('/v1/markets', ({ body }) => (body.live as unknown) === true);
    expect((await api.get(`/v1/wallet/${alice}`)).status).toBe(200);
  } finally {
    if (frozen) freeze('SIGCONT');
    await api.stop();
    rmSync(api.folder, { recursive: true, force: true });
  }
});
