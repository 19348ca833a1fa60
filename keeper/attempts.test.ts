import { pad } from 'viem';
import { describe, expect, test } from 'vitest';
import type { IntentState } from '../runtime/sender/types.ts';
import { ECHO_MS, intentKeyOf, nextAfterMined, parseIntentKey, standingAfter } from './attempts.ts';
import { workKeyOf } from './work.ts';

const ADDRESS = pad('0xAB', { size: 20 });
const HASH = pad('0xCD', { size: 32 });
const last = { attempt: 3, updatedMs: 7 };
const wallet = { wallet: ADDRESS, nonce: 1 };
const receipt = {
  hash: HASH,
  blockNumber: 1n,
  blockHash: HASH,
  gasUsed: 1n,
  effectiveGasPrice: 1n,
  confirmed: false,
};

describe('the next attempt of an order', () => {
  test.each<[string, IntentState | null, object]>([
    ['takes the same number when the sender never had the last', null, { tag: 'free', attempt: 3 }],
    ['waits for one that is queued', { tag: 'queued' }, { tag: 'in_flight' }],
    [
      'waits for one in flight',
      { tag: 'broadcast', ...wallet, hash: HASH, hashes: [HASH] },
      { tag: 'in_flight' },
    ],
    [
      'does not exist once one was mined',
      { tag: 'mined', ...wallet, ...receipt },
      { tag: 'mined', atMs: 7 },
    ],
    ['follows a revert', { tag: 'reverted', ...wallet, ...receipt }, { tag: 'free', attempt: 4 }],
    [
      'follows a refusal',
      { tag: 'refused', reason: 'fee_cap', message: '', revertData: null },
      { tag: 'free', attempt: 4 },
    ],
    ['follows a cancel', { tag: 'cancelled', ...wallet, hash: HASH }, { tag: 'free', attempt: 4 }],
    [
      'follows a nonce lost to others',
      { tag: 'superseded', ...wallet },
      { tag: 'free', attempt: 4 },
    ],
  ])('%s', (_, state, standing) => {
    expect(standingAfter(last, state)).toMatchObject(standing);
  });

  test('of what recurs waits until the last one has no echo', () => {
    const mined = { tag: 'mined', attempt: 3, atMs: 7 } as const;
    expect(nextAfterMined(mined, 6 + ECHO_MS)).toBeNull();
    expect(nextAfterMined(mined, 7 + ECHO_MS)).toBe(4);
  });

  test.each([
    ['fill', workKeyOf(ADDRESS, HASH), HASH.toLowerCase()],
    ['arm', workKeyOf(ADDRESS, HASH), HASH.toLowerCase()],
    ['snapshot', workKeyOf(ADDRESS, '2940', 'snapshot'), '2940'],
    ['payout', workKeyOf(ADDRESS, '17', 'payout'), '17'],
  ] as const)('has a key that names %s, contract, id and number', (kind, jobKey, id) => {
    const key = intentKeyOf(kind, jobKey, 2);
    expect(key).toMatch(/^[a-z]+:0x[0-9a-f]{40}:.*:2$/);
    expect(parseIntentKey(key)).toEqual({ kind, contract: ADDRESS.toLowerCase(), id });
  });

  test('keys of others are not read', () => {
    expect(parseIntentKey('relay:1')).toBeNull();
    expect(parseIntentKey(`sweep:${ADDRESS.toLowerCase()}:1:1`)).toBeNull();
  });
});
