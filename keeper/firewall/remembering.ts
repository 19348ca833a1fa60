import { LRUCache } from 'lru-cache';
import type { Hex } from 'viem';

/** What an entry costs beside its text, in characters. */
const ENTRY = 200;
/** One text takes no more than such a part of the room. */
const PARTS = 100;

/**
 * `read`, which says the same of the same text each time, but asked once of a text that comes again.
 * @param most characters that are kept, the texts used last
 */
export function remembering<T extends object>(
  read: (text: Hex) => T,
  most: number,
): (text: Hex) => T {
  const cache = new LRUCache<Hex, T>({
    maxSize: most,
    maxEntrySize: most / PARTS,
    sizeCalculation: (_, { length }) => length + ENTRY,
    memoMethod: (text) => read(text),
  });
  return (text) => cache.memo(text);
}
