/**
 * Waits for what another process does with an intent: one poll of the rows for everybody who waits, none while nobody
 * does.
 */
import type { Kysely } from 'kysely';
import type { Entry } from './entry.ts';
import type { Journal } from './journal.ts';
import type { SenderTables } from './tables.ts';
import { Waits } from './waits.ts';

const POLL_MS = 50;
const KEYS_PER_QUERY = 200;

export class JournalWatch {
  readonly #db: Kysely<SenderTables>;
  readonly #journal: Journal;
  readonly #waits = new Waits();
  /** Version of each row last looked at; only of keys that somebody waits for. */
  readonly #seen = new Map<string, number>();
  #polling: Promise<void> | null = null;
  #stopped = false;

  /** @param journal that takes nothing on: every load reads the row */
  constructor(db: Kysely<SenderTables>, journal: Journal) {
    this.#db = db;
    this.#journal = journal;
  }

  /** Resolves when the row satisfies `reached`, is final, or the time has passed. */
  async until(key: string, reached: (entry: Entry) => boolean, timeoutMs: number): Promise<void> {
    if (this.#stopped || timeoutMs <= 0) return;
    // Whoever comes later to a key that is waited for has not seen it yet.
    this.#seen.delete(key);
    const waiting = this.#waits.until(key, reached, timeoutMs);
    this.#polling ??= this.#poll();
    await waiting;
  }

  /** Ends all waits. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waits.end();
    await this.#polling;
  }

  async #poll(): Promise<void> {
    try {
      for (let keys = this.#waits.keys(); keys.length > 0; keys = this.#waits.keys()) {
        if (this.#stopped) return;
        try {
          await this.#look(keys);
        } catch {
          // Expected while the store is out of reach: every wait has its own deadline.
        }
        await new Promise((resolve) => {
          setTimeout(resolve, POLL_MS);
        });
      }
    } finally {
      this.#polling = null;
      this.#seen.clear();
    }
  }

  async #look(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += KEYS_PER_QUERY) {
      const rows = await this.#db
        .selectFrom('sender_intent')
        .select(['key', 'version'])
        .where('key', 'in', keys.slice(at, at + KEYS_PER_QUERY))
        .execute();
      for (const { key, version } of rows) {
        if (this.#seen.get(key) === version) continue;
        const entry = await this.#journal.load(key);
        if (entry === null) continue;
        this.#seen.set(key, entry.version);
        this.#waits.notify(entry);
      }
    }
    const wanted = new Set(this.#waits.keys());
    for (const key of this.#seen.keys()) if (!wanted.has(key)) this.#seen.delete(key);
  }
}
