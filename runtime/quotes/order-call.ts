/** Calls of an order's escrow: all three share this part of their interface (IOrderEscrow). */
import { type Address, getAbiItem, type Hex } from 'viem';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { functionSet } from '../chain/function-set.ts';
import type { SwapCall } from './swap-call.ts';

export const orderCalls = functionSet([
  getAbiItem({ abi: exitEscrowAbi, name: 'fill' }),
  getAbiItem({ abi: exitEscrowAbi, name: 'arm' }),
] as const);

/** Calldata of `fill`. */
export function encodeFill(id: Hex, swaps: readonly SwapCall[], executor: Address): Hex {
  return orderCalls.encode('fill', [id, swaps, executor]);
}

/** Calldata of `arm`. */
export function encodeArm(id: Hex): Hex {
  return orderCalls.encode('arm', [id]);
}
