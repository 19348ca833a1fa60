import { pad } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { IntentState, StoredIntent } from '../../runtime/sender/types.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { keeperMigrations, type KeeperTables } from '../journal/migrations.ts';
import { createMoves, type Moves } from '../../runtime/money/moves.ts';
import { moveKeyOf, nextNumber } from '../../runtime/money/move.ts';

const WALLET = pad('0xAB', { size: 20 });
const COLD = pad('0xC0', { size: 20 });
const HASH = pad('0xCD', { size: 32 });

let store: Store<KeeperTables>;
let moves: Moves;
let clock = 1_800_000_000_000;

beforeEach(async () => {
  clock = 1_800_000_000_000;
  store = await openStore<KeeperTables>({ url: 'file::memory:', migrations: keeperMigrations });
  moves = createMoves(store.db, { table: 'keeper_moves', now: () => clock });
});
afterEach(() => store.close());

const swept = (number: number, amountUsdg = 5_000_000n) => ({
  intentKey: moveKeyOf('sweep', WALLET, number),
  kind: 'sweep' as const,
  wallet: WALLET,
  number,
  counterparty: COLD,
  amountUsdg,
  amountWei: 0n,
});

const receipt = {
  wallet: WALLET,
  nonce: 1,
  hash: HASH,
  blockNumber: 1n,
  blockHash: HASH,
  gasUsed: 1n,
  effectiveGasPrice: 1n,
  confirmed: false,
};

function next(state: IntentState | null): Promise<number | null> {
  const get = async (key: string): Promise<StoredIntent | null> =>
    state === null || key !== moveKeyOf('sweep', WALLET, 7)
      ? null
      : {
          intent: { key, kind: 'sweep', to: COLD, data: '0x', value: 0n },
          state,
          createdAt: 0,
          updatedAt: 0,
        };
  return nextNumber({ moves, sender: { get } }, 'sweep', WALLET);
}

describe('the number of the next sweep', () => {
  test('is 1 for a wallet without any', async () => {
    expect(await next(null)).toBe(1);
  });

  test.each<[string, IntentState | null, number | null]>([
    ['stays when the sender never had the last', null, 7],
    ['does not exist while it is queued', { tag: 'queued' }, null],
    [
      'does not exist while it is out',
      { tag: 'broadcast', wallet: WALLET, nonce: 1, hash: HASH, hashes: [HASH] },
      null,
    ],
    ['follows one that was mined', { tag: 'mined', ...receipt }, 8],
    ['follows one that reverted', { tag: 'reverted', ...receipt }, 8],
    [
      'follows a refusal',
      { tag: 'refused', reason: 'insufficient_eth', message: '', revertData: null },
      8,
    ],
    ['follows a cancel', { tag: 'cancelled', wallet: WALLET, nonce: 1, hash: HASH }, 8],
  ])('%s', async (_, state, number) => {
    await moves.open(swept(7));
    expect(await next(state)).toBe(number);
  });

  test('follows one that the sender has forgotten since', async () => {
    await moves.open(swept(7));
    await moves.change(swept(7).intentKey, { outcome: 'mined', settled: true });
    expect(await next(null)).toBe(8);
  });
});

describe('moves in the journal', () => {
  test('a number left by a submit that never was starts anew, with the new amount', async () => {
    await moves.open(swept(1));
    await moves.open(swept(1, 9_000_000n));
    expect(await moves.last(WALLET, 'sweep')).toMatchObject({ number: 1, amountUsdg: 9_000_000n });
    expect(await moves.unsettled()).toHaveLength(1);
  });

  test('what a day has swapped counts what may still be swapped and not what never was', async () => {
    const topup = (number: number) => ({
      ...swept(number),
      kind: 'topup' as const,
      intentKey: moveKeyOf('topup', WALLET, number),
    });
    for (const [number, outcome] of [
      [1, 'mined'],
      [2, 'broadcast'],
      [3, 'refused'],
      [4, 'reverted'],
      [5, 'submitting'],
    ] as const) {
      await moves.open(topup(number));
      await moves.change(topup(number).intentKey, { outcome });
    }
    await moves.open(swept(1));
    expect(await moves.toppedUpSince(clock)).toBe(15_000_000n);
    expect(await moves.toppedUpSince(clock + 1)).toBe(0n);
  });

  test('the last sweep that was executed is what a period counts from', async () => {
    await moves.open(swept(1));
    await moves.change(swept(1).intentKey, { outcome: 'mined', settled: true });
    clock += 1_000;
    await moves.open(swept(2));
    await moves.change(swept(2).intentKey, { outcome: 'refused', settled: true });
    expect(await moves.lastMinedMs(WALLET, 'sweep')).toBe(clock - 1_000);
    expect(await moves.lastMinedMs(COLD, 'sweep')).toBeNull();
  });
});
