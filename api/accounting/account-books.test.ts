import * as fc from 'fast-check';
import { type Address, getAddress } from 'viem';
import { describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../runtime/store/store.ts';
import {
  type CheckpointTables,
  checkpointMigrations,
  writeCheckpoint,
} from '../indexer/checkpoints.ts';
import { beginEpoch, type EpochTables, epochMigrations } from '../indexer/epoch.ts';
import { insertRows } from '../indexer/insert-rows.ts';
import { AccountBooks, type Books } from './account-books.ts';
import { apply, NOTHING, valueOf } from './cost-basis.ts';
import {
  type AccountingTables,
  accountingMigrations,
  ownerRowMigrations,
  type ShareTransferRow,
} from './tables.ts';

type Tables = AccountingTables & CheckpointTables & EpochTables;

const address = (digit: string): Address => getAddress(`0x${digit.repeat(40)}`);
const OWNER = address('a');
const STRANGER = address('b');
const VAULT = address('1');
const OTHER_VAULT = address('2');
const DEPTH = 50;
const SHARE = 10n ** 18n;
const navAtTime = (time: number): bigint => BigInt(100 + (time % 7)) * SHARE;
const navNow = () => 1_000n * SHARE;
const soon = () => Date.now() + 60_000;

function moved(block: number, index: number, given: Partial<ShareTransferRow> = {}) {
  return {
    block,
    log_index: index,
    time: 1_795_800_000 + block,
    vault: VAULT.toLowerCase(),
    sender: STRANGER.toLowerCase(),
    receiver: OWNER.toLowerCase(),
    shares: '3',
    kind: 'move' as const,
    ...given,
  };
}

/** A book keeper over a store that is read up to `upTo`; `asked` counts the questions to the NAV history. */
async function open(upTo: number, known: (vault: Address) => boolean = () => true) {
  const store: Store<Tables> = await openStore<Tables>({
    url: 'file::memory:',
    migrations: {
      ...checkpointMigrations,
      ...accountingMigrations,
      ...epochMigrations,
      ...ownerRowMigrations,
    },
  });
  const { db } = store;
  await writeCheckpoint(db, { block: upTo, hash: '0x1' });
  await beginEpoch(db);
  const history = { asked: 0 };
  const navAt = async (vault: Address, time: number) => {
    history.asked += 1;
    return await Promise.resolve(known(vault) ? navAtTime(time) : null);
  };
  const books = new AccountBooks(db, navAt, DEPTH);
  const basisAt = async (
    to: number,
    deadline = soon(),
    from: AccountBooks = books,
  ): Promise<Books | null> => {
    const reading = await from.reading();
    if (reading === null) throw new Error('nothing was read');
    return await from.basisAt({ owner: OWNER, reading, to, navNow, deadline });
  };
  return { db, history, books, basisAt, anew: () => new AccountBooks(db, navAt, DEPTH) };
}

/** As cost-basis.ts has it, in one go. */
function inOneGo(rows: readonly ShareTransferRow[]): Books {
  const books = new Map<Address, ReturnType<typeof apply>>();
  const order = rows.toSorted((a, b) => a.block - b.block || a.log_index - b.log_index);
  for (const row of order) {
    const [vault, shares] = [getAddress(row.vault), BigInt(row.shares)];
    const value = valueOf(shares, navAtTime(row.time));
    const entry =
      row.receiver === OWNER.toLowerCase()
        ? ({ tag: 'in', shares, value } as const)
        : ({ tag: 'out', shares } as const);
    books.set(vault, apply(books.get(vault) ?? NOTHING, entry));
  }
  return books;
}

/** Two thousand transfers, forty a block. */
const MANY = Array.from({ length: 2_000 }, (_, index) =>
  moved(100 + Math.floor(index / 40), index % 40),
);

describe('the books of an owner with many rows', () => {
  it('value each row once, however often the owner is asked about', async () => {
    const { db, history, basisAt } = await open(1_000);
    await insertRows(db, 'share_transfer', MANY);
    expect(await basisAt(1_000)).toEqual(inOneGo(MANY));
    const first = history.asked;
    // Each block is one moment; a page may end within one.
    expect(first).toBeLessThanOrEqual(60);
    const later = moved(990, 0, { shares: '7' });
    await insertRows(db, 'share_transfer', [later]);
    expect(await basisAt(1_000)).toEqual(inOneGo([...MANY, later]));
    // What is left of the last page, and the new one: a page holds five hundred rows.
    expect(history.asked - first).toBeLessThanOrEqual(14);
  });

  it('serve others between two pages', async () => {
    const { db, basisAt } = await open(1_000);
    await insertRows(db, 'share_transfer', MANY);
    let turns = 0;
    const another = () => {
      turns += 1;
      next = setImmediate(another);
    };
    let next = setImmediate(another);
    await basisAt(1_000);
    clearImmediate(next);
    expect(turns).toBeGreaterThanOrEqual(4);
  });

  it('get on by a page even where the time is over', async () => {
    const { db, history, basisAt } = await open(1_000);
    await insertRows(db, 'share_transfer', MANY);
    const late = Date.now() - 1;
    expect([await basisAt(1_000, late), await basisAt(1_000, late)]).toEqual([null, null]);
    const before = history.asked;
    expect(await basisAt(1_000)).toEqual(inOneGo(MANY));
    expect(history.asked - before).toBeLessThanOrEqual(30);
  });

  it('are worked out for one question at a time, the next ones find what it kept', async () => {
    const { db, history, basisAt } = await open(1_000);
    await insertRows(db, 'share_transfer', MANY);
    const answers = await Promise.all(Array.from({ length: 5 }, () => basisAt(1_000)));
    for (const answer of answers) expect(answer).toEqual(inOneGo(MANY));
    expect(history.asked).toBeLessThanOrEqual(60 + 4 * 13);
  });

  it('are read anew in another epoch', async () => {
    const { db, books, basisAt } = await open(1_000);
    await insertRows(db, 'share_transfer', MANY);
    const before = await books.reading();
    await basisAt(1_000);
    await db.deleteFrom('share_transfer').where('block', '>', 120).execute();
    await beginEpoch(db);
    expect(await basisAt(1_000)).toEqual(inOneGo(MANY.filter(({ block }) => block <= 120)));
    if (before === null) throw new Error('nothing was read');
    // Whoever read the cursor before that is told to ask again.
    expect(
      await books.basisAt({ owner: OWNER, reading: before, to: 1_000, navNow, deadline: soon() }),
    ).toBeNull();
  });

  it('keep nothing that the history cannot value for ever', async () => {
    let opened = false;
    const { db, basisAt } = await open(1_000, (vault) => opened || vault !== OTHER_VAULT);
    const unpriced = moved(50, 0, { vault: OTHER_VAULT.toLowerCase() });
    await insertRows(db, 'share_transfer', [unpriced, ...MANY]);
    const { cost } = (await basisAt(1_000))?.get(OTHER_VAULT) ?? NOTHING;
    expect(cost).toBe(valueOf(3n, navNow()));
    opened = true;
    expect(await basisAt(1_000)).toEqual(inOneGo([unpriced, ...MANY]));
  });

  it('keep nothing within the depth, where rows may still come', async () => {
    const { db, basisAt } = await open(149);
    await insertRows(db, 'share_transfer', MANY);
    await basisAt(149);
    const late = moved(100, 1_000, { shares: '9' });
    await insertRows(db, 'share_transfer', [late]);
    expect(await basisAt(149)).toEqual(inOneGo([...MANY, late]));
  });

  it('say the same at every block and in every order of asking as all rows in one go', async () => {
    const row = fc.record({
      block: fc.integer({ min: 1, max: 300 }),
      into: fc.boolean(),
      vault: fc.constantFrom(VAULT, OTHER_VAULT),
      shares: fc.integer({ min: 1, max: 50 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 100, maxLength: 1_500 }),
        fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 6 }),
        async (drawn, questions) => {
          const rows = drawn.map(({ block, into, vault, shares }, index) =>
            moved(block, index, {
              vault: vault.toLowerCase(),
              shares: String(shares),
              ...(into ? {} : { sender: OWNER.toLowerCase(), receiver: STRANGER.toLowerCase() }),
            }),
          );
          const { db, basisAt } = await open(300);
          await insertRows(db, 'share_transfer', rows);
          for (const to of questions) {
            expect(await basisAt(to)).toEqual(inOneGo(rows.filter(({ block }) => block <= to)));
          }
          await db.destroy();
        },
      ),
      { numRuns: 15 },
    );
  });
});
