/**
 * A job source of our own, straight from the chain: what is open from the events, what of it is due by the oracle's
 * NAVs, and swaps by the quoter. It is believed no more than any other source: all of it passes the firewall.
 */
import { type Address, zeroAddress } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { optional, ReadBatch } from '../../runtime/chain/read-batch.ts';
import { faultLine } from '../../runtime/fault-line.ts';
import { planFill, type SharedQuotes } from '../../runtime/quotes/fill-quote.ts';
import { encodeArm, encodeFill } from '../../runtime/quotes/order-call.ts';
import type { Job } from '../source/job.ts';
import type { SourceAnswer } from '../source/job-source.ts';
import type { ListedPayout } from '../source/payout.ts';
import { Throttle } from '../../runtime/throttle.ts';
import { type KnownBasket, readBaskets } from './baskets.ts';
import { dueCover, marketsUnderWay, noteOver, runCover } from './cover.ts';
import { type Candidate, dueFills, takeTurn } from './due.ts';
import { type FollowOptions, Follower } from './follow.ts';
import { type BasketNow, type Look, lookAt, type Placed, type Wanted } from './look.ts';

/** Open orders, schedules and positions that are held. */
const MOST_OPEN = 50_000;
/** While something is due, the chain is looked at as often as this. */
const BUSY_MS = 1_000;
/** Events are read at every so manieth look. */
const LOOKS_PER_READ = 2;
/** Reading the events takes so much of a tick at most, with and without other sources; the next tick goes on. */
const READ_BUDGET_MS = 5_000;
const IDLE_READ_BUDGET_MS = 500;
/** While other sources answer, the events are read as often as this. */
const STAND_BY_MS = 30_000;
/** New pools are found within this time; a basket that is not known is looked for at most once a minute. */
const BASKETS_EVERY_MS = 600_000;
const UNKNOWN_BASKET_EVERY_MS = 60_000;
/** Quoted in one look; who does not fit is first in the next. */
const MAX_QUOTED = 64;
/** Reads of one aggregated call stay within what public nodes let a call burn. */
const FILLS_PER_CALL = 8;
const CALLS_AT_ONCE = 4;
const POSITIONS_PER_LOOK = 200;
/** IOrderEscrow.State: what follows Open is an end. */
const STATE_OPEN = 1;

export type DiscoveryOptions = Omit<FollowOptions, 'most'> & {
  /** Its index among the sources. */
  source: number;
  /** Time between two looks while nothing is due. */
  everyMs: number;
};

