/** What goes out together: proven by how it was simulated, or simulated again. */
import { decodeFunctionData, multicall3Abi, pad } from 'viem';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { Intent } from '../runtime/sender/types.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { type Ready, sendReady } from './batch.ts';
import type { Call, Simulation } from './chain/simulate.ts';
import type { Place } from './chain/together.ts';
import type { World } from './chain/world.ts';
import type { KeeperContext } from './context.ts';
import { ESCROW, fillOf } from './fill-fixture.ts';
import { createJournal } from './journal/journal.ts';
import { type StoreTables, storeMigrations } from './journal/migrations.ts';
import { createMemories } from './memory.ts';
import { createKeeperMetrics } from './metrics.ts';
import { createBatchGas } from './policy/batch-gas.ts';
import { PATIENCE_RULES } from './policy/patience.ts';
import type { Fill } from './work.ts';

const WALLET = '0x00000000000000000000000000000000000000e1';
const MULTICALL = '0x00000000000000000000000000000000000000ca';
const NOW = 1_800_000_000_000;
const FEE = 1_000_000n;
const GAS = 300_000n;

const world: World = {
  blockNumber: 1n,
  timestamp: BigInt(NOW / 1_000),
  market: { gasPriceWei: 10_000_000n, ethPrice: 3_000n * 10n ** 18n },
  readAtMs: NOW,
};

let store: Store<StoreTables>;
let context: KeeperContext;
let simulated: Call[];
let sent: Pick<Intent, 'to' | 'data'>[];
let limits: (bigint | undefined)[];
let answer: Simulation;

beforeEach(async () => {
  simulated = [];
  sent = [];
  limits = [];
  answer = { tag: 'passed', gainUsdg: FEE, returned: pad('0x0f4240'), gas: GAS };
  store = await openStore<StoreTables>({ url: 'file::memory:', migrations: storeMigrations });
  const journal = createJournal(store.db, () => NOW);
  const parts: Partial<KeeperContext> = {
    logger: createLogger('keeper', 'silent'),
    metrics: createKeeperMetrics(createMetrics('keeper')),
    journal,
    memories: createMemories({ journal, rules: PATIENCE_RULES, capacity: 1_000, now: () => NOW }),
    executor: WALLET,
    multicall3: MULTICALL,
    batchMax: 10,
    batchGas: createBatchGas(),
    submitTimeoutMs: 1_000,
    dryRun: false,
    now: () => NOW,
    rules: {
      feeToleranceBps: 100n,
      gasLimitHeadroomBps: 5_000n,
      minProfitUsdg: 0n,
      marginBps: 0n,
      gasPriceHeadroomBps: 0n,
    },
    simulator: {
      simulate: async (call: Call) => {
        simulated.push(call);
        return answer;
      },
    } as unknown as KeeperContext['simulator'],
    sender: {
      status: () => ({ wallets: [{ address: WALLET, usable: true }] }),
      submit: async ({ to, data, gas }: Intent) => {
        sent.push({ to, data });
        limits.push(gas);
        return { tag: 'queued' };
      },
    } as unknown as KeeperContext['sender'],
  };
  context = parts as KeeperContext;
});
afterEach(() => store.close());

const fillFor = (number: number): Fill => fillOf(number, { promisedUsdg: FEE });

const ready = (number: number, place: Place | null): Ready => ({
  work: fillFor(number),
  attempt: 1,
  terms: { gasLimit: GAS, maxFeePerGas: 1n, costUsdg: 0n, profitUsdg: FEE, duty: false },
  gas: GAS,
  gainUsdg: FEE,
  place,
  fingerprint: '',
});

const run = Symbol('run');
const inRun = (...places: number[]): Ready[] =>
  places.map((at) => ready(at + 1, { run, at, ms: NOW }));
const send = async (members: readonly Ready[]): Promise<void> => {
  const records: (() => Promise<void>)[] = [];
  await sendReady(
    context,
    members,
    world,
    {
      fault: async (_, fault) => {
        throw fault;
      },
      sent: (record) => void records.push(record),
    },
    () => false,
  );
  for (const record of records) await record();
};
/** The members of each transaction sent, by the number of the order. */
const numbers = (): number[][] =>
  sent.map(({ to, data }) => {
    if (to !== MULTICALL) return [Number(data)];
    const { args } = decodeFunctionData({ abi: multicall3Abi, data });
    return (args as unknown as [{ callData: string }[]])[0].map(({ callData }) => Number(callData));
  });

