/**
 * One tick: ask the sources, pass what they list through the firewall, consider each order, settle what was sent.
 * One order's trouble is that order's alone; one source's trouble is that source's alone.
 */
import type { WorldView } from './chain/world.ts';
import { consider } from './consider.ts';
import type { KeeperContext } from './context.ts';
import { type Admitted, admit, type Refusal } from './firewall/admit.ts';
import type { KnownProtocol } from './firewall/known-protocol.ts';
import { runBounded } from './loop.ts';
import { applyEvent, decide, settleAttempts } from './outcome.ts';
import { type Job, jobKeyOf } from './source/job.ts';
import type { SourceAnswer } from './source/job-source.ts';
import { Throttle } from './throttle.ts';

/** A tick starts no further order after this long; the rest comes first in nobody's way at the next tick. */
const TICK_BUDGET_MS = 20_000;
/** So many orders in a row that the chain did not answer for end the tick: it is the chain, not the orders. */
const FAULTS_UNTIL_CHAIN = 3;
const IDLE_WORLD_MS = 5_000;
const BUSY_WORLD_MS = 900;
const KEEP_MS = 30 * 86_400_000;
const PRUNE_EVERY_MS = 3_600_000;

export type Protocol = {
  known: () => KnownProtocol;
  /** Reads the registry again, at most once a minute: a basket may be newer than this process. */
  refresh: () => Promise<void>;
};

/** What the store said when the journal could not be written; at most one per order under way. */
type StoreFaults = { faults: unknown[] };

export type TickStatus = {
  lastTickMs: number | null;
  /** When any source last answered with a list. */
  sourceOkMs: number | null;
  sourceFault: string | null;
  storeFault: string | null;
};

export type Ticker = {
  tick(signal: AbortSignal): Promise<void>;
  status(): TickStatus;
};

/** SQLite's own codes; what carries none is judged by whether the journal takes a line. */
function isOfStore(fault: unknown): boolean {
  if (!(fault instanceof Error) || !('code' in fault)) return false;
  return typeof fault.code === 'string' && fault.code.startsWith('SQLITE_');
}

