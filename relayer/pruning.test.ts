import type { Address, Hex } from 'viem';
import { keccak256, stringToHex } from 'viem/utils';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Action } from '../contracts-abi/typed-data.ts';
import { Journal } from '../runtime/sender/journal.ts';
import { Overtaken, unfenced } from '../runtime/store/lead.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { createGasBudget } from './gas-budget.ts';
import { createLedger } from './ledger.ts';
import { KEEP_MS, pruneRelay } from './pruning.ts';
import { createSlotStore, type SlotStore } from './slot-store.ts';
import { intentKey, type Version } from './slots.ts';
import { type StoreTables, storeMigrations } from './store.ts';

const module = '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707';
const account = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const key = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65';
const WALLET: Address = '0x00000000000000000000000000000000000000A1';
const PRICE = 2_000n * 10n ** 18n;
const DAY = 86_400_000;
const digestOf = (name: number): Hex => keccak256(stringToHex(String(name)));

describe('pruning the relayer', () => {
  let store: Store<StoreTables>;
  let slots: SlotStore;
  let journal: Journal;
  let clock = 0;

  beforeEach(async () => {
    clock = DAY * 20_000;
    store = await openStore<StoreTables>({ url: 'file::memory:', migrations: storeMigrations });
    slots = createSlotStore(store.db, () => clock);
    journal = new Journal(store.db, () => clock);
  });
  afterEach(() => store.close());

  function version(name: number): Version {
    const nonce = BigInt(name);
    const deadline = Math.floor(clock / 1_000) + 600;
    const action: Action = {
      account,
      key,
      kind: 0,
      vault: account,
      amount: 1n,
      limit: 1n,
      slippageBps: 50,
      data: '0x',
      nonce,
      deadline,
      fee: 250_000n,
    };
    const id = { module, account, nonce } as const;
    return { id, digest: digestOf(name), action, signature: `0x${'11'.repeat(65)}` };
  }

  const claim = async (name: number) => {
    const it = version(name);
    await slots.open(it);
    const { head } = await slots.pendingOf(account, 0);
    const claimed = await slots.claim(it, null, head);
    if (claimed.tag !== 'claimed') throw new Error(claimed.tag);
    return claimed.slot;
  };

  /** Accepted, sent, mined and booked. */
  const run = async (name: number, until: 'broadcast' | 'confirmed' = 'confirmed') => {
    const slot = await claim(name);
    const intent = intentKey(slot.digest, 0);
    await journal.insert({ key: intent, kind: 'relay', to: module, data: '0x', value: 0n });
    await journal.apply(intent, { type: 'claimed', wallet: WALLET, nonce: name });
    const hash = digestOf(1_000 + name);
    const attempt = { hash, wallet: WALLET, nonce: name, role: 'execute', raw: '0x01' } as const;
    const sent = { ...attempt, gas: 21_000n, maxFee: 1n, tip: 0n, createdAt: clock };
    await journal.apply(intent, { type: 'persisted', attempt: sent });
    await journal.apply(intent, { type: 'sent' });
    if (until === 'broadcast') return;
    const mined = { hash, blockNumber: 1n, blockHash: hash, gasUsed: 9n, effectiveGasPrice: 1n };
    await journal.apply(intent, { type: 'receipt', receipt: { ...mined, success: true } });
    await journal.apply(intent, { type: 'confirmed' });
    const state = { tag: 'mined', wallet: WALLET, nonce: name, confirmed: true, ...mined } as const;
    const policy = { limit: 1n, windowMs: 1, firstMs: 1 };
    await createLedger(store.db, policy, () => clock).record(slot, state, PRICE);
    await createGasBudget(store.db, 1n, () => clock).record(intent, state);
  };

  const left = async () => {
    const nonces = await store.db.selectFrom('relay_slots').select('nonce').execute();
    const count = async (table: 'relay_ledger' | 'relay_gas' | 'sender_intent') =>
      (await store.db.selectFrom(table).selectAll().execute()).length;
    return {
      slots: nonces.map(({ nonce }) => Number(nonce)).toSorted((a, b) => a - b),
      books: await count('relay_ledger'),
      gas: await count('relay_gas'),
      intents: await count('sender_intent'),
    };
  };
  const prune = (fence = unfenced) => pruneRelay(store.db, { now: clock, fence });

  it('forgets an action of more than a year ago in every table at once, and nothing younger', async () => {
    for (const name of [1, 2, 3]) await run(name);
    clock += KEEP_MS + DAY;
    await run(4);
    expect(await prune()).toEqual({ intents: 3, books: 3, slots: 3 });
    expect(await left()).toEqual({ slots: [4], books: 1, gas: 1, intents: 1 });
    expect(await prune()).toEqual({ intents: 0, books: 0, slots: 0 });
  });

  it('leaves all of what the journal keeps, so that it is not booked a second time', async () => {
    // The newest of a wallet stays as what tells its chain; the one under way is not settled.
    await run(1);
    await run(2);
    await run(3, 'broadcast');
    clock += KEEP_MS + DAY;
    expect(await prune()).toEqual({ intents: 1, books: 1, slots: 1 });
    expect(await left()).toEqual({ slots: [2, 3], books: 1, gas: 1, intents: 2 });
  });

  it('takes slots that never left, over any number of them', async () => {
    for (let name = 0; name < 450; name += 1) await slots.open(version(name));
    await claim(1_000);
    clock += KEEP_MS + DAY;
    await slots.open(version(2_000));
    expect((await prune()).slots).toBe(451);
    expect((await left()).slots).toEqual([2_000]);
  });

  it('goes on counting the claims of an account', async () => {
    await run(1);
    await run(2);
    clock += KEEP_MS + DAY;
    await prune();
    expect((await claim(3)).claimSeq).toBe(3);
  });

  it('is nothing for a process that no longer leads', async () => {
    await run(1);
    await run(2);
    clock += KEEP_MS + DAY;
    const check = async (): Promise<void> => {
      throw new Overtaken();
    };
    await expect(prune({ holds: () => false, check })).rejects.toThrow(Overtaken);
    expect((await left()).intents).toBe(2);
  });
});
