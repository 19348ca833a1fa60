import type { Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { IntentState } from '../runtime/sender/types.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { type RelayTables, relayMigrations } from './migrations.ts';

const module = '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707';
const account = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const key = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65';
const other = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
/** 2,000 dollars per ETH. */
const PRICE = 2_000n * 10n ** 18n;
const hashOf = (name: number): Hex => `0x${name.toString(16).padStart(64, '0')}`;

const attempt = (name: number, from: typeof key | typeof other = key, fee = 250_000n) => ({
  id: { module, account, nonce: BigInt(name) } as const,
  digest: hashOf(name),
  attempt: 0,
  action: { key: from, fee } as const,
});

const settled = (tag: 'mined' | 'reverted', gasUsed: bigint, hash = 1): IntentState => ({
  tag,
  wallet: account,
  nonce: 0,
  hash: hashOf(hash),
  blockNumber: 1n,
  blockHash: hashOf(9),
  gasUsed,
  effectiveGasPrice: 10n ** 9n,
  confirmed: false,
});

describe('the books', () => {
  let store: Store<RelayTables>;
  let ledger: Ledger;
  let now = 0;

  beforeEach(async () => {
    now = 86_400_000 * 20_000 + 5_000;
    store = await openStore<RelayTables>({ url: 'file::memory:', migrations: relayMigrations });
    const policy = { limit: 1_000_000n, windowMs: 3_600_000, firstMs: 600_000 };
    ledger = createLedger(store.db, policy, () => now);
  });
  afterEach(async () => {
    await store.close();
  });
  const rows = () => store.db.selectFrom('relay_ledger').selectAll().execute();

  it('hold what a mined action cost at the ETH price of then, and its fee', async () => {
    await ledger.record(attempt(1), settled('mined', 100_000n), PRICE);
    // Reported again at another price: the same booking.
    await ledger.record(attempt(1), settled('mined', 100_000n), PRICE * 2n);
    expect(await rows()).toEqual([
      expect.objectContaining({
        account,
        key,
        day: 20_000,
        outcome: 'mined',
        gas_wei: '100000000000000',
        gas_usdg: 200_000,
        fee_usdg: 250_000,
      }),
    ]);
  });

  it('follow a reorg: out of the books with the receipt, and back with what the new one says', async () => {
    await ledger.record(attempt(1), settled('mined', 100_000n), PRICE);
    const out = {
      tag: 'broadcast',
      wallet: account,
      nonce: 0,
      hash: hashOf(1),
      hashes: [],
    } as const;
    await ledger.record(attempt(1), out, PRICE);
    expect(await rows()).toEqual([]);
    await ledger.record(attempt(1), settled('reverted', 50_000n), PRICE);
    expect(await rows()).toEqual([
      expect.objectContaining({ outcome: 'reverted', gas_usdg: 100_000, fee_usdg: 0 }),
    ]);
  });

  it('keep a key out that lost too much, for a while, and no other', async () => {
    expect(await ledger.record(attempt(1), settled('reverted', 400_000n), PRICE)).toBeNull();
    expect(await ledger.quarantineOf(key)).toBeNull();
    const begun = await ledger.record(attempt(2), settled('reverted', 200_000n), PRICE);
    expect(begun).toMatchObject({ strikes: 1, lost: 1_200_000n, until: now + 600_000 });
    await ledger.record(attempt(3, other), settled('reverted', 400_000n), PRICE);
    expect(await ledger.quarantineOf(key)).toEqual(begun);
    expect(await ledger.quarantineOf(other)).toBeNull();

    now += 600_000;
    expect(await ledger.quarantineOf(key)).toBeNull();
    // What it answered for already does not count again; the next time lasts longer.
    expect(await ledger.record(attempt(4), settled('reverted', 400_000n), PRICE)).toBeNull();
    expect(await ledger.record(attempt(5), settled('reverted', 200_000n), PRICE)).toMatchObject({
      strikes: 2,
      until: now + 1_200_000,
    });
  });
});
