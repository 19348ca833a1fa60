/**
 * What is due, in a word that a client holds on to. It is told of what has become due since, and not of what went:
 * each tag counts how often something came, as this process saw it; between processes, which count by themselves, two
 * tags compare by what was due.
 */
import { createHash, randomBytes } from 'node:crypto';

/** Enough that no two sets of names look alike. */
const HASH_CHARACTERS = 22;

export class DueTags {
  readonly #process = randomBytes(6).toString('base64url');
  #names: ReadonlySet<string> = new Set();
  #came = 0;

  /** The tag of what is due now. */
  tagOf(names: ReadonlySet<string>): string {
    if (![...names].every((name) => this.#names.has(name))) this.#came += 1;
    this.#names = names;
    const text = [...names].toSorted().join();
    const hash = createHash('sha256').update(text).digest('base64url').slice(0, HASH_CHARACTERS);
    return `${hash}.${this.#process}.${this.#came}`;
  }

  /** Whether something became due between two tags, of which `now` is one of ours. */
  isNews(known: string, now: string): boolean {
    const [hash, process, came] = known.split('.');
    const [hashNow, , cameNow] = now.split('.');
    return process === this.#process ? came !== cameNow : hash !== hashNow;
  }
}
