/** What a plan of a buy or a sale swaps, out of its calldata. */
import { type Address, decodeFunctionData, type Hex } from 'viem';
import { expect } from 'vitest';
import { basketZapperAbi, swapRouter02Abi } from '../../contracts-abi/generated/index.ts';
import type { Hop } from './independent-pools.ts';

/** The zapper's swaps, hop by hop, out of the calldata. */
export function legsOf(data: Hex): { hops: Hop[]; amountIn: bigint }[] {
  const { functionName, args } = decodeFunctionData({ abi: basketZapperAbi, data });
  if (functionName !== 'buy' && functionName !== 'sell') throw new Error(functionName);
  return args[3].map(({ callData, amountIn }) => {
    const call = decodeFunctionData({ abi: swapRouter02Abi, data: callData });
    if (call.functionName === 'exactInputSingle') {
      const [single] = call.args;
      expect(single.amountIn).toBe(amountIn);
      return { hops: [single], amountIn };
    }
    if (call.functionName !== 'exactInput') throw new Error(call.functionName);
    const [{ path, amountIn: inPath }] = call.args;
    expect(inPath).toBe(amountIn);
    return { hops: hopsOf(path), amountIn };
  });
}

function hopsOf(path: Hex): Hop[] {
  const token = (at: number): Address => `0x${path.slice(2 + at * 46, 42 + at * 46)}`;
  return Array.from({ length: (path.length - 42) / 46 }, (_, at) => ({
    tokenIn: token(at),
    tokenOut: token(at + 1),
    fee: Number.parseInt(path.slice(42 + at * 46, 48 + at * 46), 16),
  }));
}
