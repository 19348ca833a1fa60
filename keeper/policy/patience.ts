/**
 * When a job may be tried again. Pure. Times in unix milliseconds by this machine.
 *
 * What must hold:
 * - what is expected (not due, does not pay, lost, paused) waits briefly and is never quarantined;
 * - what fails by itself waits longer each time, then is quarantined with a reason;
 * - a quarantine ends with time, or earlier on probation when what the source says of the job has changed; where gas
 *   was lost, probation comes later each time, since the source decides what it says;
 * - a fault of our own surroundings (RPC, wallet) blames no job.
 */

export type Patience = {
  /** Tries in a row that ended the same expected way. */
  misses: number;
  /** Simulations that failed in a row. */
  failures: number;
  /** Transactions that reverted on chain since the last one that did its work: those cost gas. */
  reverts: number;
  notBeforeMs: number;
  quarantine: Quarantine | null;
};

type Quarantine = {
  reason: string;
  sinceMs: number;
  untilMs: number;
  fingerprint: string;
  /** Least time in it before a change of the job's terms may end it; absent in what an older version wrote. */
  probationMs?: number;
};

export type PatienceEvent =
  | { tag: 'not_due' }
  | { tag: 'does_not_pay' }
  | { tag: 'closed' }
  | { tag: 'paused' }
  | { tag: 'unavailable' }
  /** Something is under way or due at a known time. */
  | { tag: 'wait'; ms: number }
  | { tag: 'failed'; reason: string }
  | { tag: 'reverted_on_chain'; reason: string }
  /** A transaction is under way. */
  | { tag: 'progress' }
  /** A transaction did the job's work on chain. */
  | { tag: 'executed' };

export type PatienceRules = {
  failuresUntilQuarantine: number;
  revertsUntilQuarantine: number;
  quarantineMs: number;
  /** Least time in quarantine before a change of the job's terms may end it; doubled with each revert on chain. */
  probationMs: number;
};

export const PATIENCE_RULES: PatienceRules = {
  failuresUntilQuarantine: 7,
  revertsUntilQuarantine: 3,
  quarantineMs: 1_800_000,
  probationMs: 30_000,
};

/** No wait but a quarantine is longer. */
export const LONGEST_WAIT_MS = 300_000;

/** After one failure: a node that was between two blocks answers out of both, and a competitor does not wait. */
const ONCE_MS = 500;

export const FRESH: Patience = {
  misses: 0,
  failures: 0,
  reverts: 0,
  notBeforeMs: 0,
  quarantine: null,
};

export type Gate =
  | { tag: 'go'; onProbation: boolean }
  | { tag: 'wait'; untilMs: number; quarantined: string | null };

/** `firstMs` doubled (or grown by `factor`) with every repeat, at most `mostMs`. */
export function backoff(repeats: number, firstMs: number, mostMs: number, factor = 2): number {
  return Math.min(mostMs, Math.round(firstMs * factor ** Math.min(repeats, 40)));
}

/** Whether the job may be tried now. `fingerprint` stands for everything the source says of it. */
export function gate(
  patience: Patience,
  fingerprint: string,
  nowMs: number,
  rules: PatienceRules,
): Gate {
  const { quarantine, notBeforeMs } = patience;
  if (quarantine !== null && nowMs < quarantine.untilMs) {
    const changed = fingerprint !== quarantine.fingerprint;
    if (changed && nowMs >= quarantine.sinceMs + (quarantine.probationMs ?? rules.probationMs))
      return { tag: 'go', onProbation: true };
    return { tag: 'wait', untilMs: quarantine.untilMs, quarantined: quarantine.reason };
  }
  if (nowMs < notBeforeMs) return { tag: 'wait', untilMs: notBeforeMs, quarantined: null };
  return { tag: 'go', onProbation: false };
}

/** What a try's outcome makes of the job's patience. */
export function after(
  patience: Patience,
  event: PatienceEvent,
  fingerprint: string,
  nowMs: number,
  rules: PatienceRules,
): Patience {
  const repeats = patience.misses;
  const miss = (ms: number): Patience => ({
    ...patience,
    misses: repeats + 1,
    failures: 0,
    notBeforeMs: nowMs + ms,
    quarantine: null,
  });
  switch (event.tag) {
    case 'not_due':
      return miss(backoff(repeats, 1_000, 10_000, 1.5));
    case 'does_not_pay':
      return miss(backoff(repeats, 2_000, 15_000, 1.5));
    case 'closed':
      return miss(backoff(repeats, 5_000, 60_000));
    case 'paused':
      return miss(backoff(repeats, 5_000, 30_000));
    case 'unavailable':
      // Neither a success nor the job's failure: what was known of it stays. The wait grows a little all the same,
      // so that one job that makes every node time out leaves room for the others.
      return {
        ...patience,
        misses: repeats + 1,
        notBeforeMs: nowMs + backoff(repeats, 1_000, 10_000),
      };
    case 'wait':
      return { ...patience, notBeforeMs: nowMs + event.ms };
    case 'progress':
      return { ...FRESH, reverts: patience.reverts };
    case 'executed':
      return { ...FRESH, notBeforeMs: patience.notBeforeMs };
    case 'failed': {
      const failures = patience.failures + 1;
      const next = {
        ...patience,
        misses: 0,
        failures,
        notBeforeMs:
          nowMs + (failures === 1 ? ONCE_MS : backoff(failures - 2, 2_000, LONGEST_WAIT_MS)),
      };
      return failures >= rules.failuresUntilQuarantine
        ? quarantined(next, event.reason, fingerprint, nowMs, rules, rules.probationMs)
        : { ...next, quarantine: null };
    }
    case 'reverted_on_chain':
      break;
  }
  const reverts = patience.reverts + 1;
  const next = {
    ...patience,
    misses: 0,
    reverts,
    notBeforeMs: nowMs + backoff(reverts - 1, 15_000, LONGEST_WAIT_MS),
  };
  if (reverts < rules.revertsUntilQuarantine) return { ...next, quarantine: null };
  const relapses = reverts - rules.revertsUntilQuarantine;
  const probationMs = backoff(relapses, rules.probationMs, rules.quarantineMs);
  return quarantined(next, event.reason, fingerprint, nowMs, rules, probationMs);
}

function quarantined(
  patience: Patience,
  reason: string,
  fingerprint: string,
  nowMs: number,
  rules: PatienceRules,
  probationMs: number,
): Patience {
  const untilMs = nowMs + rules.quarantineMs;
  return { ...patience, quarantine: { reason, sinceMs: nowMs, untilMs, fingerprint, probationMs } };
}
