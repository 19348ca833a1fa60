/**
 * The contract that sender tests call, in raw EVM so that it can be set anywhere at once. Every execution adds one to
 * slot 0 and emits one anonymous-style log whose only topic is the first word of the calldata: a second execution of
 * an intent cannot hide.
 *
 * Slot 1: extra storage writes per call, so that gas can be made to grow. Slot 2: when not zero, the call reverts
 * with that word as its revert data.
 */
import type { Address, Hex } from 'viem';
import { keccak256, numberToHex, stringToHex } from 'viem/utils';
import { rpc } from '../anvil.ts';

export const TARGET: Address = '0x00000000000000000000000000000000C0Ffee01';

const CODE: Hex = `0x${[
  '600254', // sload(2)
  '80', // dup1
  '15', // iszero
  '6011', // → 0x11
  '57', // jumpi
  '600052', // mstore(0, word)
  '60206000fd', // revert(0, 32)
  '00', // padding
  '5b', // 0x11: jumpdest
  '50', // pop
  '600035', // topic = calldataload(0)
  '60006000a1', // log1(0, 0, topic)
  '600160005401600055', // slot 0 += 1
  '600154', // i = sload(1)
  '5b', // 0x27: jumpdest
  '80', // dup1
  '15', // iszero
  '603c', // → 0x3c
  '57', // jumpi
  '60019003', // i - 1
  '600181', // 1, dup2
  '61010001', // + 0x100
  '55', // sstore(i + 0x100, 1)
  '6027', // → 0x27
  '56', // jump
  '5b', // 0x3c: jumpdest
  '00', // stop
].join('')}`;

/** Puts the contract onto a chain. */
export async function installTarget(url: string): Promise<void> {
  await rpc(url, 'anvil_setCode', [TARGET, CODE]);
}

export async function setExtraWrites(url: string, count: number): Promise<void> {
  await setSlot(url, 1, numberToHex(count, { size: 32 }));
}

/** From now on calls revert with this word (null: no more). */
export async function setRevert(url: string, word: string | null): Promise<void> {
  await setSlot(
    url,
    2,
    word === null ? numberToHex(0, { size: 32 }) : stringToHex(word, { size: 32 }),
  );
}

async function setSlot(url: string, slot: number, value: Hex): Promise<void> {
  await rpc(url, 'anvil_setStorageAt', [TARGET, numberToHex(slot, { size: 32 }), value]);
}

/** Calldata of an intent: its key's hash. */
export function callFor(key: string): Hex {
  return keccak256(stringToHex(key));
}

/** How often each key was executed on the chain, by its logs. */
export async function executions(url: string): Promise<Map<Hex, number>> {
  const logs = await rpc<{ topics: Hex[] }[]>(url, 'eth_getLogs', [
    { address: TARGET, fromBlock: '0x0', toBlock: 'latest' },
  ]);
  const counts = new Map<Hex, number>();
  for (const { topics } of logs) {
    const [topic] = topics;
    if (topic !== undefined) counts.set(topic, (counts.get(topic) ?? 0) + 1);
  }
  return counts;
}

export async function executionsOf(url: string, key: string): Promise<number> {
  return (await executions(url)).get(callFor(key)) ?? 0;
}
