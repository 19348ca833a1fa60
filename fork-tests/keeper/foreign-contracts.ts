/**
 * Contracts of another service, small enough to be read as bytecode: each takes one word of calldata behind any
 * selector, an amount of USDG base units, and reverts when the token does.
 */
import { type Address, type Hex, numberToHex, toFunctionSelector } from 'viem';
import type { Fork } from '../harness/fork.ts';

/** What a job of theirs calls; the contracts do not look at it. */
export const WORK_SELECTOR = toFunctionSelector('function work(uint256 amountUsdg)');

/** Calldata of the work for so many base units. */
export function workCall(amount: bigint): Hex {
  return `${WORK_SELECTOR}${numberToHex(amount, { size: 32 }).slice(2)}`;
}

/** Stores `selector` at memory 0, then what follows it. */
const selectorInMemory = (signature: string) =>
  // PUSH4 selector, SHL by 224, MSTORE at 0
  `63${toFunctionSelector(signature).slice(2)}60e01b600052`;

/** CALL of `usdg` with `size` bytes of memory; reverts unless it succeeds, else stops. `end` is the JUMPDEST's place. */
const callUsdg = (usdg: Address, size: string, end: string) =>
  `6020600060${size}6000600073${usdg.slice(2).toLowerCase()}5af11560${end}57005b600080fd`;

/** Pays its caller the amount out of its own USDG. */
export const payingCode = (usdg: Address): Hex =>
  // CALLER at 4, the amount at 36
  `0x${selectorInMemory('function transfer(address,uint256)')}33600452600435602452${callUsdg(usdg, '44', '3b')}`;

/** What a contract may ask to find out whether it is simulated, where the node then answers zero. */
const TELLS = { baseFee: '48', gasPrice: '3a' } as const;

/** Pays as {@link payingCode} while `tell` is zero; on chain it does nothing and succeeds, or reverts. */
export const cheatingCode = (
  usdg: Address,
  tell: keyof typeof TELLS,
  onChain: 'nothing' | 'revert',
): Hex => {
  const end = onChain === 'nothing' ? '00' : '60006000fd';
  const place = (5 + end.length / 2).toString(16).padStart(2, '0');
  // `tell` ISZERO, JUMPI over the end to where it pays, and stops whatever the token says.
  const body = `${selectorInMemory('function transfer(address,uint256)')}33600452600435602452`;
  const pays = `6020600060446000600073${usdg.slice(2).toLowerCase()}5af100`;
  return `0x${TELLS[tell]}1560${place}57${end}5b${body}${pays}`;
};

/** Takes the amount from its caller, where the caller ever gave it an allowance. */
export const takingCode = (usdg: Address): Hex =>
  // CALLER at 4, ADDRESS at 36, the amount at 68
  `0x${selectorInMemory('function transferFrom(address,address,uint256)')}3360045230602452600435604452${callUsdg(usdg, '64', '3f')}`;

/** Puts the code at `address`. */
export async function placeContract(fork: Fork, address: Address, bytecode: Hex): Promise<void> {
  await fork.client.setCode({ address, bytecode });
}
