import fc from 'fast-check';
import type { CompiledQuery } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../runtime/store/store.ts';
import type { OrderRow } from '../orders/order-tables.ts';
import { type ApiTables, apiMigrations } from '../tables.ts';
import { DueIndex, dueQuery, expiredQuery } from './due-index.ts';
import { START } from './turns.ts';

const VAULT = `0x${'04'.repeat(20)}` as const;
const OTHER = `0x${'05'.repeat(20)}` as const;

let store: Store<ApiTables>;
let due: DueIndex;

beforeAll(async () => {
  store = await openStore<ApiTables>({ url: 'file::memory:', migrations: apiMigrations });
  due = new DueIndex(store.db);
});
afterAll(() => store.close());
beforeEach(async () => {
  await store.db.deleteFrom('order_index').execute();
});

type Terms = Partial<OrderRow>;

/** Opened one per block, in the order given. */
async function open(...terms: readonly Terms[]): Promise<void> {
  const rows = terms.map(
    (changes, index): OrderRow => ({
      id: `0x${index.toString(16).padStart(64, '0')}`,
      escrow: `0x${'02'.repeat(20)}`,
      kind: 'exit',
      owner: `0x${'03'.repeat(20)}`,
      vault: VAULT,
      amount: '1',
      stop_nav: '0',
      tp_nav: '0',
      trigger_nav: '0',
      deadline: 1_000,
      opened_block: index,
      opened_log: 0,
      closed_block: null,
      closed_as: null,
      ...changes,
    }),
  );
  if (rows.length > 0) await store.db.insertInto('order_index').values(rows).execute();
}

/** Blocks of what triggers. */
async function blocksDue(nav: bigint, chainTime = 0): Promise<number[]> {
  const found = await due.orders([{ vault: VAULT, nav }], chainTime, START, 1_000);
  return found.map(({ place }) => place.block);
}

/** How the store would look the rows up. */
async function planOf(query: CompiledQuery<object>): Promise<string[]> {
  const explained = { ...query, sql: `explain query plan ${query.sql}` };
  const { rows } = await store.db.executeQuery<{ detail: string }>(explained);
  return rows.map(({ detail }) => detail).filter((detail) => detail.includes('order_index'));
}

/** As the escrows decide it (protocol.md, Semantics decided: Trigger). */
function triggerHolds(row: Terms, nav: bigint): boolean {
  const level = (text: string | undefined) => BigInt(text ?? '0');
  if (row.kind === 'limit') {
    return level(row.trigger_nav) === 0n || nav <= level(row.trigger_nav);
  }
  const tp = level(row.tp_nav);
  return nav <= level(row.stop_nav) || (tp !== 0n && nav >= tp);
}

