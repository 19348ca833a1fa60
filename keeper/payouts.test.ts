/** How long payouts may keep a tick: the store and the patience are real, each sending is given. */
import { pad } from 'viem';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { createJournal } from './journal/journal.ts';
import { type StoreTables, storeMigrations } from './journal/migrations.ts';
import { createMemories, type Memories } from './memory.ts';
import { createKeeperMetrics } from './metrics.ts';
import { createPayouts, type Payouts, type ReadyPayout } from './payouts.ts';
import { PATIENCE_RULES } from './policy/patience.ts';
import { workKeyOf } from './work.ts';

const MARKET = pad('0xc1', { size: 20 });
const SUBMIT_TIMEOUT_MS = 5_000;
const COUNT = 20;

let store: Store<StoreTables>;
let memories: Memories;
let payouts: Payouts;
let clock: number;
/** Positions whose payout was handed to the sender, in order. */
let sent: bigint[];

beforeEach(async () => {
  clock = 1_800_000_000_000;
  sent = [];
  store = await openStore<StoreTables>({ url: 'file::memory:', migrations: storeMigrations });
  const now = (): number => clock;
  const journal = createJournal(store.db, now);
  memories = createMemories({ journal, rules: PATIENCE_RULES, capacity: 100, now });
  payouts = createPayouts(
    {
      logger: createLogger('keeper', 'silent'),
      metrics: createKeeperMetrics(createMetrics('keeper')),
      journal,
      memories,
      // Nothing of these is in the sender's journal: no claim outlasts the tick.
      sender: { get: async () => null },
      now,
    },
    null,
  );
});
afterEach(() => store.close());

/** Each pays one position, and its submit takes `ms`. */
const readyOf = (ms: (position: bigint) => number): ReadyPayout[] =>
  Array.from({ length: COUNT }, (_, at) => {
    const position = BigInt(at);
    return {
      work: {
        key: workKeyOf(MARKET, String(position), 'payout'),
        source: 0,
        contract: MARKET,
        ticker: 'CORE',
        vault: MARKET,
        promisedUsdg: 0n,
        data: '0x',
        type: 'payout',
        id: String(position),
        week: 1,
        positions: [position],
      },
      netUsdg: 0n,
      send: async () => {
        sent.push(position);
        clock += ms(position);
        return 'sent';
      },
    };
  });

const tick = (ready: readonly ReadyPayout[], isOver = () => false): Promise<void> =>
  payouts.send(
    ready,
    async (_, fault) => {
      throw fault;
    },
    isOver,
  );

/** Until when each may not be tried again; 0: at once. */
const waitsUntil = async (ready: readonly ReadyPayout[]): Promise<number[]> =>
  Promise.all(
    ready.map(async ({ work }) => (await memories.recall(work.key, work)).patience.notBeforeMs),
  );

test('all go out in one tick while the node is quick', async () => {
  await tick(readyOf(() => 20));
  expect(sent).toHaveLength(COUNT);
});

test.each([0, 1, 7])('none goes out once the tick is over, here after %i', async (most) => {
  const ready = readyOf(() => 20);
  await tick(ready, () => sent.length === most);
  expect(sent).toHaveLength(most);
  // What is left waits for nothing but the next tick.
  const left = ready.slice(most);
  expect(await waitsUntil(left)).toEqual(left.map(() => 0));
  await tick(left);
  expect(sent).toHaveLength(COUNT);
});

test('a tick ends with them after its share of time, and the next ones send the rest', async () => {
  let left = readyOf(() => 900);
  await tick(left);
  expect(sent).toHaveLength(4);
  for (let ticks = 1; left.length > 0; ticks += 1) {
    expect(ticks).toBeLessThanOrEqual(COUNT / 4);
    left = left.filter(({ work }) => !work.positions.some((position) => sent.includes(position)));
    await tick(left);
  }
  expect(sent).toHaveLength(COUNT);
});

test.each([
  ['is not answered', SUBMIT_TIMEOUT_MS],
  ['is answered late', 1_500],
])('where a broadcast %s the rest waits, in later ticks too, and then goes out', async (_, ms) => {
  const ready = readyOf((position) => (position === 0n ? ms : 20));
  const [, ...rest] = ready;
  await tick(ready);
  expect(sent).toEqual([0n]);
  await tick(rest);
  expect(sent).toEqual([0n]);
  const until = await waitsUntil(rest);
  expect(new Set(until).size).toBe(1);
  expect(until[0]).toBeGreaterThan(clock + 2 * ms);
  clock = until[0] ?? 0;
  await tick(rest);
  expect(sent).toHaveLength(COUNT);
});
