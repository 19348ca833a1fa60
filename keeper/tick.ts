/**
 * One tick: ask the sources, pass what they list through the firewall, consider each order, settle what was sent.
 * One order's trouble is that order's alone; one source's trouble is that source's alone.
 */
import type { Address } from 'viem';
import type { World, WorldView } from './chain/world.ts';
import { type Ready, sendReady } from './batch.ts';
import { type Collect, consider } from './consider.ts';
import type { KeeperContext } from './context.ts';
import { createCoverWaits } from './cover-waits.ts';
import { createMadeUp } from './made-up.ts';
import type { TickContext } from './tick-context.ts';
import { createTimelines } from './timelines.ts';
import { type Admission, admit } from './firewall/admit.ts';
import { admitCover } from './firewall/admit-cover.ts';
import type { KnownProtocol } from './firewall/known-protocol.ts';
import { applyEvent, decide, settleAttempts } from './outcome.ts';
import { createPayouts, type ReadyPayout } from './payouts.ts';
import { inRounds, type Listed, takeTurns, Turns } from './policy/turns.ts';
import type { Considered } from './send.ts';
import type { SourceAnswer } from './source/job-source.ts';
import { runBounded } from '../runtime/run-bounded.ts';
import { Throttle } from '../runtime/throttle.ts';
import type { Distrust } from './distrust.ts';
import { runsTogether } from './variants.ts';
import { type CoverType, type Work, workKeyOf } from './work.ts';

/** A tick starts no further order after this long. */
const TICK_BUDGET_MS = 20_000;
/**
 * What comes after the orders has a share of its own each: a chain that answers slowly, or a source that lists what
 * takes long, uses up the tick's time every time, and what was found to pay would never be sent.
 */
const SEND_SHARE_MS = 5_000;
const SETTLE_SHARE_MS = 5_000;
/** So many orders in a row that the chain did not answer for end the tick: it is the chain, not the orders. */
const FAULTS_UNTIL_CHAIN = 3;
/** Batches on their way to the wire: each waits for the disk and the node, and keeps nobody from finding more. */
const MOST_SENDING = 16;
/** What says nothing of whether the chain answers, or that it does not. */
const UNANSWERED: ReadonlySet<Considered> = new Set([
  'waited',
  'under_way',
  'not_sent',
  'chain_unavailable',
]);
const IDLE_WORLD_MS = 5_000;
/** What is judged by a block so much older than the newest would be out of date before it is sent. */
const OLD_WORLD_SECONDS = 20;
const BUSY_WORLD_MS = 900;

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
  /** Which cover work waits for too long, in words; null when none does. */
  coverWaits: string | null;
};

