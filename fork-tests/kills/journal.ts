/** What the journal of a process that has just been killed holds: the states that a restart must repair. */
import Database from 'libsql';

/** "signed+broadcast" and the like: the phases of the newest `count` intents, sorted; "empty" for none. */
export function phasesLeft(path: string, count: number): string {
  const database = new Database(path);
  try {
    const rows = database
      .prepare('select phase from sender_intent order by seq desc limit ?')
      .all(count) as { phase: string }[];
    return rows.length === 0
      ? 'empty'
      : [...new Set(rows.map(({ phase }) => phase))].toSorted().join('+');
  } finally {
    database.close();
  }
}

/** Counts by label, printed as one line each with the most frequent first. */
export class Histogram {
  readonly #counts = new Map<string, number>();

  add(label: string): void {
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + 1);
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  has(label: string): boolean {
    return this.#counts.has(label);
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }

  render(): string {
    return [...this.#counts]
      .toSorted(([, a], [, b]) => b - a)
      .map(([label, count]) => `  ${String(count).padStart(3)}  ${label}`)
      .join('\n');
  }
}
