/** How work comes to the sender, and how long that may keep a tick: the store is real, the sender is given. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { IntentState } from '../runtime/sender/types.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { type Ready, sendReady } from './batch.ts';
import type { World } from './chain/world.ts';
import type { KeeperContext } from './context.ts';
import { ESCROW, fillOf } from './fill-fixture.ts';
import { createJournal } from './journal/journal.ts';
import { type StoreTables, storeMigrations } from './journal/migrations.ts';
import { createMemories } from './memory.ts';
import { createKeeperMetrics } from './metrics.ts';
import { settleAttempts } from './outcome.ts';
import { createBatchGas } from './policy/batch-gas.ts';
import { PATIENCE_RULES } from './policy/patience.ts';
import { send, type Terms } from './send.ts';
import { type CoverWork, workKeyOf } from './work.ts';

const WALLET = '0x00000000000000000000000000000000000000e1';
const SUBMIT_MS = 5_000;

const world: World = {
  blockNumber: 1n,
  timestamp: 1_800_000_000n,
  market: { gasPriceWei: 1n, ethPrice: null },
  readAtMs: 0,
};
const terms: Terms = {
  gasLimit: 1n,
  maxFeePerGas: 1n,
  costUsdg: 0n,
  profitUsdg: 0n,
  duty: false,
};
const queued: IntentState = { tag: 'queued' };
const refused = (reason: 'rpc_unavailable' | 'expired'): IntentState => ({
  tag: 'refused',
  reason,
  message: '',
  revertData: null,
});

let store: Store<StoreTables>;
let context: KeeperContext;
let clock: number;
let state: IntentState;
let usable: boolean;
/** Jobs handed to the sender, in order. */
let submitted: string[];
let looks: number;

beforeEach(async () => {
  clock = 1_800_000_000_000;
  state = queued;
  usable = true;
  submitted = [];
  looks = 0;
  store = await openStore<StoreTables>({ url: 'file::memory:', migrations: storeMigrations });
  const now = (): number => clock;
  const journal = createJournal(store.db, now);
  const parts: Partial<KeeperContext> = {
    logger: createLogger('keeper', 'silent'),
    metrics: createKeeperMetrics(createMetrics('keeper')),
    journal,
    memories: createMemories({ journal, rules: PATIENCE_RULES, capacity: 1_000, now }),
    executor: WALLET,
    batchMax: 1,
    batchGas: createBatchGas(),
    submitTimeoutMs: SUBMIT_MS,
    dryRun: false,
    now,
    sender: {
      status: () => ({ wallets: [{ address: WALLET, usable }] }),
      submit: async ({ meta }: { meta: { job: string } }) => {
        submitted.push(meta.job);
        clock += SUBMIT_MS;
        return state;
      },
      get: async () => {
        looks += 1;
        clock += 1_000;
        return { intent: {}, state, createdAt: 0, updatedAt: 0 };
      },
    } as unknown as KeeperContext['sender'],
  };
  context = parts as KeeperContext;
});
afterEach(() => store.close());

const payout: CoverWork = {
  type: 'payout',
  key: workKeyOf(ESCROW, '1', 'payout'),
  id: '1',
  source: 0,
  contract: ESCROW,
  ticker: 'CORE',
  vault: ESCROW,
  promisedUsdg: 1n,
  data: '0x',
  week: 1,
  positions: [1n],
};

const sendPayout = (attempt = 1) =>
  send(context, {
    work: payout,
    kind: 'payout',
    data: payout.data,
    attempt,
    terms,
    world,
    fingerprint: '',
  });

test('what the sender refuses is not sent: a payout that it refused holds up nobody who lists the same positions', async () => {
  state = refused('rpc_unavailable');
  expect(await sendPayout()).toBe('not_sent');
  state = refused('expired');
  expect(await sendPayout(2)).toBe('not_sent');
  usable = false;
  expect(await sendPayout(3)).toBe('not_sent');
  usable = true;
  state = queued;
  expect(await sendPayout(3)).toBe('sent');
  expect(submitted).toHaveLength(3);
});

const readyOf = (count: number): Ready[] =>
  Array.from({ length: count }, (_, at) => ({
    work: fillOf(at + 1),
    attempt: 1,
    terms,
    gas: 1n,
    gainUsdg: 1n,
    place: null,
    fingerprint: '',
  }));

const sendAll = async (ready: readonly Ready[], isOver: () => boolean): Promise<void> => {
  const records: (() => Promise<void>)[] = [];
  await sendReady(
    context,
    ready,
    world,
    {
      fault: async (_, fault) => {
        throw fault;
      },
      sent: (record) => void records.push(record),
    },
    isOver,
  );
  for (const record of records) await record();
};

test('fills that are ready are sent until their time is over, the rest with a later tick', async () => {
  const ready = readyOf(20);
  const endsAt = clock + 2 * SUBMIT_MS;
  await sendAll(ready, () => clock >= endsAt);
  expect(submitted).toEqual(ready.slice(0, 2).map(({ work }) => work.key));
  const left = ready.slice(2);
  await sendAll(left, () => true);
  expect(submitted).toHaveLength(2);
  // They wait for nothing but that tick.
  for (const { work } of left) {
    expect((await context.memories.recall(work.key, work)).patience.notBeforeMs).toBe(0);
  }
  await sendAll(left, () => false);
  expect(submitted).toHaveLength(20);
});

test('attempts under way are looked up until the time for it is over', async () => {
  await sendAll(readyOf(20), () => false);
  const endsAt = clock + 5_000;
  await settleAttempts(context, null, () => clock >= endsAt);
  expect(looks).toBe(5);
});
