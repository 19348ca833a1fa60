import type { Hex } from 'viem';
import { beforeEach, expect, it } from 'vitest';
import { createLogger } from '../runtime/logger.ts';
import type { IntentState } from '../runtime/sender/types.ts';
import { createSettlement, type Settlement } from './settlement.ts';
import { intentKey, type Slot } from './slots.ts';

const WALLET = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const DIGEST: Hex = `0x${'0d'.repeat(32)}`;
const KEY = intentKey(DIGEST, 0);

const minedAs = (hash: Hex, gasUsed = 100_000n, confirmed = false): IntentState => ({
  tag: 'mined',
  wallet: WALLET,
  nonce: 0,
  hash,
  blockNumber: 1n,
  blockHash: '0x09',
  gasUsed,
  effectiveGasPrice: 10n ** 9n,
  confirmed,
});
const out: IntentState = {
  tag: 'broadcast',
  wallet: WALLET,
  nonce: 0,
  hash: '0x0a',
  hashes: ['0x0a'],
};

let state: { fails: number; now: IntentState; books: string[] };
let settlement: Settlement;

beforeEach(() => {
  state = { fails: 0, now: out, books: [] };
  settlement = createSettlement({
    sender: {
      recent: async () => [{ intent: { key: KEY }, state: state.now }],
    } as unknown as Parameters<typeof createSettlement>[0]['sender'],
    slots: { findByDigest: async () => ({ digest: DIGEST, attempt: 0 }) as Slot },
    ledger: {
      record: async (_, booked) => {
        if (state.fails > 0) {
          state.fails -= 1;
          throw new Error('disk full');
        }
        state.books.push(booked.tag === 'mined' ? `${booked.hash}:${booked.gasUsed}` : booked.tag);
        return null;
      },
    },
    budget: { record: async () => undefined },
    ethPrice: async () => 1n,
    onQuarantine: () => undefined,
    logger: createLogger('relayer', 'fatal'),
  });
});

it('is written once however often the same receipt is told, and anew when it says otherwise', async () => {
  await settlement.settle(KEY, out);
  await settlement.settle(KEY, minedAs('0x0a'));
  await settlement.settle(KEY, minedAs('0x0a', 100_000n, true));
  await settlement.settle(KEY, minedAs('0x0a', 100_001n));
  await settlement.settle(KEY, minedAs('0x0b', 100_001n));
  expect(state.books).toEqual(['0x0a:100000', '0x0a:100001', '0x0b:100001']);
});

it('follows a reorg, however fast its changes come one after another', async () => {
  const changes = [minedAs('0x0a'), out, minedAs('0x0a'), out];
  await Promise.all(changes.map((change) => settlement.settle(KEY, change)));
  expect(state.books).toEqual(['0x0a:100000', 'broadcast', '0x0a:100000', 'broadcast']);
});

it('is written again when another process may have led meanwhile', async () => {
  state.now = minedAs('0x0a');
  await settlement.settle(KEY, state.now);
  settlement.owe();
  await settlement.settle(KEY, state.now);
  await settlement.catchUp();
  await settlement.catchUp();
  expect(state.books).toEqual(['0x0a:100000', '0x0a:100000', '0x0a:100000']);
});

it('is owed where it could not be written', async () => {
  await settlement.catchUp();
  state.fails = 1;
  state.now = minedAs('0x0a');
  await expect(settlement.settle(KEY, state.now)).rejects.toThrow('disk full');
  await settlement.catchUp();
  expect(state.books).toEqual(['broadcast', '0x0a:100000']);
});
