/**
 * Keccak-256 in WebAssembly: what a transaction is signed under and known by is taken over all of its bytes, and of a
 * batch of fills JavaScript needs a millisecond for each of the two, of the one thread that sends them all.
 */
import { createKeccak } from 'hash-wasm';
import type { Hex } from 'viem';

const hasher = await createKeccak(256);

/** The Keccak-256 of these bytes (as EIP-155 and EIP-2718 use it), as viem's function of this name. @throws for what is not whole bytes of hex */
export function keccak256(bytes: Hex): Hex {
  const read = Buffer.from(bytes.slice(2), 'hex');
  // Node ends where it can read no further, and says nothing.
  if (2 + 2 * read.length !== bytes.length) throw new Error('not whole bytes of hex');
  return `0x${hasher.init().update(read).digest('hex')}`;
}