describe('the index of triggers', () => {
  it.each<[string, Terms, bigint, boolean]>([
    ['stop above', { stop_nav: '90' }, 91n, false],
    ['stop reached', { stop_nav: '90' }, 90n, true],
    ['take-profit below', { tp_nav: '110' }, 109n, false],
    ['take-profit reached', { tp_nav: '110' }, 110n, true],
    ['bracket between', { stop_nav: '90', tp_nav: '110' }, 100n, false],
    ['bracket below', { stop_nav: '90', tp_nav: '110' }, 89n, true],
    ['bracket above', { stop_nav: '90', tp_nav: '110' }, 111n, true],
    ['limit above', { kind: 'limit', trigger_nav: '90' }, 91n, false],
    ['limit reached', { kind: 'limit', trigger_nav: '90' }, 90n, true],
    ['limit without a trigger', { kind: 'limit' }, 10n ** 77n, true],
    ['numbers, not words: 9 is less than 10', { stop_nav: '9' }, 10n, false],
    ['numbers, not words: 100 is more than 99', { stop_nav: '100' }, 99n, true],
    ['the largest number', { tp_nav: (2n ** 256n - 1n).toString() }, 2n ** 256n - 1n, true],
    ['another vault', { stop_nav: '90', vault: OTHER }, 80n, false],
    ['closed', { stop_nav: '90', closed_block: 7, closed_as: 'filled' }, 80n, false],
  ])('%s', async (_name, terms, nav, holds) => {
    await open(terms);
    expect(await blocksDue(nav)).toEqual(holds ? [0] : []);
  });

  it('agrees with the escrows on any levels, oldest first', async () => {
    const level = fc.bigInt(1n, 2n ** 256n - 1n);
    const near = fc.bigInt(1n, 40n);
    const anyLevel = fc.oneof(near, level);
    const terms = fc.oneof(
      anyLevel.map((stop): Terms => ({ stop_nav: stop.toString() })),
      anyLevel.map((tp): Terms => ({ tp_nav: tp.toString() })),
      fc
        .uniqueArray(near, { minLength: 2, maxLength: 2 })
        .map((levels) => levels.toSorted((a, b) => (a < b ? -1 : 1)))
        .map(([stop, tp]): Terms => ({ stop_nav: `${stop}`, tp_nav: `${tp}` })),
      anyLevel.map((nav): Terms => ({ kind: 'limit', trigger_nav: nav.toString() })),
      fc.constant<Terms>({ kind: 'limit' }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(terms, { maxLength: 30 }), anyLevel, async (all, nav) => {
        await store.db.deleteFrom('order_index').execute();
        await open(...all);
        const expected = all.flatMap((row, index) => (triggerHolds(row, nav) ? [index] : []));
        expect(await blocksDue(nav)).toEqual(expected);
      }),
    );
  });

  it('ends with the deadline, inclusive: then it is expired', async () => {
    await open({ stop_nav: '90' });
    expect(await blocksDue(90n, 999)).toEqual([0]);
    expect(await due.expired(999, 10)).toEqual([]);
    expect(await blocksDue(90n, 1_000)).toEqual([]);
    expect(await due.expired(1_000, 10)).toHaveLength(1);
  });

  it('pages by place: the same block may open several', async () => {
    const same = { stop_nav: '90', opened_block: 5 };
    await open({ ...same, opened_log: 2 }, { ...same, opened_log: 1 }, { stop_nav: '90' });
    const navs = [{ vault: VAULT, nav: 1n }];
    const [first, second] = await due.orders(navs, 0, START, 2);
    expect([first?.place, second?.place]).toEqual([
      { block: 2, log: 0 },
      { block: 5, log: 1 },
    ]);
    const rest = await due.orders(navs, 0, second?.place ?? START, 2);
    expect(rest.map(({ place }) => place)).toEqual([{ block: 5, log: 2 }]);
  });

  it('asks several vaults at once, each at its own NAV', async () => {
    await open({ stop_nav: '90' }, { stop_nav: '90', vault: OTHER }, { kind: 'limit' });
    const found = await due.orders(
      [
        { vault: VAULT, nav: 100n },
        { vault: OTHER, nav: 80n },
      ],
      0,
      START,
      10,
    );
    expect(found.map(({ place }) => place.block)).toEqual([1, 2]);
    expect(await due.orders([], 0, START, 10)).toEqual([]);
  });

  it('is what the store reads: no query walks the open orders', async () => {
    const triggered = dueQuery([{ vault: VAULT, nav: 1n }], 0, START, 10).compile(store.db);
    expect(await planOf(triggered)).toEqual([
      expect.stringMatching(/USING INDEX order_index_below \(vault=\? AND <expr>>\?\)/),
      expect.stringMatching(/USING INDEX order_index_above \(vault=\? AND <expr><\?\)/),
    ]);
    const expired = expiredQuery(store.db, 0, 10).compile();
    expect(await planOf(expired)).toEqual([
      expect.stringMatching(/USING INDEX order_index_expiry \(closed_block=\? AND deadline<\?\)/),
    ]);
  });
});
