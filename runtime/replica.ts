/**
 * One process among several on one database: it leads or stands by. What must hold:
 * 1. A term begins after the lead was taken under a new epoch, and a new one not before the old has ended; of what the
 *    old one leaves behind the fence lets nothing through.
 * 2. A term whose lead is lost, or whose sender has stopped, ends at once, and the replica stands by for the next one.
 * 3. A replica that cannot begin its term gives the lead back: another one may reach what this one does not.
 */
import { faultLine } from './fault-line.ts';
import type { Logger } from './logger.ts';
import type { ReadinessResult } from './readiness.ts';
import { type Fence, type Lead, Overtaken } from './store/lead.ts';

/** What a process has while it leads. */
export type LeadTerm = {
  fence: Fence;
  /** Does nothing new, and lets what it began come to an end for at most `drainMs`. */
  end(drainMs: number): Promise<void>;
};

export type ReplicaStatus =
  | { tag: 'leads' }
  /** Another one leads. */
  | { tag: 'stands_by' }
  | { tag: 'takes_over' }
  /** It neither leads nor could it now: why. */
  | { tag: 'fails'; reason: string };

export type Replica<Term extends LeadTerm> = {
  /** Null while it does not lead. */
  term(): Term | null;
  status(): ReplicaStatus;
  /** Takes the lead where nobody has it. @throws what the start of the term throws; the lead is given back then */
  contend(): Promise<void>;
  /** Keeps the lead or stands by for it, until stopped. */
  run(): void;
  /** Looks at once whether the lead is lost. */
  nudge(): void;
  /** Ends the term after a drain of at most `drainMs`, and gives the lead to whoever stands by. */
  stop(drainMs: number): Promise<void>;
};

/** How often a standby asks for the lead, and a leader makes sure of it. */
const CLAIM_EVERY_MS = 1_000;
/** A replica that could not begin its term leaves the lead to others for so long. */
const PAUSE_AFTER_FAULT_MS = 5_000;

const TELLS: Record<ReplicaStatus['tag'], (process: string) => string> = {
  leads: (process) => `this ${process} leads`,
  stands_by: (process) => `standing by: another ${process} leads`,
  takes_over: () => 'taking the lead',
  fails: (process) => `this ${process} neither leads nor could it now`,
};

/** What `/ready` says of it: one that stands by is ready, and takes over by itself. */
export function leadReadiness(process: string, status: ReplicaStatus): ReadinessResult {
  switch (status.tag) {
    case 'leads':
      return { ok: true, note: 'leads' };
    case 'stands_by':
      return {
        ok: true,
        note: `standby: another ${process} leads; this one takes over when that one ends`,
      };
    case 'takes_over':
      return { ok: false, reason: 'it is taking the lead: the journal is being repaired' };
    case 'fails':
      return { ok: false, reason: status.reason };
  }
  return status satisfies never;
}

export function createReplica<Term extends LeadTerm>(options: {
  /** "keeper", "relayer": for the log. */
  process: string;
  lead: Lead;
  /** @param onFatal told when the term cannot go on: the lead is lost, or the journal is another's */
  begin: (fence: Fence, onFatal: (error: unknown) => void) => Promise<Term>;
  /** Told before a term's first tick. */
  onBegin: (term: Term) => void;
  onStatus: (status: ReplicaStatus) => void;
  logger: Logger;
}): Replica<Term> {
  const { lead, logger } = options;
  let term: Term | null = null;
  let status: ReplicaStatus = { tag: 'stands_by' };
  let told: ReplicaStatus['tag'] | null = null;
  /** The sender of this term has stopped for good. */
  let broken = false;
  const stopping = new AbortController();
  let wake: (() => void) | null = null;
  let nudged = false;
  let loop: Promise<void> | null = null;

  const become = (next: ReplicaStatus): void => {
    if (next.tag !== told) {
      told = next.tag;
      logger[next.tag === 'fails' ? 'error' : 'info'](next, TELLS[next.tag](options.process));
    }
    status = next;
    options.onStatus(next);
  };

  const nudge = (): void => {
    nudged = true;
    wake?.();
  };

  async function end(drainMs: number): Promise<void> {
    const ended = term;
    term = null;
    if (ended === null) return;
    try {
      await ended.end(drainMs);
    } catch (err) {
      // Expected where the lead was lost or the database is gone: what is left is the next leader's to repair.
      if (!(err instanceof Overtaken)) logger.warn({ err }, 'the end of the lead left work behind');
    }
  }

  async function begin(fence: Fence): Promise<void> {
    become({ tag: 'takes_over' });
    broken = false;
    let ofThis = true;
    try {
      const begun = await options.begin(fence, () => {
        if (!ofThis) return;
        broken = true;
        nudge();
      });
      term = begun;
      become({ tag: 'leads' });
      options.onBegin(begun);
    } catch (error) {
      ofThis = false;
      await end(0);
      become({ tag: 'fails', reason: `the lead could not be taken: ${faultLine(error)}` });
      await lead.release();
      throw error;
    }
  }

  async function contend(): Promise<void> {
    if (term !== null && (broken || !term.fence.holds())) {
      logger.warn(`this ${options.process} no longer leads: it stops sending and stands by`);
      become({ tag: 'stands_by' });
      await end(0);
      // With the lock still held, the next claim begins anew from the journal, as a restart would.
      await lead.release();
    }
    const taken = await lead.take();
    if (taken.tag === 'kept') return;
    await end(0);
    if (taken.tag === 'taken') return begin(taken.fence);
    const fault = lead.fault();
    become(
      fault === null
        ? { tag: 'stands_by' }
        : { tag: 'fails', reason: `the database does not answer: ${fault}` },
    );
  }

  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      let pause = CLAIM_EVERY_MS;
      nudged = false;
      try {
        await contend();
      } catch (err) {
        pause = PAUSE_AFTER_FAULT_MS;
        if (!(err instanceof Overtaken)) logger.error({ err }, 'the lead could not be taken');
      }
      if (nudged || stopping.signal.aborted) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pause);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      wake = null;
    }
  }

  return {
    term: () => term,
    status: () => status,
    contend,
    run: () => {
      loop ??= keep();
    },
    nudge,
    stop: async (drainMs) => {
      stopping.abort();
      wake?.();
      await loop;
      await end(drainMs);
      await lead.release();
    },
  };
}
