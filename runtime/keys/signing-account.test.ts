import { type Hex, keccak256, numberToHex, recoverAddress } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { nativeCurve } from './curve.ts';
import { signingAccount } from './signing-account.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const keys: Hex[] = [
  numberToHex(1n, { size: 32 }),
  numberToHex(ORDER - 1n, { size: 32 }),
  ...Array.from({ length: 20 }, generatePrivateKey),
];
const transaction = {
  type: 'eip1559',
  chainId: 4663,
  nonce: 7,
  to: '0x00000000000000000000000000000000000000C8',
  data: '0x1234',
  gas: 21_000n,
  maxFeePerGas: 10n,
  maxPriorityFeePerGas: 1n,
} as const;

describe('an account that signs natively', () => {
  it('is the one of this machine: the test would otherwise compare JavaScript with itself', () => {
    expect(nativeCurve).not.toBeNull();
  });

  it('gives the bytes that JavaScript gives, of hashes and of transactions', async () => {
    for (const key of keys) {
      const [native, plain] = [signingAccount(key), privateKeyToAccount(key)];
      expect(native.address).toBe(plain.address);
      for (let turn = 0; turn < 20; turn += 1) {
        const hash = keccak256(numberToHex(turn, { size: 32 }));
        const signature = await native.sign?.({ hash });
        expect(signature).toBe(await plain.sign({ hash }));
        expect(await recoverAddress({ hash, signature: signature ?? '0x' })).toBe(native.address);
        const sent = { ...transaction, nonce: turn };
        expect(await native.signTransaction(sent)).toBe(await plain.signTransaction(sent));
      }
      expect(await native.signMessage({ message: 'x' })).toBe(
        await plain.signMessage({ message: 'x' }),
      );
    }
  });

  it('without a binary signs in JavaScript, and takes no key that is none', async () => {
    const [key] = keys;
    if (key === undefined) throw new Error('no key');
    const hash = keccak256('0x01');
    const signature = await signingAccount(key, null).sign?.({ hash });
    expect(signature).toBe(await signingAccount(key).sign?.({ hash }));
    for (const bad of [0n, ORDER]) {
      expect(() => signingAccount(numberToHex(bad, { size: 32 }))).toThrow();
    }
  });
});
