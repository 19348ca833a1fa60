import { bytesToHex, type Hex, keccak256 as plain } from 'viem';
import { expect, it } from 'vitest';
import { keccak256 } from './keccak.ts';

/** Bytes that differ from one length to the next. */
const bytesOf = (length: number): Hex =>
  bytesToHex(Uint8Array.from({ length }, (_, at) => (at * 31 + length * 7) % 256));

it('gives what JavaScript gives, around every boundary of a block and of many blocks', () => {
  // A block takes 136 bytes, the hasher's own memory 16 kB.
  const lengths = [
    0, 1, 31, 32, 33, 135, 136, 137, 271, 272, 273, 5_000, 16_383, 16_384, 16_385, 70_000,
  ];
  for (const length of lengths) {
    expect(keccak256(bytesOf(length))).toBe(plain(bytesOf(length)));
    expect(keccak256(bytesOf(length).toUpperCase().replace('0X', '0x') as Hex)).toBe(
      plain(bytesOf(length)),
    );
  }
  expect(keccak256('0x')).toBe(
    '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470',
  );
});

it.each<Hex>(['0x1', '0x0g', '0x00zz11'])('refuses %s', (bytes) => {
  expect(() => keccak256(bytes)).toThrow('not whole bytes of hex');
});
