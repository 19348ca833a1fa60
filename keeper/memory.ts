/** What is remembered per order, in memory over the journal: bounded, written through when it changes. */
import type { JobMemory, Journal } from './journal/journal.ts';
import {
  after,
  FRESH,
  LONGEST_WAIT_MS,
  type Patience,
  type PatienceEvent,
  type PatienceRules,
} from './policy/patience.ts';

export type Memories = {
  recall(jobKey: string, job: { type: string; ticker: string | null }): Promise<JobMemory>;
  /** Applies an event; `fingerprint` absent: the one last seen of this job. Returns the new patience. */
  apply(jobKey: string, event: PatienceEvent, fingerprint?: string): Promise<Patience>;
  /** @param way which way to do the job needed it */
  rememberGas(jobKey: string, gas: bigint, way: string): void;
  /** What this way needed, if that was found out a moment ago; null otherwise. */
  gasOf(jobKey: string, way: string): bigint | null;
  /** Whether the journal holds something of it already. */
  isTold(jobKey: string): boolean;
  /** Whether it is written down what becomes of it; a job that is not stays in memory alone. */
  tell(jobKey: string, told: boolean): void;
  quarantined(nowMs: number): number;
};

type Entry = JobMemory & {
  fingerprint: string;
  /** Null: nobody has said yet. */
  told: boolean | null;
  /** Of `gas`; null where an earlier process measured it. */
  measured: { way: string; atMs: number } | null;
};

/** Pools move, and with them what a fill needs. */
const GAS_HOLDS_MS = 60_000;

export function createMemories(options: {
  journal: Journal;
  rules: PatienceRules;
  capacity: number;
  now?: () => number;
}): Memories {
  const { journal, rules, capacity, now = Date.now } = options;
  const entries = new Map<string, Entry>();

  async function entryOf(
    jobKey: string,
    job: { type: string; ticker: string | null },
  ): Promise<Entry> {
    const held = entries.get(jobKey);
    if (held !== undefined) {
      // Re-inserted, so that the map's order is by use and its first key the one to drop.
      entries.delete(jobKey);
      entries.set(jobKey, held);
      return held;
    }
    const stored = await journal.readJob(jobKey);
    const entry: Entry = {
      ...(stored ?? { ...job, patience: FRESH, gas: null }),
      fingerprint: '',
      told: stored === null ? null : true,
      measured: null,
    };
    entry.patience = reread(entry.patience, now(), rules);
    entries.set(jobKey, entry);
    for (const oldest of entries.keys()) {
      if (entries.size <= capacity) break;
      entries.delete(oldest);
    }
    return entry;
  }

  return {
    recall: entryOf,
    async apply(jobKey, event, fingerprint) {
      const entry = await entryOf(jobKey, { type: 'unknown', ticker: null });
      const before = entry.patience;
      if (fingerprint !== undefined) entry.fingerprint = fingerprint;
      entry.patience = after(before, event, entry.fingerprint, now(), rules);
      // Short waits are not worth a durable write: a restart that forgets them costs one more try.
      if (entry.told !== false && worthKeeping(before, entry.patience))
        await journal.writeJob(jobKey, entry);
      return entry.patience;
    },
    rememberGas(jobKey, gas, way) {
      const entry = entries.get(jobKey);
      if (entry === undefined) return;
      entry.gas = gas;
      entry.measured = { way, atMs: now() };
    },
    gasOf(jobKey, way) {
      const entry = entries.get(jobKey);
      if (entry?.measured?.way !== way || now() - entry.measured.atMs > GAS_HOLDS_MS) return null;
      return entry.gas;
    },
    isTold: (jobKey) => entries.get(jobKey)?.told === true,
    tell(jobKey, told) {
      const entry = entries.get(jobKey);
      if (entry !== undefined) entry.told = told;
    },
    quarantined(nowMs) {
      let count = 0;
      for (const { patience } of entries.values()) {
        if (patience.quarantine !== null && nowMs < patience.quarantine.untilMs) count += 1;
      }
      return count;
    },
  };
}

/** Written by a process whose clock may have been ahead of ours: no wait is longer than one begun now. */
function reread(patience: Patience, nowMs: number, rules: PatienceRules): Patience {
  const { quarantine } = patience;
  return {
    ...patience,
    notBeforeMs: Math.min(patience.notBeforeMs, nowMs + LONGEST_WAIT_MS),
    quarantine:
      quarantine === null
        ? null
        : { ...quarantine, untilMs: Math.min(quarantine.untilMs, nowMs + rules.quarantineMs) },
  };
}

function worthKeeping(before: Patience, next: Patience): boolean {
  return (
    before.failures !== next.failures ||
    before.reverts !== next.reverts ||
    before.quarantine?.untilMs !== next.quarantine?.untilMs
  );
}
