/** A write whose answer was lost: what stands in the store is found out, and nothing is written over it. */
import type { Address, Hex } from 'viem';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore, type Store } from '../store/store.ts';
import type { Attempt, EntryEvent } from './entry.ts';
import { Journal, JournalConflict } from './journal.ts';
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

const claim = (nonce: number, hash: Hex): EntryEvent => {
  const fees = { gas: 21_000n, maxFee: 1n, tip: 0n };
  const attempt: Attempt = {
    hash,
    wallet: WALLET,
    nonce,
    role: 'execute',
    raw: '0x01',
    createdAt: 1,
    ...fees,
  };
  return { type: 'claimed', wallet: WALLET, nonce, attempt };
};

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
