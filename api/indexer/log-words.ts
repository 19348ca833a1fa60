/**
 * Reads the words of a log directly. A general decoder costs more than a log's whole way into the store, and these
 * events are our own contracts': their layout is that of the generated ABIs, which a test compares.
 */
import { type Abi, type Address, type Hex, toEventSelector } from 'viem';
import type { IndexedLog } from './projection.ts';

const WORD = 64;

/** The n-th word of the data, as an unsigned integer. */
export function uintAt(log: IndexedLog, index: number): bigint {
  // Most logs have a single word: it is the number as it stands.
  return BigInt(index === 0 && log.data.length === 2 + WORD ? log.data : `0x${word(log, index)}`);
}

/** The n-th word of the data, as decimal text. */
export function uintTextAt(log: IndexedLog, index: number): string {
  return uintAt(log, index).toString();
}

/** The n-th word of the data, as a lower-case address. */
export function addressAt(log: IndexedLog, index: number): Address {
  return `0x${word(log, index).slice(24)}`;
}

/** The n-th topic (0 is the event's own), as a lower-case address. */
export function addressTopic(log: IndexedLog, index: number): Address {
  return `0x${topic(log, index).slice(26)}`;
}

/** The n-th topic, as it is: 32 bytes. */
export function topic(log: IndexedLog, index: number): Hex {
  const found = log.topics[index];
  if (found === undefined) throw new Error(`a log of ${log.address} has no topic ${index}`);
  return found;
}

function word(log: IndexedLog, index: number): string {
  const start = 2 + index * WORD;
  if (log.data.length < start + WORD) {
    throw new Error(`a log of ${log.address} has no word ${index}`);
  }
  return log.data.slice(start, start + WORD);
}

/** The first topic of an ABI's event. @throws when the ABI has no such event. */
export function selectorOf(abi: Abi, name: string): Hex {
  const item = abi.find((each) => each.type === 'event' && each.name === name);
  if (item?.type !== 'event') throw new Error(`the ABI has no event ${name}`);
  return toEventSelector(item);
}
