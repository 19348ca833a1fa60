/** A sender under test: a fresh Anvil, the fault proxy before it, a journal on disk, fresh funded wallets. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { Registry } from 'prom-client';
import { type Address, numberToHex, parseEther } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { DurablePoint } from '../../runtime/sender/context.ts';
import {
  type SenderSettings,
  senderOptions,
  senderSettings,
} from '../../runtime/sender/options.ts';
import { createSender } from '../../runtime/sender/sender.ts';
import { type SenderTables, senderMigrations } from '../../runtime/sender/tables.ts';
import type { Intent, IntentState, Sender } from '../../runtime/sender/types.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { type Anvil, type AnvilOptions, rpc, startAnvil } from '../anvil.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { callFor, installTarget, TARGET } from './target.ts';

export type BenchOptions = {
  anvil?: AnvilOptions;
  wallets?: number;
  /** Endpoints of the sender: the proxy first, then the chain itself. */
  endpoints?: 1 | 2;
  settings?: Partial<SenderSettings>;
  timeoutMs?: number;
  onDurablePoint?: (point: DurablePoint) => void;
};

export type Bench = {
  anvil: Anvil;
  proxy: Proxy;
  accounts: readonly PrivateKeyAccount[];
  /** Where the journal lies, for tests that break it. */
  storeFile: string;
  /** What `onFatal` was told. */
  fatal: unknown[];
  sender: Sender;
  registry: Registry;
  log: { level: number; msg: string }[];
  /** Ends the running sender and opens another on the same journal, as a restart does. */
  restart(): Promise<Sender>;
  close(): Promise<void>;
};

/** Quick and tight, so that deadlines are met in tests; the policy is the same. */
export const TEST_SETTINGS: SenderSettings = {
  ...senderSettings(senderOptions.parse({})),
  confirmations: 3,
  stuckAfterMs: 1_500,
  tickMs: 20,
  rebroadcastMs: 500,
  dispatchMs: 20_000,
};

export async function openBench(options: BenchOptions = {}): Promise<Bench> {
  const anvil = await startAnvil(options.anvil ?? { blockTime: 0.1 });
  const proxy = await startProxy(anvil.url);
  await installTarget(anvil.url);
  const accounts = Array.from({ length: options.wallets ?? 1 }, () =>
    privateKeyToAccount(generatePrivateKey()),
  );
  for (const { address } of accounts) await fund(anvil.url, address, '10');
  const folder = mkdtempSync(join(tmpdir(), 'sender-'));
  const log: Bench['log'] = [];
  const logger = memoryLogger(log);
  const settings = { ...TEST_SETTINGS, ...options.settings };
  let store: Store<SenderTables>;
  const open = async (): Promise<Sender> => {
    store = await openStore<SenderTables>({
      url: `file:${folder}/journal.sqlite`,
      migrations: senderMigrations,
      exclusive: 'sender',
    });
    bench.registry = new Registry();
    const sender = createSender({
      rpc: {
        urls: options.endpoints === 2 ? [proxy.url, anvil.url] : [proxy.url],
        timeoutMs: options.timeoutMs ?? 5_000,
      },
      chainId: 4663,
      wallets: accounts,
      store,
      settings,
      logger,
      registry: bench.registry,
      metricsPrefix: 'basket_test',
      onFatal: (error) => bench.fatal.push(error),
      ...(options.onDurablePoint ? { onDurablePoint: options.onDurablePoint } : {}),
    });
    await sender.start();
    bench.sender = sender;
    return sender;
  };
  const shut = async (): Promise<void> => {
    await bench.sender.stop(0);
    await store.close();
  };
  const bench: Bench = {
    anvil,
    proxy,
    accounts,
    storeFile: join(folder, 'journal.sqlite'),
    fatal: [],
    sender: undefined as unknown as Sender,
    registry: new Registry(),
    log,
    restart: async () => {
      await shut();
      return await open();
    },
    close: async () => {
      await shut();
      await proxy.stop();
      await anvil.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await open();
  return bench;
}

function memoryLogger(log: Bench['log']): Logger {
  return pino(
    { level: 'debug', base: null },
    {
      write: (line: string) => {
        log.push(JSON.parse(line, (_, value: unknown) => value) as Bench['log'][number]);
        if (process.env['SENDER_TEST_LOG'] === '1') process.stderr.write(line);
      },
    },
  );
}

export async function fund(url: string, address: Address, ether: string): Promise<void> {
  await rpc(url, 'anvil_setBalance', [address, numberToHex(parseEther(ether))]);
}

/** An intent whose execution can be counted by its key. */
export function intentFor(key: string, more: Partial<Intent> = {}): Intent {
  return { key, kind: 'test', to: TARGET, data: callFor(key), value: 0n, ...more };
}

export async function transactionCount(url: string, address: Address): Promise<number> {
  return Number(await rpc<string>(url, 'eth_getTransactionCount', [address, 'latest']));
}

/** Polls until the condition holds; the only waiting that tests do. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 20_000,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}

/** Lets real time pass while nothing is expected to happen, then the caller asserts that nothing did. */
export async function observe(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

export async function settled(sender: Sender, key: string, ms = 20_000): Promise<IntentState> {
  const state = await sender.wait(key, 'settled', ms);
  if (state === null) throw new Error(`intent ${key} is not in the journal`);
  return state;
}