export function createTicker(options: {
  context: KeeperContext;
  world: WorldView;
  protocol: Protocol;
  poll: (signal: AbortSignal) => Promise<SourceAnswer[]>;
  concurrency: number;
}): Ticker {
  const { context, protocol } = options;
  const { logger, metrics, journal, now } = context;
  const alarms = new Throttle(600_000, 20, now);
  const complaints = new Throttle(60_000, 100, now);
  const status: TickStatus = {
    lastTickMs: null,
    sourceOkMs: null,
    sourceFault: null,
    storeFault: null,
  };
  let prunedMs = 0;

  async function refused(job: Job, why: Refusal, source: number, hostile: boolean): Promise<void> {
    metrics.jobsRefused.inc({ reason: why });
    if (!hostile) return;
    const key = jobKeyOf(job.contract, job.id);
    if (!alarms.lets(`${key}:${why}`)) return;
    await decide(context, key, 'refused', `${why} (source ${source}, type ${job.type})`);
  }

  async function admitAll(answers: readonly SourceAnswer[]): Promise<Map<string, Admitted[]>> {
    const orders = new Map<string, Admitted[]>();
    let unknownVault = false;
    for (const answer of answers) {
      if (answer.tag === 'failed') continue;
      const seen = new Set<string>();
      for (const job of answer.jobs) {
        const admission = admit(job, protocol.known(), context.executor);
        if (admission.tag === 'refused') {
          if (admission.why === 'unknown_vault') unknownVault = true;
          await refused(job, admission.why, answer.source, admission.hostile);
          continue;
        }
        const key = jobKeyOf(job.contract, job.id);
        // One listing of an order per source: a source may not put a hundred variants of one order before us.
        if (seen.has(key)) continue;
        seen.add(key);
        orders.set(key, [...(orders.get(key) ?? []), admission.job]);
      }
    }
    if (unknownVault) await protocol.refresh();
    return orders;
  }

  function noteAnswers(answers: readonly SourceAnswer[]): void {
    for (const answer of answers) {
      metrics.sourcePolls.inc({ result: answer.tag });
      if (answer.tag === 'failed') {
        status.sourceFault = `source ${answer.source}: ${answer.why}`;
        if (complaints.lets(`failed:${answer.source}`)) {
          logger.warn({ source: answer.source, why: answer.why }, 'a job source does not answer');
        }
        continue;
      }
      status.sourceOkMs = now();
      if (answer.malformed.length > 0) {
        metrics.jobsMalformed.inc(answer.malformed.length);
        if (complaints.lets(`malformed:${answer.source}`)) {
          const { source, malformed } = answer;
          logger.warn(
            { source, count: malformed.length, first: malformed[0] },
            'malformed jobs were left out',
          );
        }
      }
      if (answer.dropped > 0 && complaints.lets(`dropped:${answer.source}`)) {
        logger.warn({ source: answer.source, dropped: answer.dropped }, 'more jobs than are read');
      }
    }
  }

  /**
   * An unexpected fault is the order's own only where the journal can still be written: a full disk is nobody's fault
   * among the orders, and must not put them into quarantine.
   */
  async function noteFault(jobKey: string, fault: unknown, { faults }: StoreFaults): Promise<void> {
    try {
      if (isOfStore(fault)) throw fault;
      await decide(context, jobKey, 'failed', 'unexpected fault');
    } catch (error) {
      faults.push(error);
      await applyEvent(context, jobKey, { tag: 'unavailable' });
      return;
    }
    await applyEvent(context, jobKey, { tag: 'failed', reason: 'unexpected fault' });
  }

  async function considerAll(orders: Map<string, Admitted[]>): Promise<void> {
    const world = await options.world.read(orders.size > 0 ? BUSY_WORLD_MS : IDLE_WORLD_MS);
    if (world === null) return;
    metrics.headBlock.set(Number(world.blockNumber));
    metrics.ethPrice.set(Number(world.market.ethPrice ?? 0n) / 1e18);
    const endsAt = now() + TICK_BUDGET_MS;
    let faults = 0;
    const faulty: StoreFaults = { faults: [] };
    const dearest = (variants: readonly Admitted[]) =>
      variants.reduce((most, { promisedUsdg }) => (promisedUsdg > most ? promisedUsdg : most), 0n);
    const sorted = [...orders].sort(([, a], [, b]) => (dearest(b) > dearest(a) ? 1 : -1));
    await runBounded(
      sorted,
      options.concurrency,
      async ([jobKey, variants]) => {
        try {
          const considered = await consider(context, jobKey, variants, world);
          if (considered === 'chain_unavailable') faults += 1;
          else if (considered !== 'waited') faults = 0;
        } catch (err) {
          logger.error({ err, job: jobKey }, 'considering a job failed');
          await noteFault(jobKey, err, faulty);
        }
      },
      () => faulty.faults.length > 0 || faults >= FAULTS_UNTIL_CHAIN || now() > endsAt,
    );
    const [storeFault] = faulty.faults;
    if (storeFault !== undefined) throw storeFault;
  }

  return {
    status: () => ({ ...status }),
    async tick(signal) {
      const stopTimer = metrics.tickDuration.startTimer();
      const answers = await options.poll(signal);
      if (signal.aborted) return;
      noteAnswers(answers);
      try {
        const orders = await admitAll(answers);
        metrics.jobsListed.set(orders.size);
        await considerAll(orders);
        await settleAttempts(context, options.world.status().world?.market.ethPrice ?? null);
        if (now() - prunedMs > PRUNE_EVERY_MS) {
          prunedMs = now();
          await journal.prune(now() - KEEP_MS);
        }
        status.storeFault = null;
      } catch (error) {
        status.storeFault = error instanceof Error ? error.name : 'unknown fault';
        throw error;
      }
      metrics.jobsQuarantined.set(context.memories.quarantined(now()));
      metrics.ticks.inc({ result: 'ok' });
      stopTimer();
      status.lastTickMs = now();
    },
  };
}
