/**
 * The journal of a dry run: what the real one knows is read, what the dry run decides is kept in memory, and nothing
 * is written. A keeper may run on the same store meanwhile.
 */
import type { Kysely, Selectable } from 'kysely';
import { createJournal, type Journal } from './journal.ts';
import type { DecisionRow, KeeperTables } from './migrations.ts';

const MOST_DECISIONS = 500;

export function createDryJournal(db: Kysely<KeeperTables>, now: () => number): Journal {
  const real = createJournal(db, now);
  /** Oldest first. */
  const decided: Selectable<DecisionRow>[] = [];
  const never = (what: string) => async (): Promise<never> => {
    throw new Error(`a dry run ${what}`);
  };
  return {
    ...real,
    // What a job has come to is remembered in memory anyway (memory.ts).
    writeJob: async () => undefined,
    // What is under way is another process's to settle.
    unsettled: async () => [],
    openAttempt: never('opens no attempt'),
    openAttemptIn: never('opens no attempt'),
    changeAttempt: never('changes no attempt'),
    prune: never('prunes nothing'),
    async decide(jobKey, { decision, detail, hash = null }) {
      const last = decided.findLast(({ job_key }) => job_key === jobKey);
      const ms = now();
      if (last !== undefined && last.decision === decision && last.tx_hash === hash) {
        Object.assign(last, { last_ms: ms, repeats: last.repeats + 1, detail });
        return;
      }
      decided.push({
        job_key: jobKey,
        seq: (last?.seq ?? 0) + 1,
        first_ms: ms,
        last_ms: ms,
        repeats: 1,
        decision,
        detail,
        tx_hash: hash,
      });
      if (decided.length > MOST_DECISIONS) decided.shift();
    },
    since: async (sinceMs) => decided.filter(({ last_ms }) => last_ms >= sinceMs),
  };
}