test('what was simulated one behind another goes out so, without being simulated again', async () => {
  await send(inRun(2, 0, 1));
  expect(simulated).toHaveLength(0);
  expect(numbers()).toEqual([[1, 2, 3]]);
});

test('a batch asks for what such batches need and the headroom over it, and always for more than its estimates', async () => {
  const sum = 3n * GAS;
  const over = (gas: bigint): bigint =>
    gas + (gas * context.rules.gasLimitHeadroomBps + 9_999n) / 10_000n;
  const learn = (name: string, baskets: string, gasUsed: bigint): void => {
    for (const batch of [1, 2, 3]) {
      context.batchGas.sent(`${name}${batch}`, baskets, sum);
      context.batchGas.mined(`${name}${batch}`, gasUsed, true);
    }
  };
  learn('others', 'sell:0xb1', sum / 10n);
  await send(inRun(0, 1, 2));
  const baskets = `sell:${fillFor(1).data.length}`;
  learn('cheap', baskets, sum / 10n);
  await send(inRun(0, 1, 2));
  learn('dear', baskets, (sum * 64n) / 100n);
  await send(inRun(0, 1, 2));
  expect(limits).toEqual([over(sum), (sum * 11n) / 10n, over((sum * 80n) / 100n)]);
});

test('what was simulated so a while ago is simulated again', async () => {
  answer = { tag: 'passed', gainUsdg: 3n * FEE, returned: '0x', gas: GAS };
  await send(
    inRun(0, 1, 2).map((one) => ({
      ...one,
      place: one.place && { ...one.place, ms: NOW - 3_001 },
    })),
  );
  expect(simulated.length).toBe(1);
});

test('the first of a run are as proven as all of it', async () => {
  await send(inRun(0, 1));
  expect(simulated).toHaveLength(0);
  expect(numbers()).toEqual([[1, 2]]);
});

test.each([
  ['one of a run is missing before the others', inRun(0, 2)],
  ['the first of a run is missing', inRun(1, 2)],
  [
    'two runs meet',
    [ready(1, { run: Symbol('one'), at: 0, ms: NOW }), ready(2, { run, at: 0, ms: NOW })],
  ],
  ['one was simulated by itself', [ready(1, null), ready(2, { run, at: 0, ms: NOW })]],
])('where %s the batch is simulated first', async (_, members) => {
  answer = { tag: 'passed', gainUsdg: 2n * FEE, returned: '0x', gas: GAS };
  await send(members);
  expect(simulated.map(({ to }) => to)).toEqual([MULTICALL]);
  expect(numbers()).toEqual([members.map(({ work }) => Number(work.data))]);
});

test('two runs go out as two batches where both fill one', async () => {
  context.batchMax = 2;
  const other = Symbol('other');
  const mixed = [0, 1].flatMap((at) => [
    ready(at + 1, { run, at, ms: NOW }),
    ready(at + 11, { run: other, at, ms: NOW }),
  ]);
  await send(mixed);
  expect(simulated).toHaveLength(0);
  expect(numbers()).toEqual([
    [1, 2],
    [11, 12],
  ]);
});

test('what was simulated behind others goes out alone only where it pays alone', async () => {
  await send(inRun(1));
  expect(simulated.map(({ to }) => to)).toEqual([ESCROW]);
  expect(numbers()).toEqual([[2]]);
  answer = { tag: 'reverted', revert: { tag: 'not_due', text: 'not due' }, gasSpent: null };
  await send(inRun(2));
  expect(numbers()).toEqual([[2]]);
  // It waits for nothing but the next tick.
  const { key } = fillFor(3);
  expect((await context.memories.recall(key, fillFor(3))).patience.notBeforeMs).toBe(0);
  await send(inRun(0));
  expect(simulated).toHaveLength(2);
  expect(numbers()).toEqual([[2], [1]]);
});

test('a batch that fails when it is simulated goes out apart, each as it pays alone', async () => {
  answer = { tag: 'reverted', revert: { tag: 'other', text: '' }, gasSpent: null };
  await send([
    ready(1, null),
    ready(2, { run, at: 0, ms: NOW }),
    ready(3, { run, at: 1, ms: NOW }),
  ]);
  expect(simulated.map(({ to }) => to)).toEqual([MULTICALL, ESCROW]);
  expect(numbers()).toEqual([[1], [2]]);
});
