/**
 * The jobs that anyone may execute now: triggered exits and limit buys and due slots of schedules, each with real swaps
 * at current quotes. The store finds what is due at the marks' NAVs; its escrow confirms it at the block of the quotes.
 */

import type { Address } from 'viem';
import { type Hex, zeroAddress } from 'viem';
import { encodeFill } from '../../runtime/quotes/order-call.ts';
import { runBounded } from '../../runtime/run-bounded.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Snapshot } from '../marks/snapshot.ts';
import type { Service } from '../service.ts';
import { ScanBoard } from './board.ts';
import { DueTags } from './due-tags.ts';
import type { NavOf, PlacedOrder } from './due-index.ts';
import {
  type Candidate,
  type FillQuote,
  type Job,
  type JobType,
  quoteFills,
} from './quote-fills.ts';
import { comparePlaces, type Place, START, takeTurn } from './turns.ts';

type Skipped = { type: JobType; id: Hex; reason: string };

export type Scan = {
  /** The block's time, unix seconds. */
  chainTime: number;
  jobs: readonly Job[];
  skipped: readonly Skipped[];
};

/** Examined in one scan; who does not fit is first in the next (turns.ts). */
const MAX_EXAMINED = 200;
/** Lines that one answer gives of each reason that needs no look at the chain. */
const MAX_LINES = 100;
/**
 * Reads of one aggregated call stay within what public nodes let a call burn. What orders of one size and basket ask the
 * pools is asked once (fill-quote.ts), so that of those more fit.
 */
const QUOTES_PER_READ = 8;
const ORDERS_PER_READ = 32;
const READS_AT_ONCE = 4;
/** A scan that takes longer ends with what it has, and the next one goes on from there. */
const EXAMINE_MS = 4_000;
const SCAN_DEADLINE_MS = 10_000;

class JobScanner {
  readonly #service: Service;
  #next: Place = START;

  constructor(service: Service) {
    this.#service = service;
  }

