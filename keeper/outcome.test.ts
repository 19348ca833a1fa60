/** What a receipt tells of an attempt, as the journal keeps it: the store is real, the receipts are given. */
import { encodeAbiParameters, erc20Abi, type Hex, encodeEventTopics, pad } from 'viem';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { IntentState } from '../runtime/sender/types.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import type { OrderReader } from './chain/order.ts';
import type { KeeperContext } from './context.ts';
import { createJournal, type Journal } from './journal/journal.ts';
import { type StoreTables, storeMigrations } from './journal/migrations.ts';
import { createMemories } from './memory.ts';
import { createKeeperMetrics } from './metrics.ts';
import { settleAttempts } from './outcome.ts';
import { createBatchGas } from './policy/batch-gas.ts';
import { isLoss } from './policy/breaker.ts';
import { PATIENCE_RULES } from './policy/patience.ts';

const USDG = '0x00000000000000000000000000000000000000d1';
const EXECUTOR = '0x00000000000000000000000000000000000000e1';
const CONTRACT = '0x00000000000000000000000000000000000000c1';
const HASH: Hex = pad('0x77');
const job = (number: number): string => `${CONTRACT}:${pad(`0x${number}`)}`;
const keyOf = (number: number, attempt = 1): string => `foreign:${job(number)}:${attempt}`;

type Logs = Extract<Awaited<ReturnType<OrderReader['receipt']>>, { tag: 'receipt' }>['logs'];

const transferOf = (amount: bigint): Logs =>
  [
    {
      address: USDG,
      topics: encodeEventTopics({
        abi: erc20Abi,
        eventName: 'Transfer',
        args: { from: CONTRACT, to: EXECUTOR },
      }),
      data: encodeAbiParameters([{ type: 'uint256' }], [amount]),
    },
  ] as unknown as Logs;

let store: Store<StoreTables>;
let journal: Journal;
let context: KeeperContext;
let logs: Logs = [];
let state: IntentState;
let receipts = 0;

const included = (tag: 'mined' | 'reverted', confirmed: boolean): IntentState => ({
  tag,
  wallet: EXECUTOR,
  nonce: 0,
  hash: HASH,
  blockNumber: 1n,
  blockHash: HASH,
  gasUsed: 100_000n,
  effectiveGasPrice: 10n ** 9n,
  confirmed,
});

beforeEach(async () => {
  receipts = 0;
  store = await openStore<StoreTables>({ url: 'file::memory:', migrations: storeMigrations });
  journal = createJournal(store.db);
  const parts: Partial<KeeperContext> = {
    logger: createLogger('keeper', 'silent'),
    metrics: createKeeperMetrics(createMetrics('keeper')),
    journal,
    memories: createMemories({ journal, rules: PATIENCE_RULES, capacity: 10, now: Date.now }),
    executor: EXECUTOR,
    usdg: USDG,
    now: Date.now,
    batchGas: createBatchGas(),
    sender: {
      get: async () => ({ intent: {}, state, createdAt: 0, updatedAt: 0 }),
    } as unknown as KeeperContext['sender'],
    orders: {
      auctionTerms: async () => null,
      positionCount: async () => null,
      receipt: async () => {
        receipts += 1;
        return { tag: 'receipt', logs, gasL1: null };
      },
    },
  };
  context = parts as KeeperContext;
});
afterEach(() => store.close());

async function opened(
  number: number,
  carrier?: { key: string; index: number; members: number },
  attempt = 1,
  leastUsdg: bigint | null = null,
) {
  await journal.openAttempt({
    intentKey: keyOf(number, attempt),
    jobKey: job(number),
    kind: 'foreign',
    attempt,
    leastUsdg,
    promisedUsdg: 0n,
    workType: 'foreign',
    ticker: null,
    duty: false,
    expectedUsdg: 0n,
    ...(carrier === undefined ? {} : { carrier }),
  });
}

test('what reverted in a block that a reorg took back and then was mined has its fee read anew', async () => {
  await opened(1);
  logs = [];
  state = included('reverted', false);
  await settleAttempts(context, null, () => false);
  expect(await journal.lastAttempt(job(1), 'foreign')).toMatchObject({
    outcome: 'reverted',
    feeUsdg: 0n,
  });
  // The same bytes, in another block, between two looks.
  logs = transferOf(250_000n);
  state = included('mined', true);
  await settleAttempts(context, null, () => false);
  expect(await journal.lastAttempt(job(1), 'foreign')).toMatchObject({
    outcome: 'mined',
    feeUsdg: 250_000n,
    settled: true,
  });
});

test('the receipt of a batch is asked for once in a look, however many it carries', async () => {
  const members = 3;
  for (let index = 0; index < members; index += 1) {
    await opened(index + 1, { key: 'batch:1', index, members });
  }
  logs = [];
  state = included('mined', false);
  await settleAttempts(context, null, () => false);
  expect(receipts).toBe(1);
  for (let index = 0; index < members; index += 1) {
    expect(await journal.lastAttempt(job(index + 1), 'foreign')).toMatchObject({
      outcome: 'reverted',
      feeUsdg: 0n,
    });
  }
});

test('reverts are counted until the work is done, and count anew from there', async () => {
  const revertsOf = async () => (await journal.readJob(job(1)))?.patience.reverts;
  logs = [];
  let attempt = 0;
  for (const reverts of [1, 2]) {
    await opened(1, undefined, (attempt += 1));
    state = included('reverted', true);
    await settleAttempts(context, null, () => false);
    expect(await revertsOf()).toBe(reverts);
  }
  await opened(1, undefined, (attempt += 1));
  state = included('mined', true);
  await settleAttempts(context, null, () => false);
  expect(await revertsOf()).toBe(0);
  await opened(1, undefined, (attempt += 1));
  state = included('reverted', true);
  await settleAttempts(context, null, () => false);
  expect(await revertsOf()).toBe(1);
});

test('what moved a unit less than it had to is no execution: it counts as a revert, and its source is told', async () => {
  const told: string[] = [];
  context = { ...context, foreign: { unpaid: (key: string) => told.push(key) } } as never;
  logs = transferOf(1_484_999n);
  state = included('mined', true);
  await opened(1, undefined, 1, 1_485_000n);
  await settleAttempts(context, null, () => false);
  logs = transferOf(1_485_000n);
  await opened(2, undefined, 1, 1_485_000n);
  await settleAttempts(context, null, () => false);
  const last = async (number: number) => {
    const [timeline] = await journal.timeline(pad(`0x${number}`));
    return timeline?.decisions.at(-1)?.decision;
  };
  expect([await last(1), await last(2)]).toEqual(['unpaid', 'executed']);
  expect((await journal.readJob(job(1)))?.patience.reverts).toBe(1);
  expect(await journal.readJob(job(2))).toBeNull();
  expect(told).toEqual([job(1)]);
  const { runs } = await journal.foreignRuns(CONTRACT, 0);
  expect(runs.map(isLoss)).toEqual([true, false]);
});
