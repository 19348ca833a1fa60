/**
 * Nonces of session actions: the upper 96 bits bind key and epoch, the lower 160 are free (rule 18).
 *
 * The module keeps a bit for each nonce, 256 of them in one storage word, so a nonce whose word holds a used one already
 * costs a fifth of the first. Each process therefore draws a random word of its own for each key (152 bits) and gives
 * out its 256 nonces one after another, each once: two builds never get the same one, whether they run at the same time
 * in one process, in two replicas, or before and after a restart, and no chain or store has to be asked.
 *
 * A nonce that was proposed is not proposed again even when its action has expired unsigned: `nonceUsed` must go on
 * meaning that this very action was executed (wire.md).
 */
import { randomBytes } from 'node:crypto';
import { type Address, encodeAbiParameters, keccak256 } from 'viem';

/** Bounds the memory; a key that is forgotten gets a fresh word. */
const MAX_LANES = 10_000;
const NONCES_PER_WORD = 256;

/** What `nonce >> 160` must equal for this key and epoch (rule 18). */
export function nonceSpace(key: Address, epoch: number): bigint {
  const hash = keccak256(
    encodeAbiParameters([{ type: 'address' }, { type: 'uint32' }], [key, epoch]),
  );
  return BigInt(hash) & ((1n << 96n) - 1n);
}

/** `word`: a nonce without its last eight bits; `next`: the bit to give out. */
type Lane = { word: bigint; next: number };

export class NonceLanes {
  readonly #lanes = new Map<string, Lane>();

  /** A nonce that nobody was given before. */
  propose(account: Address, key: Address, epoch: number): bigint {
    const name = `${account}:${key}:${epoch}`;
    const known = this.#lanes.get(name);
    const lane =
      known !== undefined && known.next < NONCES_PER_WORD
        ? known
        : { word: randomWord(key, epoch), next: 0 };
    // Last in the map again: the one that was not asked for longest is forgotten first.
    this.#lanes.delete(name);
    this.#lanes.set(name, lane);
    if (this.#lanes.size > MAX_LANES) {
      const oldest = this.#lanes.keys().next();
      if (!oldest.done) this.#lanes.delete(oldest.value);
    }
    const nonce = (lane.word << 8n) | BigInt(lane.next);
    lane.next += 1;
    return nonce;
  }
}

function randomWord(key: Address, epoch: number): bigint {
  return (nonceSpace(key, epoch) << 152n) | BigInt(`0x${randomBytes(19).toString('hex')}`);
}