  /** @throws ApiError UPSTREAM; what the store throws; the signal's reason once it is aborted. */
  async scan(signal: AbortSignal): Promise<Scan> {
    const { marks, due } = this.#service;
    const snapshot = marks.snapshot();
    const catalog = marks.catalog();
    const { chainTime } = snapshot;
    const navs = navsOf(snapshot, catalog);
    const skipped: Skipped[] = [];
    const skip = (all: readonly { type: JobType; id: Hex }[], reason: string) => {
      for (const { type, id } of all) skipped.push({ type, id, reason });
    };

    const expired = await due.expired(chainTime, MAX_LINES);
    skip(expired.map(named), 'expired: it can only be sent back to its owner');
    const ended = await due.ended(chainTime, MAX_LINES);
    skip(ended.map(scheduled), 'expired: what is left can only be sent back to its owner');
    for (const [reason, blind] of navs.blind) {
      const fetchBlind = fetchDue(this.#service, catalog, blind, chainTime);
      skip(await fetchBlind(START, MAX_LINES), `no valid 10-minute average NAV now (${reason})`);
    }

    const fetch = fetchDue(this.#service, catalog, navs.valid, chainTime);
    if (snapshot.paused) {
      skip(await fetch(START, MAX_LINES), 'the protocol is paused');
      return { chainTime, jobs: [], skipped };
    }
    const turn = await takeTurn(fetch, this.#next, MAX_EXAMINED, MAX_LINES);
    const { quotes, examined } = await this.#examine(turn.now, signal);
    // Only a scan that came to its end counts as a turn.
    this.#next = turn.next(examined);
    const jobs: Job[] = [];
    for (const { candidate, quote } of quotes) {
      if (quote.tag === 'job') jobs.push(quote.job);
      else skip([candidate], quote.reason);
    }
    const waiting = [...turn.now.slice(examined), ...turn.waiting].slice(0, MAX_LINES);
    skip(waiting, 'more are due than one answer examines: it is in the next one');
    return { chainTime, jobs, skipped };
  }

  /** Quotes in order until all are done or the time for it is over. Oldest first. */
  async #examine(
    candidates: readonly Candidate[],
    signal: AbortSignal,
  ): Promise<{ quotes: { candidate: Candidate; quote: FillQuote }[]; examined: number }> {
    const chunks = chunksOf(candidates);
    const startedAt = performance.now();
    const found = new Map<Candidate[], FillQuote[]>();
    await runBounded(
      chunks,
      READS_AT_ONCE,
      async (chunk) => void found.set(chunk, await quoteFills(this.#service, chunk)),
      () => signal.aborted || performance.now() - startedAt >= EXAMINE_MS,
    );
    signal.throwIfAborted();
    // Begun in their order and awaited: those that are there are the first ones.
    const quotes = chunks.flatMap((chunk) =>
      (found.get(chunk) ?? []).flatMap((quote, index) => {
        const candidate = chunk[index];
        return candidate === undefined ? [] : [{ candidate, quote }];
      }),
    );
    const oldestFirst = quotes.toSorted((a, b) =>
      comparePlaces(a.candidate.place, b.candidate.place),
    );
    return { quotes: oldestFirst, examined: quotes.length };
  }
}

/** In their order, as many to each as one aggregated call may ask for. */
export function chunksOf<T extends Pick<Candidate, 'type' | 'amount' | 'basket'>>(
  candidates: readonly T[],
): T[][] {
  const chunks: T[][] = [];
  const quotes = new Set<string>();
  let chunk: T[] = [];
  for (const candidate of candidates) {
    const { type, amount, basket } = candidate;
    const quote = `${basket.vault}:${type === 'sell'}:${amount}`;
    const isFull = !quotes.has(quote) && quotes.size >= QUOTES_PER_READ;
    if (chunk.length === 0 || isFull || chunk.length >= ORDERS_PER_READ) {
      chunk = [];
      chunks.push(chunk);
      quotes.clear();
    }
    quotes.add(quote);
    chunk.push(candidate);
  }
  return chunks;
}

/** The board that `/v1/jobs` is answered from. */
export function jobBoard(service: Service): ScanBoard<Scan> {
  const scanner = new JobScanner(service);
  return new ScanBoard({
    run: (signal) => scanner.scan(signal),
    ...freshness(service),
  });
}

/** What is due, without a look at the chain. */
export type DueNow = {
  /** The block's time, unix seconds. */
  chainTime: number;
  /** Stands for the orders and slots that are due. */
  tag: string;
  /** What it was found at. */
  version: string;
};

/** The board that `/v1/jobs/changes` is answered from, and what tells its tags apart. */
export function dueBoard(service: Service): { board: ScanBoard<DueNow>; tags: DueTags } {
  const tags = new DueTags();
  const fresh = freshness(service);
  const due = async (): Promise<DueNow> => {
    const { marks } = service;
    const version = fresh.version();
    const snapshot = marks.snapshot();
    const catalog = marks.catalog();
    const { chainTime, paused } = snapshot;
    const fetch = fetchDue(service, catalog, navsOf(snapshot, catalog).valid, chainTime);
    const found = paused ? [] : await fetch(START, MAX_EXAMINED + MAX_LINES);
    const names = new Set(found.map(({ escrow, id, slot }) => `${escrow}:${id}:${slot}`));
    return { chainTime, tag: tags.tagOf(names), version };
  };
  return { board: new ScanBoard({ run: due, ...fresh }), tags };
}

/** When a scan would find something else. */
const freshness = ({ marks, indexer }: Service) => ({
  version: () => `${marks.snapshot().version}:${indexer.generation}`,
  outOfReach: () => marks.outOfReach(),
  deadlineMs: SCAN_DEADLINE_MS,
});

/** Which NAV triggers in each basket: the reference; where there is none, the spot NAV tells what would be due. */
function navsOf(
  snapshot: Snapshot,
  catalog: Catalog,
): { valid: NavOf[]; blind: Map<string, NavOf[]> } {
  const valid: NavOf[] = [];
  const blind = new Map<string, NavOf[]>();
  for (const { vault } of catalog.baskets) {
    const mark = snapshot.marks.get(vault);
    if (mark === undefined) continue;
    if (mark.reference.ok) {
      valid.push({ vault, nav: mark.reference.nav });
    } else if (mark.nav !== null) {
      const { reason } = mark.reference;
      blind.set(reason, [...(blind.get(reason) ?? []), { vault, nav: mark.nav }]);
    }
  }
  return { valid, blind };
}

/** Orders and slots that are due, oldest first. */
function fetchDue(
  service: Service,
  catalog: Catalog,
  navs: readonly NavOf[],
  chainTime: number,
): (after: Place, limit: number) => Promise<Candidate[]> {
  const { due, deployment } = service;
  const { scheduleEscrow } = deployment;
  const vaults = navs.map(({ vault }) => vault);
  return async (after, limit) => {
    const [orders, slots] = await Promise.all([
      due.orders(navs, chainTime, after, limit),
      due.slots(vaults, chainTime, after, limit),
    ]);
    const found = [
      ...orders.map((order) => ({ ...order, ...named(order), slot: null })),
      ...slots.map((slot) => ({ ...slot, ...scheduled(slot.id), escrow: scheduleEscrow })),
    ];
    return found
      .toSorted((a, b) => comparePlaces(a.place, b.place))
      .slice(0, limit)
      .flatMap(({ type, id, escrow, vault, amount, slot, place }): Candidate[] => {
        const basket = catalog.byVault(vault);
        return basket === null ? [] : [{ type, id, escrow, basket, amount, slot, place }];
      });
  };
}

function named({ kind, id }: Pick<PlacedOrder, 'kind' | 'id'>): { type: JobType; id: Hex } {
  return { type: kind === 'exit' ? 'sell' : 'limit', id };
}

function scheduled(id: Hex): { type: JobType; id: Hex } {
  return { type: 'schedule', id };
}

/** Calldata of a fill that pays `executor`; the zero address means whoever sends it. */
export function fillData(job: Job, executor: Address = zeroAddress): Hex {
  return encodeFill(job.id, job.swaps, executor);
}