export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #follower: Follower;
  #answer: SourceAnswer | null = null;
  #answeredMs = 0;
  #looks = 0;
  #caughtUp = false;
  /** When it last read on, or tried to, while other sources answered. */
  #stoodByMs: number | null = null;
  #look: Look | null = null;
  /** By position, with the block of its sale: after a reorg another one may have its number. */
  #placed = new Map<bigint, Placed & { block: number }>();
  #doubtful: readonly bigint[] = [];
  readonly #over = new Set<string>();
  #after: Candidate | null = null;
  readonly #complaints: Throttle;
  #baskets: Map<Address, KnownBasket> = new Map();
  #basketsMs: number | null = null;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#follower = new Follower({ ...options, most: MOST_OPEN });
    this.#complaints = new Throttle(60_000, 10, options.now);
  }

  /** What is due now; looks at the chain as often as its pace allows and answers the same until then. Never throws. */
  async list(signal: AbortSignal): Promise<SourceAnswer> {
    const { now, everyMs, source } = this.#options;
    const held = this.#answer;
    const pace = held !== null && isBusy(held) ? Math.min(BUSY_MS, everyMs) : everyMs;
    if (held !== null && now() - this.#answeredMs < pace) return held;
    let answer: SourceAnswer;
    try {
      answer = await this.#lookAround(signal);
    } catch (error) {
      // Expected: the chain or the store is out of reach. The next look asks again.
      answer = { tag: 'failed', source, why: faultLine(error) };
    }
    this.#answer = answer;
    this.#answeredMs = now();
    return answer;
  }

  /** Keeps the book in step while other sources answer, so that it is there when they do not. Never throws. */
  async standBy(signal: AbortSignal): Promise<void> {
    const { client, now, logger } = this.#options;
    const waited = this.#stoodByMs === null ? STAND_BY_MS : now() - this.#stoodByMs;
    if (waited < STAND_BY_MS) return;
    try {
      const head = Number(await client.getBlockNumber());
      await this.#read(head, IDLE_READ_BUDGET_MS, signal);
      // Until the head is reached, each tick reads on for a moment.
      if (!this.#caughtUp) return;
    } catch (err) {
      // Expected: as in `list`.
      logger.debug({ err }, 'discovery could not read on');
    }
    this.#stoodByMs = now();
  }

  async #read(head: number, budgetMs: number, signal: AbortSignal): Promise<void> {
    this.#caughtUp = await this.#follower.advance(head, budgetMs, signal);
  }

  /** What is known already is told even while a node gives no logs. */
  async #readOn(head: number, signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    try {
      await this.#read(head, READ_BUDGET_MS, signal);
    } catch (err) {
      // Expected: a node that refuses even single blocks, or a store that is out of order. Read again at the next look.
      this.#caughtUp = false;
      if (this.#complaints.lets('read')) {
        logger.warn({ err }, 'discovery cannot read the events: newer orders are not found');
      }
    }
  }

  async #lookAround(signal: AbortSignal): Promise<SourceAnswer> {
    const { client, deployment, source } = this.#options;
    let look = await lookAt(client, deployment, this.#wanted());
    this.#note(look);
    if (!this.#caughtUp || this.#looks % LOOKS_PER_READ === 0) {
      await this.#readOn(look.block, signal);
    }
    this.#looks += 1;
    const wanted = this.#wanted();
    if (isMore(wanted, look)) {
      look = await lookAt(client, deployment, wanted);
      this.#note(look);
    }
    const jobs = look.paused ? [] : await this.#fills(look, signal);
    const cover = await this.#cover(look);
    const { dropped } = this.#follower.book;
    const asOf = { oldest: look.time, newest: look.time };
    const tellsCover = cover.payoutFault === null;
    return { tag: 'jobs', source, jobs, ...cover, tellsCover, malformed: [], dropped, asOf };
  }

  #wanted(): Wanted {
    const vaults = new Set<Address>();
    const positions: bigint[] = [];
    for (const item of this.#follower.book.items()) {
      if (item.kind !== 'position') vaults.add(item.vault);
      else if (this.#placed.get(item.id)?.block !== item.block) positions.push(item.id);
    }
    return {
      vaults: [...vaults],
      markets:
        this.#look === null ? [] : marketsUnderWay(this.#look, this.#over, this.#placed.values()),
      positions: [...positions, ...this.#doubtful].slice(0, POSITIONS_PER_LOOK),
    };
  }

  #note(look: Look): void {
    this.#look = look;
    this.#doubtful = [];
    for (const [id, placed] of look.placed) {
      const item = this.#follower.book.get(`position:${id}`);
      if (item === null) continue;
      if (placed.paid) this.#follower.forget(`position:${id}`);
      else this.#placed.set(id, { ...placed, block: item.block });
    }
  }

  async #fills(look: Look, signal: AbortSignal): Promise<Job[]> {
    const references = new Map<Address, bigint>();
    for (const [vault, { reference }] of look.baskets) {
      if (reference !== null) references.set(vault, reference);
    }
    const { deployment } = this.#options;
    const due = dueFills(this.#follower.book.items(), references, look.time, deployment);
    const turn = takeTurn(due, this.#after, MAX_QUOTED);
    this.#after = turn.at(-1) ?? null;
    if (turn.length === 0) return [];
    await this.#knowBaskets(turn);
    const jobs: Job[] = [];
    for (let start = 0; start < turn.length; start += FILLS_PER_CALL * CALLS_AT_ONCE) {
      signal.throwIfAborted();
      const wave = turn.slice(start, start + FILLS_PER_CALL * CALLS_AT_ONCE);
      const chunks = Array.from({ length: Math.ceil(wave.length / FILLS_PER_CALL) }, (_, index) =>
        wave.slice(index * FILLS_PER_CALL, (index + 1) * FILLS_PER_CALL),
      );
      const quoted = await Promise.all(chunks.map((chunk) => this.#quote(chunk, look.baskets)));
      jobs.push(...quoted.flat());
    }
    return jobs;
  }

  async #knowBaskets(turn: readonly Candidate[]): Promise<void> {
    const { client, deployment, now } = this.#options;
    const age = this.#basketsMs === null ? Number.POSITIVE_INFINITY : now() - this.#basketsMs;
    const unknown = turn.some(({ vault }) => !this.#baskets.has(vault));
    if (age < (unknown ? UNKNOWN_BASKET_EVERY_MS : BASKETS_EVERY_MS)) return;
    this.#baskets = await readBaskets(client, deployment);
    this.#basketsMs = now();
  }

  /** One aggregated call. */
  async #quote(
    chunk: readonly Candidate[],
    baskets: ReadonlyMap<Address, BasketNow>,
  ): Promise<Job[]> {
    const { client, deployment, logger } = this.#options;
    const batch = new ReadBatch();
    const shared: SharedQuotes = new Map();
    const planned = chunk.flatMap((candidate) => {
      const basket = this.#baskets.get(candidate.vault);
      const now = baskets.get(candidate.vault);
      if (basket === undefined || now === undefined) return [];
      const { escrow, id } = candidate;
      const state = batch.add({
        to: escrow,
        abi: exitEscrowAbi,
        functionName: 'stateOf',
        args: [id],
      });
      const quote = planFill(batch, deployment, basket, now, candidate, shared);
      return [{ candidate, basket, state, quote }];
    });
    if (planned.length === 0) return [];
    await batch.send(client, deployment.multicall3);
    return planned.flatMap(({ candidate, basket, state, quote }): Job[] => {
      const { type, id, escrow, key } = candidate;
      // Only a node that has seen the end says so; that it is unknown may be a node's that lags behind.
      if ((optional(state) ?? STATE_OPEN) > STATE_OPEN) {
        this.#follower.forget(key);
        return [];
      }
      const fill = quote();
      if (fill.tag === 'skip') {
        logger.debug({ id, reason: fill.reason }, 'discovery leaves out what is due');
        return [];
      }
      const { feeUsdg, slippageBps, swaps } = fill;
      const tx = { to: escrow, data: encodeFill(id, swaps, zeroAddress), value: 0n };
      const { ticker, vault } = basket;
      const armData = encodeArm(id);
      return [{ type, contract: escrow, id, ticker, vault, feeUsdg, slippageBps, tx, armData }];
    });
  }

  async #cover(look: Look): Promise<{ payouts: ListedPayout[]; payoutFault: string | null }> {
    const { client, deployment } = this.#options;
    const unpaid = new Map<bigint, Placed>();
    let allPlaced = true;
    for (const item of this.#follower.book.items()) {
      if (item.kind !== 'position') continue;
      const placed = this.#placed.get(item.id);
      if (placed?.block === item.block) unpaid.set(item.id, placed);
      else allPlaced = false;
    }
    this.#placed = new Map([...this.#placed].filter(([id]) => unpaid.has(id)));
    // While some are missing, a week may have positions that are not known to be its own.
    if (this.#caughtUp && allPlaced) noteOver(this.#over, look.markets, unpaid, look.time);
    const work = dueCover(look.markets, unpaid, look.time);
    if (work.length === 0) return { payouts: [], payoutFault: null };
    try {
      const tickerOf = (vault: Address) => tickerIn(deployment, this.#baskets, vault);
      const { payouts, doubtful } = await runCover(
        client,
        deployment,
        work,
        look.feePool,
        tickerOf,
      );
      this.#doubtful = doubtful;
      return { payouts, payoutFault: null };
    } catch (error) {
      // What can be filled is told all the same.
      return { payouts: [], payoutFault: faultLine(error) };
    }
  }
}

function isBusy(answer: SourceAnswer): boolean {
  return answer.tag === 'jobs' && answer.jobs.length + answer.payouts.length > 0;
}

/** Whether the look has not told something that is wanted since. */
function isMore(wanted: Wanted, look: Look): boolean {
  const markets = new Set(look.markets.map(({ week, vault }) => `${week}:${vault}`));
  return (
    wanted.positions.length > 0 ||
    wanted.vaults.some((vault) => !look.baskets.has(vault)) ||
    wanted.markets.some(({ week, vault }) => !markets.has(`${week}:${vault}`))
  );
}

function tickerIn(
  deployment: Deployment,
  baskets: ReadonlyMap<Address, KnownBasket>,
  vault: Address,
): string | null {
  const listed = deployment.baskets.find((basket) => basket.vault === vault);
  return baskets.get(vault)?.ticker ?? listed?.ticker ?? null;
}
