/**
 * What was decided about an action and when, for `relayer why`. Evidence for an operator, never part of a decision.
 *
 * What must hold: writing it delays and fails no action (lines wait in memory for at most `FLUSH_MS` and go to the store
 * together); a digest has at most `MOST_LINES` lines of a process, and strangers, whose actions no slot holds, write at
 * most `STRANGERS_PER_MINUTE` altogether, so that nobody fills the disk by posting.
 */
import type { Kysely } from 'kysely';
import type { Hex } from 'viem';
import type { Logger } from '../runtime/logger.ts';
import { write as writeRows } from '../runtime/store/writes.ts';
import type { TrailRow, TrailTables } from './trail-tables.ts';

/** "checked" … "mined": what happened, in one or two words. */
type TrailLine = { digest: Hex; what: string; detail: string };

export type Trail = {
  /** @param line.detail in words for an operator; cut where it is long. */
  note(line: TrailLine): void;
  /** The same of an action that no slot holds yet: left out when strangers post too many. */
  noteStranger(line: TrailLine): void;
  /** Writes what waits. Never throws. */
  flush(): Promise<void>;
  /** Forgets what is older than `before` (unix milliseconds). */
  prune(before: number): Promise<void>;
  /** Lines that were left out since the start. */
  dropped: () => number;
  /** Writes what waits; nothing is taken after it. */
  stop(): Promise<void>;
};

const FLUSH_MS = 100;
/** A full batch does not wait. */
const BATCH = 200;
/** Of a store that takes nothing for a while. */
const MOST_WAITING = 5_000;
const MOST_LINES = 60;
const MOST_DIGESTS = 20_000;
const STRANGERS_PER_MINUTE = 300;
const MINUTE_MS = 60_000;
const MOST_DETAIL = 600;

export function createTrail(
  db: Kysely<TrailTables>,
  logger: Logger,
  now: () => number = Date.now,
): Trail {
  /** Replicas write to one table: no id of one is an id of another. */
  const writer = crypto.randomUUID().slice(0, 8);
  let counter = 0;
  let waiting: TrailRow[] = [];
  let dropped = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | null = null;
  let tail: Promise<void> = Promise.resolve();
  /** Lines of each digest, the oldest forgotten first. */
  const lines = new Map<Hex, number>();
  let strangers = { since: 0, left: 0 };

  const write = async (): Promise<void> => {
    const rows = waiting;
    waiting = [];
    if (rows.length === 0) return;
    try {
      for (let at = 0; at < rows.length; at += BATCH) {
        const batch = rows.slice(at, at + BATCH);
        await writeRows(db, (store) => store.insertInto('relay_trail').values(batch).execute());
      }
    } catch (err) {
      // Expected of a store that is full or away: the action goes on without its trail.
      dropped += rows.length;
      logger.warn({ err, lines: rows.length }, 'lines of the trail were not written');
    }
  };
  const flush = async (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    tail = tail.then(write);
    await tail;
  };
  const counted = (digest: Hex): boolean => {
    const count = lines.get(digest) ?? 0;
    if (count >= MOST_LINES) return false;
    lines.delete(digest);
    lines.set(digest, count + 1);
    const [oldest] = lines.keys();
    if (lines.size > MOST_DIGESTS && oldest !== undefined) lines.delete(oldest);
    return true;
  };
  const note = ({ digest, what, detail }: TrailLine): void => {
    if (stopped || waiting.length >= MOST_WAITING || !counted(digest)) {
      dropped += 1;
      return;
    }
    counter += 1;
    const at = now();
    waiting.push({
      id: `${at.toString().padStart(14, '0')}-${writer}-${counter.toString().padStart(10, '0')}`,
      digest,
      at,
      what,
      detail: detail.length > MOST_DETAIL ? `${detail.slice(0, MOST_DETAIL)}…` : detail,
    });
    if (waiting.length >= BATCH) void flush();
    else if (timer === null) {
      timer = setTimeout(() => void flush(), FLUSH_MS);
      timer.unref();
    }
  };

  return {
    note,
    noteStranger: (line) => {
      const at = now();
      if (Math.abs(at - strangers.since) >= MINUTE_MS) {
        strangers = { since: at, left: STRANGERS_PER_MINUTE };
      }
      if (strangers.left === 0) {
        dropped += 1;
        return;
      }
      strangers.left -= 1;
      note(line);
    },
    flush,
    prune: async (before) => {
      await db.deleteFrom('relay_trail').where('at', '<', before).execute();
    },
    dropped: () => dropped,
    stop: async () => {
      await flush();
      stopped = true;
    },
  };
}

/** The lines of a digest, oldest first. */
export async function readTrail(db: Kysely<TrailTables>, digest: Hex): Promise<TrailRow[]> {
  return await db
    .selectFrom('relay_trail')
    .selectAll()
    .where('digest', '=', digest)
    .orderBy('id')
    .limit(1_000)
    .execute();
}
