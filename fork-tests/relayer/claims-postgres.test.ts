/** Claims of one account by two relayers on one PostgreSQL: in one order, each by who knew all before; and the books. */
import type { Hex } from 'viem';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodeCoverData } from '../../contracts-abi/cover-data.ts';
import { createLedger } from '../../relayer/ledger.ts';
import { createSlotStore } from '../../relayer/slot-store.ts';
import type { Version } from '../../relayer/slots.ts';
import { type StoreTables, storeMigrations } from '../../relayer/store.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { usePostgres } from '../harness/postgres.ts';

const postgres = usePostgres();
const module = '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707';
const account = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const key = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65';
const DEADLINE = 1_800_000_000;
const digestOf = (name: number): Hex => `0x${name.toString(16).padStart(64, '0')}`;

/** A cancel of a cover request: it carries no fee. */
const version = (name: number): Version => ({
  id: { module, account, nonce: BigInt(name) },
  digest: digestOf(name),
  action: {
    account,
    key,
    kind: 4,
    data: encodeCoverData({ tag: 'cancel', listingId: BigInt(name) }),
    nonce: BigInt(name),
    deadline: DEADLINE,
    fee: 0n,
  },
  signature: `0x${'11'.repeat(65)}`,
});

let stores: Store<StoreTables>[] = [];
let count = 0;

beforeEach(async () => {
  count += 1;
  const url = await postgres.database(`claims_${count}`);
  stores = [];
  for (let replica = 0; replica < 2; replica += 1) {
    stores.push(await openStore<StoreTables>({ url, migrations: storeMigrations }));
  }
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
});

it('of ten at once by two processes each has a place of its own, and who was overtaken is told', async () => {
  const replicas = stores.map(({ db }) => createSlotStore(db));
  const names = Array.from({ length: 10 }, (_, index) => index + 1);
  for (const name of names) await replicas[0]?.open(version(name));
  let overtaken = 0;
  await Promise.all(
    names.map(async (name) => {
      const slots = replicas[name % 2];
      for (;;) {
        const head = (await slots?.pendingOf(account, 0))?.head ?? 0;
        const claim = await slots?.claim(version(name), null, head);
        if (claim?.tag === 'claimed') return;
        if (claim?.tag !== 'overtaken') throw new Error(claim?.tag);
        overtaken += 1;
      }
    }),
  );
  expect(overtaken).toBeGreaterThan(0);
  const pending = await replicas[1]?.pendingOf(account, DEADLINE);
  expect(pending?.head).toBe(10);
  expect(pending?.slots.map(({ claimSeq }) => claimSeq)).toEqual(names);
  expect(pending?.slots.every(({ nextFee }) => nextFee === null)).toBe(true);
  expect(await replicas[1]?.freeSince(account, 0)).toBe(10);
  expect(await replicas[1]?.freeSince(account, Date.now() + 60_000)).toBe(0);
});

it('is settled for both once one has booked it, and a quarantine holds for both', async () => {
  const [here, there] = stores.map(({ db }) => ({
    slots: createSlotStore(db),
    ledger: createLedger(db, { limit: 0n, windowMs: 3_600_000, firstMs: 600_000 }),
  }));
  await here?.slots.open(version(1));
  const claim = await here?.slots.claim(version(1), null, 0);
  if (claim?.tag !== 'claimed') throw new Error(claim?.tag);
  expect((await there?.slots.pendingOf(account, 0))?.slots).toEqual([claim.slot]);
  await here?.ledger.record(
    claim.slot,
    {
      tag: 'reverted',
      wallet: account,
      nonce: 1,
      hash: digestOf(9),
      blockNumber: 1n,
      blockHash: digestOf(9),
      gasUsed: 100_000n,
      effectiveGasPrice: 10n ** 9n,
      confirmed: false,
    },
    2_000n * 10n ** 18n,
  );
  expect((await there?.slots.pendingOf(account, 0))?.slots).toEqual([]);
  expect(await there?.ledger.quarantineOf(key)).toMatchObject({ strikes: 1, lost: 200_000n });
});
