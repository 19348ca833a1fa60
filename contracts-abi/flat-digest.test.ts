import fc from 'fast-check';
import { type Hex, hashTypedData } from 'viem';
import { describe, expect, it } from 'vitest';
import { type FlatType, flatDigest } from './flat-digest.ts';

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((array): Hex => `0x${Buffer.from(array).toString('hex')}`);
const uint = (bits: bigint) => fc.bigInt(0n, (1n << bits) - 1n);
const fields = [
  { name: 'account', type: 'address' },
  { name: 'kind', type: 'uint8' },
  { name: 'amount', type: 'uint256' },
  { name: 'data', type: 'bytes' },
  { name: 'digest', type: 'bytes32' },
  { name: 'deadline', type: 'uint48' },
] as const;
const type: FlatType = { name: 'Thing', fields };

describe('a flat digest', () => {
  it('is what the general hasher gives, of any message under any domain', () => {
    fc.assert(
      fc.property(
        fc.record({
          account: hex(20),
          kind: uint(8n).map(Number),
          amount: uint(256n),
          data: fc.integer({ min: 0, max: 300 }).chain(hex),
          digest: hex(32),
          deadline: uint(48n).map(Number),
        }),
        fc.record({ name: fc.string(), verifyingContract: fc.option(hex(20), { nil: undefined }) }),
        (message, { name, verifyingContract }) => {
          const domain = {
            name,
            version: '1',
            chainId: 4663,
            ...(verifyingContract === undefined ? {} : { verifyingContract }),
          };
          const expected = hashTypedData({
            domain,
            types: { Thing: fields },
            primaryType: 'Thing',
            message,
          });
          // Twice: the second time by what the first one remembers.
          expect(flatDigest(domain, type, message)).toBe(expected);
          expect(flatDigest(domain, type, message)).toBe(expected);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is refused of values that their types cannot hold', () => {
    const domain = { name: 'x', version: '1', chainId: 1 };
    const of = (kind: string, value: unknown) => () =>
      flatDigest(domain, { name: 'T', fields: [{ name: 'v', type: kind }] }, { v: value });
    expect(of('uint8', 256)).toThrow(RangeError);
    expect(of('uint8', -1)).toThrow(RangeError);
    expect(of('uint8', '1')).toThrow(RangeError);
    expect(of('uint48', 1.5)).toThrow(RangeError);
    expect(of('address', '0x00')).toThrow(RangeError);
    expect(of('bytes32', '0x00')).toThrow(RangeError);
    expect(of('bytes', '0x0')).toThrow(RangeError);
    expect(of('string', 'x')).toThrow(TypeError);
  });
});
