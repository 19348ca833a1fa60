/**
 * The journal: every intent and every signed byte string, on disk before it matters. What is not final is kept in
 * memory too; changes to one intent run one after another, and a row changes only from the version that was read.
 * Every write here is made under the fence: a process that no longer leads moves nothing.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Address, Hex } from 'viem';
import { inTurnByKey } from '../in-turn.ts';
import { fenced } from '../store/fenced.ts';
import { type Fence, Overtaken, unfenced } from '../store/lead.ts';
import { applyEvent, type Entry, type EntryEvent, isFinal } from './entry.ts';
import {
  type Guard,
  insertIntent,
  isHeld,
  JournalConflict,
  JournalUnknown,
  Sequence,
  type Signed,
} from './insert.ts';
import { attemptRowOf, changingColumnsOf, entryOf, type SenderTables } from './tables.ts';
import type { Intent } from './types.ts';

/** Whether the journal is another process's: nothing may be sent after it, whatever was going on. */
export function isNotOurs(error: unknown): boolean {
  return (
    error instanceof JournalConflict ||
    error instanceof JournalUnknown ||
    error instanceof Overtaken
  );
}

export type JournalListener = (entry: Entry) => void;

const KEYS_PER_QUERY = 200;

export class Journal {
  readonly #db: Kysely<SenderTables>;
  readonly #clock: () => number;
  readonly #fence: Fence;
  readonly #active = new Map<string, Entry>();
  /** One change to one intent at a time. */
  readonly #inTurn = inTurnByKey();
  readonly #listeners = new Set<JournalListener>();
  readonly #sequence = new Sequence();

  constructor(db: Kysely<SenderTables>, clock: () => number, fence: Fence = unfenced) {
    this.#db = db;
    this.#clock = clock;
    this.#fence = fence;
  }

  /** Reads back everything that is not final, and where the sequence stands. */
  async open(): Promise<readonly Entry[]> {
    const last = await this.#db
      .selectFrom('sender_intent')
      .select(({ fn }) => fn.max('seq').as('seq'))
      .executeTakeFirst();
    this.#sequence.after(last?.seq ?? 0);
    const rows = await this.#db
      .selectFrom('sender_intent')
      .selectAll()
      .where('confirmed', '=', 0)
      .where('phase', 'not in', ['refused', 'superseded'])
      .orderBy('seq')
      .execute();
    const attempts = await this.#attemptsOf(rows.map(({ key }) => key));
    for (const row of rows) this.#active.set(row.key, entryOf(row, attempts.get(row.key) ?? []));
    return [...this.#active.values()];
  }

  /** Not final, oldest first. */
  active(): Iterable<Entry> {
    return this.#active.values();
  }

  get activeCount(): number {
    return this.#active.size;
  }

  peek(key: string): Entry | null {
    return this.#active.get(key) ?? null;
  }

  /**
   * Writes a new intent, with its first bytes where there are any, or returns the entry that already has this key; null
   * when the guard said no.
   */
  async insert(intent: Intent): Promise<{ created: boolean; entry: Entry }>;
  async insert(
    intent: Intent,
    guard: Guard | undefined,
    signed?: Signed,
  ): Promise<{ created: boolean; entry: Entry } | null>;
  async insert(
    intent: Intent,
    guard?: Guard,
    signed?: Signed,
  ): Promise<{ created: boolean; entry: Entry } | null> {
    return await this.#inTurn(intent.key, async () => {
      const known = this.#active.get(intent.key);
      if (known !== undefined) return { created: false, entry: known };
      const now = this.#clock();
      const inserted = await insertIntent(this.#db, this.#fence, this.#sequence, {
        intent,
        now,
        guard,
        signed,
      });
      if (inserted.tag === 'vetoed') return null;
      if (inserted.tag === 'created') {
        return { created: true, entry: this.#keep(inserted.entry) };
      }
      const written = await this.load(intent.key);
      if (written === null) throw new Error(`intent ${intent.key} vanished from the journal`);
      return { created: false, entry: this.#keep(written) };
    });
  }

