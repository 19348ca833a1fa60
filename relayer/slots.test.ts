import * as fc from 'fast-check';
import type { Hex } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Action } from '../contracts-abi/typed-data.ts';
import { type SenderTables, senderMigrations } from '../runtime/sender/tables.ts';
import type { IntentState } from '../runtime/sender/types.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { createLedger } from './ledger.ts';
import { type RelayTables, relayMigrations } from './migrations.ts';
import { createSlotStore, type SlotStore } from './slot-store.ts';
import {
  admit,
  intentKey,
  MAX_ATTEMPTS,
  moveOf,
  nonceWord,
  released,
  retried,
  type Slot,
  type Version,
} from './slots.ts';

const module = '0x5FC8d32690cc91D4c39d9d3abcBD16989F875707';
const account = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const digestOf = (name: number): Hex => `0x${name.toString(16).padStart(64, '0')}`;

function version(name: number, fee = 0n, nonce = 7n): Version {
  const action: Action = {
    account,
    key: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
    kind: 0,
    vault: account,
    amount: 2n ** 256n - 1n,
    limit: 1n,
    slippageBps: 50,
    data: '0x',
    nonce,
    deadline: 1_800_000_000,
    fee,
  };
  return {
    id: { module, account, nonce },
    digest: digestOf(name),
    action,
    signature: `0x${'11'.repeat(65)}`,
  };
}

const mined: IntentState = {
  tag: 'mined',
  wallet: account,
  nonce: 1,
  hash: digestOf(9),
  blockNumber: 1n,
  blockHash: digestOf(9),
  gasUsed: 1n,
  effectiveGasPrice: 1n,
  confirmed: false,
};

