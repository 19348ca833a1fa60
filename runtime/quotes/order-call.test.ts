import { encodeFunctionData, type Hex, zeroAddress } from 'viem';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { encodeFill, withExecutor } from './order-call.ts';
import type { SwapCall } from './swap-call.ts';

const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((array): Hex => {
    return `0x${Buffer.from(array).toString('hex')}`;
  });
const address = bytes(20);
const swap: fc.Arbitrary<SwapCall> = fc.record({
  router: address,
  tokenIn: address,
  tokenOut: address,
  amountIn: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  callData: fc.integer({ min: 0, max: 100 }).chain(bytes),
});
const plain = (id: Hex, swaps: readonly SwapCall[], executor: Hex): Hex =>
  encodeFunctionData({ abi: exitEscrowAbi, functionName: 'fill', args: [id, swaps, executor] });

it('encodes a fill as the ABI says, each time anew or of the same swaps', () => {
  const fills = fc.array(fc.tuple(bytes(32), address), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(swap, { maxLength: 4 }), fills, (swaps, all) => {
      for (const [id, executor] of all) {
        expect(encodeFill(id, swaps, executor)).toBe(plain(id, swaps, executor));
        expect(encodeFill(id.toUpperCase().replace('0X', '0x') as Hex, swaps, executor)).toBe(
          plain(id, swaps, executor),
        );
        expect(withExecutor(encodeFill(id, swaps, zeroAddress), executor)).toBe(
          plain(id, swaps, executor),
        );
      }
    }),
  );
});

it.each<[Hex, Hex]>([
  ['0x01', zeroAddress],
  [`0x${'11'.repeat(33)}`, zeroAddress],
  [`0x${'11'.repeat(32)}`, '0x01'],
  [`0x${'11'.repeat(32)}`, `0x${'11'.repeat(32)}`],
])('refuses the id %s with the executor %s', (id, executor) => {
  expect(() => encodeFill(id, [], executor)).toThrow();
});