  /** Takes on the row of a key; null where there is none. */
  async take(key: string): Promise<Entry | null> {
    // Read in its turn: a write of our own to the same row may be under way.
    return await this.#inTurn(key, async () => {
      const entry = await this.load(key);
      return entry === null ? null : this.#keep(entry);
    });
  }

  /**
   * Takes on what other processes have written (insert.ts): it is work like any other. Returns how many.
   */
  async adopt(): Promise<number> {
    const rows = await this.#db
      .selectFrom('sender_intent')
      .select('key')
      .where('phase', '=', 'queued')
      .where('confirmed', '=', 0)
      .orderBy('seq')
      .execute();
    let adopted = 0;
    for (const { key } of rows) {
      if (this.#active.has(key)) continue;
      await this.#inTurn(key, async () => {
        // Read in its turn: see `take`.
        const entry = await this.load(key);
        if (entry === null || isFinal(entry) || this.#active.has(key)) return;
        this.#keep(entry);
        adopted += 1;
      });
    }
    return adopted;
  }

  /** In memory as long as it is not final. */
  #keep(entry: Entry): Entry {
    if (!isFinal(entry)) this.#active.set(entry.key, entry);
    return entry;
  }

  /**
   * Moves an entry, durably. Null when the event does not apply any more. `when` is asked with the entry as it is at
   * the moment of the move.
   */
  async apply(
    key: string,
    event: EntryEvent,
    when: (entry: Entry) => boolean = () => true,
  ): Promise<Entry | null> {
    return await this.#inTurn(key, async () => {
      const entry = this.#active.get(key) ?? (await this.load(key));
      if (!entry || !when(entry)) return null;
      const next = applyEvent(entry, event, this.#clock());
      if (next === null) return null;
      await this.#write(entry, next, event);
      if (isFinal(next)) this.#active.delete(key);
      else this.#active.set(key, next);
      for (const listener of this.#listeners) listener(next);
      return next;
    });
  }

  async load(key: string): Promise<Entry | null> {
    const active = this.#active.get(key);
    if (active) return active;
    const row = await this.#db
      .selectFrom('sender_intent')
      .selectAll()
      .where('key', '=', key)
      .executeTakeFirst();
    if (!row) return null;
    const attempts = await this.#attemptsOf([key]);
    return entryOf(row, attempts.get(key) ?? []);
  }

  async recent(limit: number): Promise<Entry[]> {
    const rows = await this.#db
      .selectFrom('sender_intent')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(limit)
      .execute();
    const attempts = await this.#attemptsOf(rows.map(({ key }) => key));
    return rows.map((row) => entryOf(row, attempts.get(row.key) ?? []));
  }

  /** Which intent a transaction of ours belongs to. */
  async keyOfHash(hash: Hex): Promise<string | null> {
    const row = await this.#db
      .selectFrom('sender_attempt')
      .select('intent_key')
      .where('hash', '=', hash)
      .executeTakeFirst();
    return row?.intent_key ?? null;
  }

  /** The highest nonce of a wallet that the journal calls confirmed, or null. */
  async highestConfirmedNonce(wallet: Address): Promise<number | null> {
    const row = await this.#db
      .selectFrom('sender_intent')
      .select(({ fn }) => fn.max('nonce').as('nonce'))
      .where('wallet', '=', wallet)
      .where('confirmed', '=', 1)
      .executeTakeFirst();
    return row?.nonce ?? null;
  }

  /** The highest nonce of a wallet that bytes were signed for, or null. */
  async highestNonce(wallet: Address): Promise<number | null> {
    const row = await this.#db
      .selectFrom('sender_attempt')
      .select(({ fn }) => fn.max('nonce').as('nonce'))
      .where('wallet', '=', wallet)
      .executeTakeFirst();
    return row?.nonce ?? null;
  }

  onChange(listener: JournalListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #write(entry: Entry, next: Entry, event: EntryEvent): Promise<void> {
    const { key } = next;
    const columns = changingColumnsOf(next);
    const attempt = 'attempt' in event ? event.attempt : undefined;
    const work = async (trx: Transaction<SenderTables>): Promise<void> => {
      // The version first: a row that moved on is told as that, and not by the bytes that it has already.
      const result = await trx
        .updateTable('sender_intent')
        .set(columns)
        .where('key', '=', key)
        .where('version', '=', entry.version)
        .executeTakeFirst();
      if (result.numUpdatedRows !== 1n) throw new JournalConflict(key);
      if (attempt !== undefined) {
        await trx.insertInto('sender_attempt').values(attemptRowOf(key, attempt)).execute();
      }
    };
    try {
      await fenced(this.#db, this.#fence, work, { single: attempt === undefined });
    } catch (error) {
      // A nonce that another row holds was free for all that this process knows.
      if (event.type === 'claimed' && !isNotOurs(error)) {
        const isTaken = await isHeld(this.#db, event.wallet, event.nonce).catch(() => false);
        if (isTaken) throw new JournalConflict(key);
      }
      throw error;
    }
  }

  async #attemptsOf(
    keys: readonly string[],
  ): Promise<Map<string, SenderTables['sender_attempt'][]>> {
    const byKey = new Map<string, SenderTables['sender_attempt'][]>();
    for (let at = 0; at < keys.length; at += KEYS_PER_QUERY) {
      const rows = await this.#db
        .selectFrom('sender_attempt')
        .selectAll()
        .where('intent_key', 'in', keys.slice(at, at + KEYS_PER_QUERY))
        .orderBy('created_at')
        .execute();
      for (const row of rows) {
        const list = byKey.get(row.intent_key);
        if (list) list.push(row);
        else byKey.set(row.intent_key, [row]);
      }
    }
    return byKey;
  }
}
