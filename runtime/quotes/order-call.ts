/** Calls of an order's escrow: all three share this part of their interface (IOrderEscrow). */
import { type Address, getAbiItem, type Hex, isAddress, pad, zeroAddress, zeroHash } from 'viem';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { functionSet } from '../chain/function-set.ts';
import type { SwapCall } from './swap-call.ts';

export const orderCalls = functionSet([
  getAbiItem({ abi: exitEscrowAbi, name: 'fill' }),
  getAbiItem({ abi: exitEscrowAbi, name: 'arm' }),
] as const);

const SELECTOR_CHARACTERS = 10;
const WORD_CHARACTERS = 64;
/** Selector, id, where the swaps begin; then the executor. */
const BEFORE_EXECUTOR = SELECTOR_CHARACTERS + 2 * WORD_CHARACTERS;

/** Of nobody's order, to nobody: what orders that trade alike differ in is written into it. */
const templates = new WeakMap<readonly SwapCall[], Hex>();

/**
 * Calldata of `fill`. `swaps` must not change afterwards: fills with one list of swaps are encoded once.
 * @param id 32 bytes
 * @throws where the arguments are not of its types
 */
export function encodeFill(id: Hex, swaps: readonly SwapCall[], executor: Address): Hex {
  let template = templates.get(swaps);
  if (template === undefined) {
    template = orderCalls.encode('fill', [zeroHash, swaps, zeroAddress]);
    templates.set(swaps, template);
  }
  if (!id.startsWith('0x') || id.length !== 2 + WORD_CHARACTERS)
    throw new Error('an order id is 32 bytes');
  const ours = template.slice(0, SELECTOR_CHARACTERS) + id.slice(2).toLowerCase();
  return withExecutor(`${ours as Hex}${template.slice(ours.length)}`, executor);
}

/**
 * The same fill for another executor.
 * @param data canonical calldata of `fill`
 */
export function withExecutor(data: Hex, executor: Address): Hex {
  if (!isAddress(executor, { strict: false })) throw new Error('an executor is an address');
  const before = data.slice(0, BEFORE_EXECUTOR);
  const word = pad(executor).slice(2).toLowerCase();
  return `${before as Hex}${word}${data.slice(BEFORE_EXECUTOR + WORD_CHARACTERS)}`;
}

/** Calldata of `arm`. */
export function encodeArm(id: Hex): Hex {
  return orderCalls.encode('arm', [id]);
}
