import { type Hex, pad } from 'viem';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../runtime/logger.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { createTrail, readTrail, type Trail } from './trail.ts';
import { trailMigrations, type TrailTables } from './trail-tables.ts';

const digestOf = (number: number): Hex => pad(`0x${number.toString(16)}`, { size: 32 });
const ONE = digestOf(1);
const TWO = digestOf(2);

let store: Store<TrailTables>;
let trail: Trail;
let clock = 1_800_000_000_000;

beforeEach(async () => {
  store = await openStore<TrailTables>({ url: 'file::memory:', migrations: trailMigrations });
  trail = createTrail(store.db, createLogger('relayer', 'fatal'), () => clock);
});
afterEach(async () => {
  await trail.stop();
  await store.close();
});

const linesOf = async (digest: Hex) =>
  (await readTrail(store.db, digest)).map(({ what, detail }) => `${what}: ${detail}`);

test('the lines of an action come back in the order in which they were written', async () => {
  trail.note({ digest: ONE, what: 'checked', detail: 'a' });
  trail.note({ digest: TWO, what: 'refused', detail: 'b' });
  trail.note({ digest: ONE, what: 'claimed', detail: 'c' });
  await trail.flush();
  trail.note({ digest: ONE, what: 'mined', detail: 'd' });
  await trail.flush();
  expect(await linesOf(ONE)).toEqual(['checked: a', 'claimed: c', 'mined: d']);
  expect(await linesOf(TWO)).toEqual(['refused: b']);
});

test('an action posted again and again has a bounded trail, and a long detail is cut', async () => {
  for (let count = 0; count < 200; count += 1) {
    trail.note({ digest: ONE, what: 'refused', detail: 'x'.repeat(5_000) });
  }
  await trail.flush();
  const rows = await readTrail(store.db, ONE);
  expect(rows).toHaveLength(60);
  expect(rows[0]?.detail.length).toBeLessThan(700);
  expect(trail.dropped()).toBe(140);
});

test('strangers cannot fill the store, and a minute later they are heard again', async () => {
  for (let count = 0; count < 10_000; count += 1) {
    trail.noteStranger({ digest: digestOf(count + 10), what: 'refused', detail: 'no grant' });
  }
  trail.note({ digest: ONE, what: 'claimed', detail: '' });
  await trail.flush();
  const { count } = await store.db
    .selectFrom('relay_trail')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  expect(count).toBe(301);
  clock += 60_000;
  trail.noteStranger({ digest: TWO, what: 'refused', detail: 'no grant' });
  await trail.flush();
  expect(await linesOf(TWO)).toHaveLength(1);
});

test('a store that takes nothing fails nobody', async () => {
  await store.close();
  trail.note({ digest: ONE, what: 'claimed', detail: '' });
  await trail.flush();
  expect(trail.dropped()).toBe(1);
});

test('old lines are forgotten', async () => {
  trail.note({ digest: ONE, what: 'claimed', detail: 'old' });
  clock += 1_000;
  trail.note({ digest: ONE, what: 'mined', detail: 'new' });
  await trail.flush();
  await trail.prune(clock);
  expect(await linesOf(ONE)).toEqual(['mined: new']);
});