describe('slot rows', () => {
  let store: Store<RelayTables & SenderTables>;
  let slots: SlotStore;
  let clock = 1_000_000;

  beforeEach(async () => {
    clock = 1_000_000;
    store = await openStore<RelayTables & SenderTables>({
      url: 'file::memory:',
      migrations: { ...senderMigrations, ...relayMigrations },
    });
    slots = createSlotStore(store.db, () => clock);
  });
  afterEach(async () => {
    await store.close();
  });

  async function claimed(of: Version, after = 0): Promise<Slot> {
    const claim = await slots.claim(of, 10n, after);
    if (claim.tag !== 'claimed') throw new Error(claim.tag);
    return claim.slot;
  }

  it('are written open, with the latest version, until one is claimed', async () => {
    await slots.open(version(1));
    const second = await slots.open(version(2, 5n));
    expect(second).toMatchObject({ state: 'open', digest: digestOf(2), attempt: 0 });
    expect(second.action).toEqual(version(2, 5n).action);

    expect(await slots.claim(version(1), 10n, 0)).toMatchObject({
      tag: 'claimed',
      slot: {
        state: 'claimed',
        digest: digestOf(1),
        nextFee: 10n,
        claimSeq: 1,
        claimedAt: clock,
      },
    });
    expect(await slots.open(version(3))).toMatchObject({ state: 'claimed', digest: digestOf(1) });
    expect(await slots.findByDigest(digestOf(1))).toMatchObject({ id: { nonce: 7n } });
    expect(await slots.findByDigest(digestOf(3))).toBeNull();
  });

  it('are claimed once, whoever comes at the same time', async () => {
    await slots.open(version(1));
    const claims = await Promise.all(
      [1, 2, 3, 4, 5].map((name) => slots.claim(version(name), 10n, 0)),
    );
    const won = claims.filter((claim) => claim.tag === 'claimed');
    expect(won.map(({ slot }) => slot)).toEqual([await slots.find(version(1).id)]);
  });

  it('keep their quote until it ends, and change it before only for a cheaper one', async () => {
    const { id } = version(1);
    const terms = digestOf(1);
    await slots.open(version(1));
    const first = { fee: 300n, expiresAt: 100, terms };
    expect(await slots.quote(id, first, 50)).toEqual(first);
    expect(await slots.quote(id, { ...first, fee: 400n, expiresAt: 200 }, 100)).toEqual(first);
    expect(await slots.quote(id, { ...first, fee: 200n }, 100)).toMatchObject({ fee: 200n });
    const later = { fee: 900n, expiresAt: 300, terms };
    expect(await slots.quote(id, later, 101)).toEqual(later);
    await slots.open(version(2));
    expect((await slots.find(id))?.quote).toEqual(later);
    // Other terms have a price of their own.
    const other = { fee: 1_000n, expiresAt: 400, terms: digestOf(2) };
    expect(await slots.quote(id, other, 102)).toEqual(other);
    await claimed(version(2));
    expect(await slots.quote(id, { ...other, fee: 1n, expiresAt: 900 }, 800)).toBeNull();
  });

  it('open again after a refusal, with a new attempt, and only from the attempt that was refused', async () => {
    await slots.open(version(1));
    const first = await claimed(version(1));
    expect(await slots.release(first)).toBe(true);
    expect(await slots.release(first)).toBe(false);
    expect(await slots.find(first.id)).toMatchObject({ state: 'open', attempt: 1 });
    const again = await claimed(version(2), 1);
    expect(await slots.release(first)).toBe(false);
    expect(await slots.retry(again)).toBe(true);
    const retry = (await slots.find(first.id)) as Slot;
    expect(retry).toMatchObject({ state: 'claimed', attempt: 2, wasBroadcast: true });
    expect(await slots.release(retry)).toBe(true);
    expect(await slots.find(first.id)).toMatchObject({ state: 'claimed', attempt: 3 });
  });

  it('are claimed in one order per account, by who knows all claims before', async () => {
    for (const nonce of [1n, 2n, 3n]) await slots.open(version(Number(nonce), 0n, nonce));
    expect(await slots.pendingOf(account, 0)).toEqual({ slots: [], head: 0 });
    await claimed(version(1, 0n, 1n));
    expect(await slots.claim(version(2, 0n, 2n), 10n, 0)).toEqual({ tag: 'overtaken' });
    expect(await slots.find(version(2, 0n, 2n).id)).toMatchObject({ state: 'open' });
    const { head } = await slots.pendingOf(account, 0);
    await claimed(version(2, 0n, 2n), head);
    expect(await slots.pendingOf(account, 1_800_000_000)).toMatchObject({
      slots: [{ digest: digestOf(1) }, { digest: digestOf(2) }],
      head: 2,
    });
    expect((await slots.pendingOf(account, 1_800_000_001)).slots).toEqual([]);
    expect((await slots.pendingOf(module, 0)).head).toBe(0);
  });

  it('are pending until the books say what became of them', async () => {
    await slots.open(version(1));
    const slot = await claimed(version(1));
    const ledger = createLedger(store.db, { limit: 1n, windowMs: 1, firstMs: 1 }, () => clock);
    await ledger.record(slot, mined, 1n);
    expect(await slots.pendingOf(account, 0)).toEqual({ slots: [], head: 1 });
    await ledger.record(slot, { tag: 'queued' }, 1n);
    expect((await slots.pendingOf(account, 0)).slots).toEqual([slot]);
  });

  it('are unsettled until then, those that end first before the others', async () => {
    const [late, early] = [version(1, 0n, 1n), version(2, 0n, 2n)];
    const at = (one: Version, deadline: number): Version => ({
      ...one,
      action: { ...one.action, deadline },
    });
    await claimed(at(late, 1_800_000_200));
    const first = await claimed(at(early, 1_800_000_100), 1);
    const digests = async (limit = 10) =>
      (await slots.unsettledSince(0, limit)).map(({ digest }) => digest);
    expect(await digests()).toEqual([digestOf(2), digestOf(1)]);
    expect(await digests(1)).toEqual([digestOf(2)]);
    const ledger = createLedger(store.db, { limit: 1n, windowMs: 1, firstMs: 1 }, () => clock);
    await ledger.record(first, mined, 1n);
    expect(await digests()).toEqual([digestOf(1)]);
    await ledger.record(first, { tag: 'queued' }, 1n);
    expect(await digests()).toEqual([digestOf(2), digestOf(1)]);
  });

  it('list what a restart may have interrupted, and forget what never was sent', async () => {
    await slots.open(version(1, 0n, 1n));
    await slots.open(version(2, 0n, 2n));
    await claimed(version(2, 0n, 2n));
    await slots.open(version(3, 0n, 3n));
    await slots.quote(
      version(3, 0n, 3n).id,
      { fee: 1n, expiresAt: 1_800_000_500, terms: digestOf(3) },
      0,
    );
    expect(await slots.unsettledSince(1_800_000_000, 10)).toMatchObject([{ digest: digestOf(2) }]);
    expect(await slots.unsettledSince(1_800_000_001, 10)).toEqual([]);
    expect(await slots.purge(1_800_000_000)).toBe(0);
    expect(await slots.purge(1_800_000_100)).toBe(1);
    expect(await slots.find(version(3, 0n, 3n).id)).not.toBeNull();
    expect(await slots.purge(1_800_000_501)).toBe(1);
    expect(await slots.find(version(2, 0n, 2n).id)).not.toBeNull();
  });
});

