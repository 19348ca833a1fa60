import * as fc from 'fast-check';
import { decodeFunctionData, encodeFunctionData, getAbiItem, type Hex, pad } from 'viem';
import { describe, expect, test } from 'vitest';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { functionSet } from './function-set.ts';

const abi = [
  getAbiItem({ abi: exitEscrowAbi, name: 'fill' }),
  getAbiItem({ abi: exitEscrowAbi, name: 'arm' }),
] as const;
const set = functionSet(abi);

const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((array): Hex => `0x${Buffer.from(array).toString('hex')}`);
const bytes = fc
  .uint8Array({ maxLength: 100 })
  .map((array): Hex => `0x${Buffer.from(array).toString('hex')}`);
const swap = fc.record({
  router: hex(20),
  tokenIn: hex(20),
  tokenOut: hex(20),
  amountIn: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  callData: bytes,
});

describe('calls of a few functions', () => {
  test('are written and read as viem writes and reads them', () => {
    fc.assert(
      fc.property(hex(32), fc.array(swap, { maxLength: 4 }), hex(20), (id, swaps, executor) => {
        const args = [id, swaps, executor] as const;
        const data = encodeFunctionData({ abi, functionName: 'fill', args });
        expect(set.encode('fill', args)).toBe(data);
        expect(set.decode(data)).toEqual(decodeFunctionData({ abi, data }));
        const arm = encodeFunctionData({ abi, functionName: 'arm', args: [id] });
        expect(set.encode('arm', [id])).toBe(arm);
        expect(set.decode(arm)).toEqual(decodeFunctionData({ abi, data: arm }));
      }),
    );
  });

  test.each<[string, Hex]>([
    ['of another function', '0x12345678'],
    ['of less than a selector', '0x1234'],
    ['of nothing', '0x'],
    ['with arguments cut off', set.encode('arm', [pad('0x1', { size: 32 })]).slice(0, -2) as Hex],
    ['of no bytes', 'nonsense' as Hex],
  ])('are not read %s', (_, data) => {
    expect(() => set.decode(data)).toThrow();
  });

  test('are not written with arguments of another type', () => {
    expect(() => set.encode('arm', ['0x12'])).toThrow();
  });
});
