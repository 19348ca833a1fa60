/** A write whose answer was lost: what stands in the store is found out, and nothing is written over it. */
import type { Address, Hex } from 'viem';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore, type Store } from '../store/store.ts';
import type { Attempt, EntryEvent } from './entry.ts';
import { JournalConflict } from './insert.ts';
import { Journal } from './journal.ts';
import { type SenderTables, senderMigrations } from './tables.ts';

const WALLET: Address = '0x00000000000000000000000000000000000000A1';

let store: Store<SenderTables>;
let journal: Journal;
/** Writes what `journal` was told nothing of. */
let unheard: Journal;

beforeEach(async () => {
  store = await openStore<SenderTables>({ url: 'file::memory:', migrations: senderMigrations });
  journal = new Journal(store.db, () => 1);
  await journal.insert({ key: 'a', kind: 'test', to: WALLET, data: '0x', value: 0n });
  unheard = new Journal(store.db, () => 1);
  await unheard.open();
});
afterEach(() => store.close());

const attemptAt = (nonce: number, hash: Hex): Attempt => {
  const fees = { gas: 21_000n, maxFee: 1n, tip: 0n };
  return { hash, wallet: WALLET, nonce, role: 'execute', raw: '0x01', createdAt: 1, ...fees };
};
const claim = (nonce: number, hash: Hex): EntryEvent => ({
  type: 'claimed',
  wallet: WALLET,
  nonce,
  attempt: attemptAt(nonce, hash),
});
const signedAs = (attempt: Attempt) => ({ attempt, onDoubt: () => undefined });
const intentOf = (key: string) =>
  ({ key, kind: 'test', to: WALLET, data: '0x', value: 0n }) as const;

test.each<[string, Hex, number]>([
  ['the same bytes', '0xaa', 0],
  ['other bytes for the same nonce', '0xab', 0],
  ['bytes for another nonce', '0xac', 1],
])(
  'a claim that stands already is a conflict at once, whether tried again with %s',
  async (_, hash, nonce) => {
    expect(await unheard.apply('a', claim(0, '0xaa'))).toMatchObject({
      phase: 'signed',
      version: 2,
    });
    await expect(journal.apply('a', claim(nonce, hash))).rejects.toThrow(JournalConflict);
    const attempts = await store.db
      .selectFrom('sender_attempt')
      .select(['hash', 'nonce'])
      .execute();
    expect(attempts).toEqual([{ hash: '0xaa', nonce: 0 }]);
  },
);

test('a claim and its bytes are one: where the bytes cannot be written, the nonce stays free', async () => {
  await unheard.insert({ key: 'b', kind: 'test', to: WALLET, data: '0x', value: 0n });
  await unheard.apply('b', claim(0, '0xaa'));
  await expect(journal.apply('a', claim(1, '0xaa'))).rejects.toThrow(/UNIQUE/);
  expect(await unheard.load('a')).toMatchObject({ phase: 'queued', nonce: null, attempts: [] });
  expect(await journal.apply('a', claim(1, '0xad'))).toMatchObject({ phase: 'signed', nonce: 1 });
});

test('an intent that comes with its bytes is one write: where any of it cannot be written, none of it is', async () => {
  const guard = async (): Promise<boolean> => true;
  const first = await journal.insert(intentOf('b'), guard, signedAs(attemptAt(0, '0xaa')));
  expect(first).toMatchObject({ created: true, entry: { phase: 'signed', nonce: 0, version: 2 } });
  expect(await unheard.load('b')).toMatchObject({ phase: 'signed', attempts: [{ hash: '0xaa' }] });
  // Bytes that another intent has.
  await expect(
    journal.insert(intentOf('c'), guard, signedAs(attemptAt(1, '0xaa'))),
  ).rejects.toThrow(/UNIQUE/);
  // A nonce that the store says another one holds.
  const second = unheard.insert(intentOf('d'), guard, signedAs(attemptAt(0, '0xab')));
  await expect(second).rejects.toThrow(JournalConflict);
  expect(
    await unheard.insert(intentOf('e'), async () => false, signedAs(attemptAt(1, '0xac'))),
  ).toBeNull();
  for (const key of ['c', 'd', 'e']) expect(await unheard.load(key)).toBeNull();
  const attempts = await store.db.selectFrom('sender_attempt').select('hash').execute();
  expect(attempts).toEqual([{ hash: '0xaa' }]);
});

test('an intent that comes with its bytes once more is the one that stands', async () => {
  await unheard.insert(intentOf('b'), undefined, signedAs(attemptAt(0, '0xaa')));
  expect(
    await journal.insert(intentOf('b'), undefined, signedAs(attemptAt(1, '0xab'))),
  ).toMatchObject({
    created: false,
    entry: { phase: 'signed', nonce: 0, attempts: [{ hash: '0xaa' }] },
  });
});

test('a fault of the commit leaves in doubt whether the row is there, a fault before it does not', async () => {
  /** Commits, and does not say so. */
  const silent = new Proxy(store.db, {
    get: (db, name) => {
      if (name === 'transaction') {
        return () => ({
          execute: async (work: never) => {
            await db.transaction().execute(work);
            throw new Error('the answer is lost');
          },
        });
      }
      const value: unknown = Reflect.get(db, name);
      return typeof value === 'function' ? value.bind(db) : value;
    },
  });
  const unsure = new Journal(silent, () => 1);
  let doubts = 0;
  const signed = { attempt: attemptAt(0, '0xaa'), onDoubt: () => void (doubts += 1) };
  const vetoing = async (): Promise<boolean> => {
    throw new Error('not now');
  };
  await expect(unsure.insert(intentOf('b'), vetoing, signed)).rejects.toThrow('not now');
  expect(doubts).toBe(0);
  expect(await unheard.load('b')).toBeNull();
  await expect(unsure.insert(intentOf('b'), undefined, signed)).rejects.toThrow('is lost');
  expect(doubts).toBe(1);
  expect(await unsure.take('b')).toMatchObject({ phase: 'signed', nonce: 0 });
});