describe('admit and moveOf', () => {
  const base: Slot = {
    ...version(1),
    state: 'open',
    attempt: 0,
    wasBroadcast: false,
    quote: null,
    nextFee: null,
    claimSeq: null,
    claimedAt: null,
    updatedAt: 0,
  };
  const wallet = account;
  const hash = digestOf(9);
  const receipt = {
    wallet,
    nonce: 1,
    hash,
    blockNumber: 1n,
    blockHash: hash,
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    confirmed: false,
  } as const;
  const states: fc.Arbitrary<IntentState> = fc.constantFrom<IntentState>(
    { tag: 'queued' },
    { tag: 'broadcast', wallet, nonce: 1, hash, hashes: [hash] },
    { tag: 'mined', ...receipt },
    { tag: 'reverted', ...receipt },
    { tag: 'refused', reason: 'fee_cap', message: '', revertData: null },
    { tag: 'refused', reason: 'stopping', message: '', revertData: null },
    { tag: 'cancelled', wallet, nonce: 1, hash },
    { tag: 'superseded', wallet, nonce: 1 },
  );

  it('never open a slot again, nor pass it to another digest, once anything was broadcast', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(states, fc.integer({ min: 1, max: 3 })), { maxLength: 30 }),
        (steps) => {
          let slot: Slot = base;
          let out = false;
          const openedAfterBroadcast: string[] = [];
          const claimedKeys: string[] = [];
          for (const [state, name] of steps) {
            if (slot.state === 'open') {
              if (out) openedAfterBroadcast.push(slot.digest);
              slot = { ...slot, ...version(name), state: 'claimed' };
              claimedKeys.push(intentKey(slot.digest, slot.attempt));
            }
            for (const other of [1, 2, 3]) {
              const expected = slot.digest === digestOf(other) ? 'same' : 'taken';
              expect(admit(slot, digestOf(other)).tag).toBe(expected);
            }
            if (state.tag !== 'refused' && state.tag !== 'queued') out = true;
            const move = moveOf(slot, state);
            if (move.tag === 'release') {
              if (out && !slot.wasBroadcast) break; // refused after broadcast: no sender does that
              slot = released(slot);
            }
            if (move.tag === 'retry') slot = retried(slot);
          }
          expect(openedAfterBroadcast).toEqual([]);
          expect(new Set(claimedKeys).size).toBe(claimedKeys.length);
        },
      ),
    );
  });

  it('tell of a nonce only what is sure', () => {
    const { deadline } = base.action;
    const claimed = { ...base, state: 'claimed' } as const;
    const at = (blockTime: number, used = false) => ({ blockTime, used });
    expect(nonceWord(null, at(0))).toBe('free');
    expect(nonceWord(base, at(deadline))).toBe('free');
    expect(nonceWord(claimed, at(deadline))).toBe('pending');
    // Good up to and with its deadline (SignedActions.sol).
    expect(nonceWord(claimed, at(deadline + 1))).toBe('expired');
    expect(nonceWord(claimed, at(deadline + 1, true))).toBe('used');
    expect(nonceWord(null, at(0, true))).toBe('used');
  });

  it('begins at most a few attempts by itself', () => {
    let slot: Slot = { ...base, state: 'claimed' };
    let count = 0;
    while (moveOf(slot, { tag: 'superseded', wallet, nonce: 1 }).tag === 'retry') {
      slot = retried(slot);
      count += 1;
    }
    expect(count).toBe(MAX_ATTEMPTS - 1);
  });
});
