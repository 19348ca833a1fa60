/** A relayer of this process on a fork, with its own data folder, and how a client talks to it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Hex, TransactionNotFoundError } from 'viem';
import { relayerOptions } from '../../relayer/config.ts';
import { type RunningRelayer, startRelayer } from '../../relayer/start.ts';
import { loadConfig } from '../../runtime/config.ts';
import { createLogger } from '../../runtime/logger.ts';
import type { Fork } from '../harness/fork.ts';

export type Reply = { status: number; body: Record<string, unknown>; headers: Headers };

export type TestRelayer = RunningRelayer & {
  post(body: unknown): Promise<Reply>;
  /** To the route of cover actions. */
  postCover(body: unknown): Promise<Reply>;
  postText(text: string, headers?: Record<string, string>): Promise<Reply>;
  get(path: string): Promise<Reply>;
};

/** Polls until `check` gives something other than null; throws with what was waited for. */
export async function until<T>(what: string, check: () => Promise<T | null>): Promise<T> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const found = await check();
    if (found !== null) return found;
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await delay(20);
  }
}

/** The node holds the transaction: the relayer says `pending` as soon as it may have been sent. */
export async function inPool(fork: Fork, hash: unknown): Promise<void> {
  await until(`${String(hash)} in the pool`, async () => {
    try {
      return await fork.client.getTransaction({ hash: hash as Hex });
    } catch (error) {
      // Expected until the node has it.
      if (error instanceof TransactionNotFoundError) return null;
      throw error;
    }
  });
}

export type DataFolder = { path: string; remove(): void };

export function dataFolder(): DataFolder {
  const path = mkdtempSync(join(tmpdir(), 'basket-relayer-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** The environment of a relayer on this fork. */
export function relayerEnv(
  fork: Fork,
  data: DataFolder,
  env: Record<string, string> = {},
): Record<string, string> {
  const deploymentFile = join(data.path, 'deployment.json');
  writeFileSync(deploymentFile, JSON.stringify(fork.deployment));
  return {
    RPC_URLS: fork.url,
    DEPLOYMENT_FILE: deploymentFile,
    DATABASE_URL: `file:${join(data.path, 'relayer.sqlite')}`,
    WALLET_PRIVATE_KEYS: fork.accounts.relayer.privateKey,
    RELAYER_PORT: '0',
    HTTP_REQUESTS_PER_MINUTE: '0',
    SENDER_TICK_MS: '20',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'fatal',
    ...env,
  };
}

export async function startTestRelayer(
  fork: Fork,
  data: DataFolder,
  env: Record<string, string> = {},
): Promise<TestRelayer> {
  const config = loadConfig(relayerOptions, relayerEnv(fork, data, env));
  const running = await startRelayer(config, createLogger('relayer', config.LOG_LEVEL));
  return { ...running, ...clientOf(running.url) };
}

export type RelayerClient = Pick<TestRelayer, 'post' | 'postCover' | 'postText' | 'get'>;

export function clientOf(url: string): RelayerClient {
  const ask = async (path: string, init: RequestInit): Promise<Reply> => {
    const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(40_000), ...init });
    const body = (await response.json()) as Record<string, unknown>;
    return { status: response.status, body, headers: response.headers };
  };
  const postText = (
    text: string,
    headers: Record<string, string> = {},
    route = 'execute',
  ): Promise<Reply> =>
    ask(`/relay/v1/account/${route}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: text,
    });
  return {
    postText,
    post: (body) => postText(JSON.stringify(body)),
    postCover: (body) => postText(JSON.stringify(body), {}, 'cover'),
    get: (path) => ask(path, {}),
  };
}