export type Ticker = {
  tick(signal: AbortSignal): Promise<void>;
  status(): TickStatus;
  /**
   * Whether all that the last tick was told of is under way, and whoever told it tells too when there is more: until
   * then a look finds what is known.
   */
  hasAllUnderWay(): boolean;
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
  distrust: Distrust;
  /** Whether a source says by itself when more comes due. */
  isWatched: (source: number) => boolean;
  concurrency: number;
  /** Timelines that a source may begin in a minute for jobs that do not run; default: timelines.ts. */
  timelinesPerMinute?: number;
}): Ticker {
  const { protocol, distrust, timelinesPerMinute: perMinute } = options;
  const { logger, metrics, now } = options.context;
  const context: TickContext = {
    ...options.context,
    madeUp: createMadeUp(distrust, now),
    timelines: createTimelines({
      logger,
      metrics,
      now,
      ...(perMinute === undefined ? {} : { perMinute }),
    }),
  };
  let allUnderWay = false;
  const payouts = createPayouts(context, distrust.own);
  const coverWaits = createCoverWaits({ metrics, now });
  // A source may say any time.
  const rereads = new Throttle(5_000, 1, now);
  const alarms = new Throttle(600_000, 20, now);
  const complaints = new Throttle(60_000, 100, now);
  const status: TickStatus = {
    lastTickMs: null,
    sourceOkMs: null,
    sourceFault: null,
    storeFault: null,
    coverWaits: null,
  };

  /** From now on: whether so long has passed, or the keeper stops. */
  const overAfter = (ms: number, signal: AbortSignal): (() => boolean) => {
    const endsAt = now() + ms;
    return () => signal.aborted || now() > endsAt;
  };

  async function refused(
    listed: { contract: Address; id: string; type: string },
    key: string,
    admission: Extract<Admission, { tag: 'refused' }>,
    source: number,
  ): Promise<void> {
    const { why, hostile } = admission;
    metrics.jobsRefused.inc({ reason: why });
    if (!hostile) return;
    distrust.strike(source, `${why}:${key}`);
    if (!alarms.lets(`${key}:${why}`)) return;
    await decide(context, key, 'refused', `${why} (source ${source}, type ${listed.type})`);
  }

  /** @param onFirst told as soon as there is work */
  async function admitAll(
    answers: readonly SourceAnswer[],
    onFirst: () => void,
  ): Promise<Map<string, Work[]>> {
    const found = new Map<string, Work[]>();
    let unknownVault = false;
    for (const answer of answers) {
      if (answer.tag === 'failed') continue;
      const { source } = answer;
      const seen = new Set<string>();
      const take = async (
        listed: { contract: Address; id: string; type: string },
        key: string,
        admission: Admission,
      ): Promise<void> => {
        if (admission.tag === 'refused') {
          if (admission.why === 'unknown_vault') unknownVault = true;
          await refused(listed, key, admission, source);
          return;
        }
        // One listing of a job per source: a source may not put a hundred variants of one job before us.
        if (seen.has(key)) return;
        seen.add(key);
        if (found.size === 0) onFirst();
        found.set(key, [...(found.get(key) ?? []), admission.work]);
      };
      for (const job of answer.jobs) {
        const admission = admit(job, protocol.known(), context.executor, source);
        await take(job, workKeyOf(job.contract, job.id), admission);
      }
      for (const payout of answer.payouts) {
        const admission = admitCover(payout, protocol.known(), context.executor, source);
        const type: CoverType = payout.type;
        await take(payout, workKeyOf(payout.contract, payout.id, type), admission);
      }
    }
    if (unknownVault) await protocol.refresh();
    return found;
  }

  function noteAnswers(answers: readonly SourceAnswer[]): void {
    context.madeUp.hear(answers);
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
      if (answer.payoutFault !== null && complaints.lets(`payouts:${answer.source}`)) {
        const { source, payoutFault } = answer;
        logger.warn({ source, why: payoutFault }, 'a source tells its jobs and not its payouts');
      }
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
   * among the orders, and must not put them into quarantine. Never throws: others are being sent, and a tick that ended
   * before them would be followed by one that sends them again.
   */
  async function noteFault(jobKey: string, fault: unknown, { faults }: StoreFaults): Promise<void> {
    try {
      if (isOfStore(fault)) throw fault;
      await decide(context, jobKey, 'failed', 'unexpected fault');
      await applyEvent(context, jobKey, { tag: 'failed', reason: 'unexpected fault' });
    } catch (error) {
      faults.push(error);
      // expected: what cannot be written can often not be read either; the tick ends with the first fault
      await applyEvent(context, jobKey, { tag: 'unavailable' }).catch(() => undefined);
    }
  }

  /** The chain as the work is judged by: read again where a source tells of a much later block. */
  async function worldFor(
    orders: ReadonlyMap<string, unknown>,
    answers: readonly SourceAnswer[],
    begun: Promise<World | null> | null,
  ): Promise<World | null> {
    const world = await (begun ?? options.world.read(IDLE_WORLD_MS));
    const newest = answers.reduce(
      (most, answer) => Math.max(most, (answer.tag === 'jobs' && answer.asOf?.newest) || 0),
      0,
    );
    const isOld = world !== null && newest > Number(world.timestamp) + OLD_WORLD_SECONDS;
    return isOld && orders.size > 0 && rereads.lets('head') ? options.world.read(0) : world;
  }

  /** Returns how many of them are under way afterwards. */
  async function considerAll(
    orders: Map<string, Work[]>,
    answers: readonly SourceAnswer[],
    reading: Promise<World | null> | null,
    signal: AbortSignal,
  ): Promise<number> {
    const world = await worldFor(orders, answers, reading);
    if (world === null) return 0;
    metrics.headBlock.set(Number(world.blockNumber));
    metrics.ethPrice.set(Number(world.market.ethPrice ?? 0n) / 1e18);
    const isOver = overAfter(TICK_BUDGET_MS, signal);
    let faults = 0;
    let underWay = 0;
    const faulty: StoreFaults = { faults: [] };
    const turns = new Turns();
    const ready: Ready[] = [];
    const readyPayouts: ReadyPayout[] = [];
    const collect: Collect = {
      addFill: (fill) => ready.push(fill),
      addPayout: (payout) => readyPayouts.push(payout),
    };
    const faulted = async (jobKey: string, err: unknown): Promise<void> => {
      logger.error({ err, job: jobKey }, 'considering a job failed');
      await noteFault(jobKey, err, faulty);
    };
    const sending = new Set<Promise<void>>();
    const records: (() => Promise<void>)[] = [];
    /** Begins to send what is ready; who has found it goes on meanwhile. */
    const sendCollected = async (): Promise<void> => {
      while (sending.size >= MOST_SENDING) await Promise.race(sending);
      const sent = sendReady(
        context,
        ready.splice(0),
        world,
        { fault: faulted, sent: (record) => void records.push(record) },
        overAfter(SEND_SHARE_MS, signal),
      )
        .then((count) => {
          underWay += count;
        })
        .catch((fault: unknown) => {
          faulty.faults.push(fault);
        })
        .finally(() => sending.delete(sent));
      sending.add(sent);
      // One at a time is one after the other: the next is judged on a chain that has this one.
      if (options.concurrency === 1) await sent;
    };
    const considerOne = async ([jobKey, listed]: Listed): Promise<Considered> => {
      // A source may have lost its turns, or its name, within this very tick.
      const variants = listed
        .filter(({ source }) => !distrust.isDropped(source))
        .toSorted((a, b) => Number(b.source === distrust.own) - Number(a.source === distrust.own));
      if (!(await turns.begin(variants))) return 'waited';
      let fruitless = false;
      try {
        const considered = await consider(context, variants, world, collect);
        fruitless = considered === 'decided';
        if (considered === 'sent' || considered === 'under_way') underWay += 1;
        if (ready.length >= context.batchMax) await sendCollected();
        return considered;
      } catch (err) {
        await faulted(jobKey, err);
        return 'not_sent';
      } finally {
        turns.end(variants, fruitless);
      }
    };
    /** A round in which nobody was answered is one fault, of however many orders it was. */
    const considerRound = async (round: readonly Listed[]): Promise<void> => {
      const considered = await Promise.all(round.map(considerOne));
      if (considered.some((one) => !UNANSWERED.has(one))) faults = 0;
      else if (considered.includes('chain_unavailable')) faults += 1;
    };
    try {
      await runBounded(
        inRounds(takeTurns(orders, distrust.own), runsTogether, context.batchMax),
        options.concurrency,
        considerRound,
        () => faulty.faults.length > 0 || faults >= FAULTS_UNTIL_CHAIN || isOver(),
      );
      await sendCollected();
    } finally {
      // The next tick must find them in the journal as they are. Each record tells of its own fault.
      await Promise.all(sending);
      await Promise.all(records.map((record) => record()));
    }
    await payouts.send(readyPayouts, faulted, () => signal.aborted);
    const [storeFault] = faulty.faults;
    if (storeFault !== undefined) throw storeFault;
    return underWay;
  }

  return {
    status: () => ({ ...status, coverWaits: coverWaits.warning() }),
    hasAllUnderWay: () => allUnderWay,
    async tick(signal) {
      const stopTimer = metrics.tickDuration.startTimer();
      allUnderWay = false;
      const answers = await options.poll(signal);
      if (signal.aborted) return;
      noteAnswers(answers);
      try {
        // The chain is asked while the rest is still being admitted.
        let reading: Promise<World | null> | null = null;
        const orders = await admitAll(answers, () => {
          reading = options.world.read(BUSY_WORLD_MS);
        });
        metrics.jobsListed.set(orders.size);
        coverWaits.saw(orders.values());
        const underWay = await considerAll(orders, answers, reading, signal);
        allUnderWay =
          underWay > 0 &&
          underWay === orders.size &&
          answers.every(({ tag, source }) => tag === 'jobs' && options.isWatched(source));
        const ethPrice = options.world.status().world?.market.ethPrice ?? null;
        await settleAttempts(context, ethPrice, overAfter(SETTLE_SHARE_MS, signal));
        await context.dutyBudget.look();
        status.storeFault = null;
      } catch (error) {
        status.storeFault = error instanceof Error ? error.name : 'unknown fault';
        throw error;
      }
      metrics.foreignStopped.set(context.foreign.stopped());
      metrics.jobsQuarantined.set(context.memories.quarantined(now()));
      metrics.ticks.inc({ result: 'ok' });
      stopTimer();
      status.lastTickMs = now();
    },
  };
}
