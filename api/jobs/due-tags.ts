/** Which orders and slots were due under which tag: who knows a tag is told of what has become due since, not what went. */
import { createHash } from 'node:crypto';

/** So many are remembered; who comes with an older one is told of any other. */
const MOST_TAGS = 64;

export class DueTags {
  /** The one that was told last is the last. */
  readonly #known = new Map<string, ReadonlySet<string>>();

  /** The tag of what is due now: the same names, in whatever order, have the same. */
  tagOf(names: ReadonlySet<string>): string {
    const text = [...names].toSorted().join();
    const tag = createHash('sha256').update(text).digest('base64url');
    this.#known.delete(tag);
    this.#known.set(tag, names);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_TAGS) break;
      this.#known.delete(oldest);
    }
    return tag;
  }

  /** Null for a tag that is not remembered. */
  namesOf(tag: string | undefined): ReadonlySet<string> | null {
    return (tag === undefined ? undefined : this.#known.get(tag)) ?? null;
  }
}
