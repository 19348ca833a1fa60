/**
 * The real api against a fork, one per test: started as its process starts it, on a port the system picks, with rows
 * of its own.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { apiOptions } from '../../api/config.ts';
import { type RunningApi, startApi } from '../../api/start.ts';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { loadConfig } from '../../runtime/config.ts';
import { createLogger } from '../../runtime/logger.ts';
import { rpc } from '../anvil.ts';
import type { Fork } from '../harness/fork.ts';

export type Answer = {
  status: number;
  headers: Headers;
  text: string;
  body: Record<string, never>;
};

export type ApiUnderTest = {
  readonly url: string;
  get: (path: string, headers?: Record<string, string>) => Promise<Answer>;
  post: (path: string, body: unknown) => Promise<Answer>;
  /** Waits until a GET satisfies the condition; fails with its last answer. */
  until: (path: string, holds: (answer: Answer) => boolean, withinMs?: number) => Promise<Answer>;
  /** Waits until the marks have seen the newest block. */
  marksSettled: () => Promise<void>;
  /** The same, the index has read it too, and the process is ready. */
  settled: () => Promise<void>;
  stop: () => Promise<void>;
};

export const RELAYER_URL = 'http://relay.test:8081';
export const APPROVAL_URL = 'http://app.test/approve';

export async function launchApi(
  rpcUrl: string,
  deployment: Deployment,
  settings: Record<string, string> = {},
  /** Where the api's log lines go; absent: standard output. */
  log?: { write(line: string): void },
): Promise<ApiUnderTest & { folder: string }> {
  const folder = settings.FOLDER ?? mkdtempSync(join(tmpdir(), 'api-'));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'deployment.json');
  writeFileSync(file, JSON.stringify(deployment));
  const config = loadConfig(apiOptions, {
    RPC_URLS: rpcUrl,
    DEPLOYMENT_FILE: file,
    DATABASE_URL: `file:${join(folder, 'api.sqlite')}`,
    API_PORT: '0',
    RELAYER_URL,
    APPROVAL_URL,
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'fatal',
    MARKS_INTERVAL_MS: '200',
    INDEX_INTERVAL_MS: '100',
    COST_INTERVAL_MS: '15000',
    HTTP_REQUESTS_PER_MINUTE: '0',
    ...settings,
  });
  const running: RunningApi = await startApi(config, createLogger('api', config.LOG_LEVEL, log));
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(`${running.url}${path}`, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== '' ? (JSON.parse(text) as Record<string, never>) : {},
    };
  };
  const get: ApiUnderTest['get'] = (path, headers = {}) => ask(path, { headers });
  const until: ApiUnderTest['until'] = async (path, holds, withinMs = 40_000) => {
    const deadline = Date.now() + withinMs;
    for (;;) {
      const answer = await get(path);
      if (holds(answer)) return answer;
      if (Date.now() > deadline) {
        throw new Error(`${path} still answers ${answer.status} ${answer.text.slice(0, 500)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const marksSettled = async (): Promise<void> => {
    // Two whole rounds after now: whatever was mined before is in the second.
    let last = Date.now();
    for (let rounds = 0; rounds < 2; rounds += 1) {
      const { body } = await until('/v1/markets', (answer) => Number(answer.body.asOfMs) > last);
      last = Number(body.asOfMs);
    }
  };
  return {
    url: running.url,
    folder,
    get,
    post: (path, body) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    until,
    marksSettled,
    settled: async () => {
      const head = Number(await rpc<string>(rpcUrl, 'eth_blockNumber', []));
      await marksSettled();
      await until('/metrics', ({ text }) => readTo(text) >= head);
      await until('/ready', ({ status, body }) => status === 200 || isStill(body.checks));
    },
    stop: running.stop,
  };
}

/**
 * Whether a process that is not ready lacks nothing but a new block. Where nobody makes any, the marks are live for
 * MARKS_STALE_AFTER_MS alone, and on a busy machine that is over before the rest has settled.
 */
function isStill(checks: readonly { ok: boolean; reason?: string }[] = []): boolean {
  const failing = checks.filter(({ ok }) => !ok);
  return failing.length > 0 && failing.every(({ reason }) => reason?.startsWith('no new block'));
}

/** The block that the index has read to, from its metrics. */
function readTo(metrics: string): number {
  const valueOf = (name: string): number =>
    Number(new RegExp(`^basket_api_${name} (\\d+)$`, 'm').exec(metrics)?.[1]);
  return valueOf('head_block') - valueOf('index_lag_blocks');
}

/**
 * Registers the hooks. By default each test has an api of its own. Where nothing depends on the order index (which
 * sees the revert between tests as a chain that shrank) one for the file is quicker.
 */
export function useApi(
  fork: Fork,
  options: { settings?: Record<string, string>; per?: 'test' | 'file' } = {},
): ApiUnderTest {
  let current: (ApiUnderTest & { folder: string }) | undefined;
  const launch = async () => {
    current = await launchApi(fork.url, fork.deployment, options.settings);
  };
  const end = async () => {
    await current?.stop();
    if (current !== undefined) rmSync(current.folder, { recursive: true, force: true });
    current = undefined;
  };
  if (options.per === 'file') {
    beforeAll(launch);
    afterAll(end);
  } else {
    beforeEach(launch);
    afterEach(end);
  }
  // An api that lives through the revert between tests remembers the higher block, and would ask for it by number.
  let highest = 0n;
  const head = () => fork.client.getBlockNumber({ cacheTime: 0 });
  if (options.per === 'file') {
    afterEach(async () => {
      const reached = await head();
      if (reached > highest) highest = reached;
    });
  }
  beforeEach(async () => {
    const lacking = options.per === 'file' ? highest - (await head()) : 0n;
    if (lacking > 0n) await fork.client.mine({ blocks: Number(lacking) });
    await (options.per === 'file' ? current?.marksSettled() : current?.settled());
  });
  return new Proxy({} as ApiUnderTest, {
    get(_, name) {
      if (current === undefined) throw new Error('the api runs inside tests only');
      return current[name as keyof ApiUnderTest];
    },
  });
}

/** A 200; otherwise shows what was answered. */
export function expectOk({ status, text }: Answer): void {
  expect({ status, text }).toEqual({ status: 200, text });
}

/** The one error shape (wire.md, Errors). */
export function expectError(answer: Answer, status: number, code: string, message?: RegExp): void {
  expect({ status: answer.status, code: answer.body.code, text: answer.text }).toMatchObject({
    status,
    code,
  });
  expect(answer.body).toMatchObject({ error: expect.any(String), retryable: expect.any(Boolean) });
  if (message !== undefined) expect(answer.body.error).toMatch(message);
}
