import { pad } from 'viem';
import { describe, expect, test } from 'vitest';
import type { IntentState } from '../runtime/sender/types.ts';
import { intentKeyOf, parseIntentKey, standingAfter } from './attempts.ts';

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

  test('has a key that names kind, escrow, order and number, whatever the case of the input', () => {
    const key = intentKeyOf(
      'fill',
      ADDRESS.toUpperCase().replace('0X', '0x') as `0x${string}`,
      HASH,
      2,
    );
    expect(key).toBe(`fill:${ADDRESS.toLowerCase()}:${HASH.toLowerCase()}:2`);
    expect(parseIntentKey(key)).toEqual({
      kind: 'fill',
      escrow: ADDRESS.toLowerCase(),
      id: HASH.toLowerCase(),
    });
    expect(parseIntentKey('relay:1')).toBeNull();
  });
});
