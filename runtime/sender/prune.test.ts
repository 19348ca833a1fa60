import type { Address } from 'viem';
import { keccak256, pad, stringToHex } from 'viem/utils';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Overtaken } from '../store/lead.ts';
import { openStore, type Store } from '../store/store.ts';
import type { Attempt } from './entry.ts';
import { Journal } from './journal.ts';
import { pruneSettled } from './prune.ts';
import { type SenderTables, senderMigrations } from './tables.ts';

const WALLET: Address = '0x00000000000000000000000000000000000000A1';
const OTHER: Address = '0x00000000000000000000000000000000000000B2';
const DAY = 86_400_000;

let store: Store<SenderTables>;
let journal: Journal;
let clock = 0;

beforeEach(async () => {
  clock = 1_800_000_000_000;
  store = await openStore<SenderTables>({ url: 'file::memory:', migrations: senderMigrations });
  journal = new Journal(store.db, () => clock);
});
afterEach(() => store.close());

async function insert(key: string): Promise<void> {
  await journal.insert({ key, kind: 'test', to: WALLET, data: '0x', value: 0n });
}

function attempt(key: string, wallet: Address, nonce: number): Attempt {
  const hash = keccak256(stringToHex(`${key}:${nonce}`));
  const fees = { gas: 21_000n, maxFee: 1n, tip: 0n };
  return { hash, wallet, nonce, role: 'execute', raw: '0x01', ...fees, createdAt: clock };
}

/** As far as `until`: broadcast, mined or confirmed. */
async function send(
  key: string,
  nonce: number,
  until: 'broadcast' | 'mined' | 'confirmed' = 'confirmed',
  wallet = WALLET,
): Promise<void> {
  await insert(key);
  await journal.apply(key, { type: 'claimed', wallet, nonce });
  const sent = attempt(key, wallet, nonce);
  await journal.apply(key, { type: 'persisted', attempt: sent });
  await journal.apply(key, { type: 'sent' });
  if (until === 'broadcast') return;
  const receipt = {
    hash: sent.hash,
    success: true,
    blockNumber: 1n,
    blockHash: pad('0x01', { size: 32 }),
    gasUsed: 21_000n,
    effectiveGasPrice: 1n,
  };
  await journal.apply(key, { type: 'receipt', receipt });
  if (until === 'confirmed') await journal.apply(key, { type: 'confirmed' });
}

async function keys(): Promise<string[]> {
  const rows = await store.db.selectFrom('sender_intent').select('key').orderBy('seq').execute();
  return rows.map(({ key }) => key);
}

async function refuse(key: string): Promise<void> {
  await insert(key);
  await journal.apply(key, { type: 'refused', reason: 'expired', message: 'too late' });
}

const prune = (more: Partial<Parameters<typeof pruneSettled>[1]> = {}): Promise<number> =>
  pruneSettled(store.db, { beforeMs: clock - 30 * DAY, ...more });

describe('pruning the journal of the sender', () => {
  it('takes what has been final for long, with its bytes, and leaves what is not settled or is young', async () => {
    await send('old', 0);
    await refuse('refused');
    await insert('queued');
    await send('out', 1, 'broadcast');
    await send('unconfirmed', 2, 'mined');
    clock += 31 * DAY;
    await send('young', 3);
    await refuse('young refused');
    expect(await prune()).toBe(2);
    expect(await keys()).toEqual(['queued', 'out', 'unconfirmed', 'young', 'young refused']);
    const bytes = await store.db.selectFrom('sender_attempt').select('intent_key').execute();
    expect(bytes.map(({ intent_key }) => intent_key).toSorted()).toEqual([
      'out',
      'unconfirmed',
      'young',
    ]);
    expect(await prune()).toBe(0);
  });

  it('leaves the highest confirmed nonce of each wallet: a start knows its chain by it', async () => {
    for (const nonce of [0, 1, 2]) await send(`a${nonce}`, nonce);
    for (const nonce of [0, 1]) await send(`b${nonce}`, nonce, 'confirmed', OTHER);
    clock += 31 * DAY;
    expect(await prune()).toBe(3);
    expect(await keys()).toEqual(['a2', 'b1']);
    expect(await journal.highestConfirmedNonce(WALLET)).toBe(2);
    expect(await journal.highestConfirmedNonce(OTHER)).toBe(1);
  });

  it('leaves what its caller may still ask for, past any number of rows', async () => {
    for (let index = 0; index < 1_100; index += 1) await refuse(`k${index}`);
    clock += 31 * DAY;
    const asked = new Set(['k0', 'k499', 'k500', 'k1099']);
    const stillAsked = async (among: readonly string[]): Promise<ReadonlySet<string>> =>
      new Set(among.filter((key) => asked.has(key)));
    expect(await prune({ stillAsked })).toBe(1_096);
    expect(await keys()).toEqual([...asked]);
  });

  it('tells a key apart for as long as it is kept, and takes it for new after that', async () => {
    await refuse('k');
    const again = async (): Promise<boolean> =>
      (await journal.insert({ key: 'k', kind: 'test', to: WALLET, data: '0x', value: 0n })).created;
    clock += 30 * DAY - 1;
    await prune();
    expect(await again()).toBe(false);
    clock += 2;
    await prune();
    expect(await again()).toBe(true);
  });

  it('is nothing for a process that no longer leads', async () => {
    await refuse('k');
    clock += 31 * DAY;
    const check = async (): Promise<void> => {
      throw new Overtaken();
    };
    await expect(prune({ fence: { holds: () => false, check } })).rejects.toThrow(Overtaken);
    expect(await keys()).toEqual(['k']);
  });
});
