/**
 * The marks of this process: refreshed in the background on a fixed cadence, never by a request. When the chain is
 * out of reach or its head stands still, the last snapshot stays, and says so by `live: false` and its old time.
 */
import type { Address, Hash, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { assertChainId } from '../../runtime/chain/client.ts';
import { ApiError } from '../../runtime/errors.ts';
import { faultLine } from '../../runtime/fault-line.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import type { ReadinessResult } from '../../runtime/readiness.ts';
import type { Basket, Catalog } from '../catalog/catalog.ts';
import { readCatalog } from '../catalog/read-catalog.ts';
import { type Repeating, repeat } from '../chain/repeat.ts';
import { changeBetween } from '../nav/summary.ts';
import { type Costs, measureBuyCost } from './costs.ts';
import { type BasketMark, readSnapshot, type Snapshot } from './snapshot.ts';

export type MarksOptions = {
  client: PublicClient;
  deployment: Deployment;
  /** NAV of a basket at a moment (unix seconds), dollars x 1e18; null where it is not known, or not yet. */
  navAt: (vault: Address, time: number) => Promise<bigint | null>;
  /** Called after each refresh. */
  onRead: () => void;
  logger: Logger;
  metrics: Metrics;
  intervalMs: number;
  /** Each basket's cost is measured once in this time, one basket after the other. */
  costIntervalMs: number;
  catalogIntervalMs: number;
  /** Without an answer, or without a new block, for this long, the marks are not live. */
  staleAfterMs: number;
  /** Marks older than this are not live either while the chain does not answer: it failed, or hangs for so long. */
  answerWithinMs: number;
};

export type MarkRow = BasketMark & {
  basket: Basket;
  buyCostBps: number | null;
  change24h: number | null;
};

/**
 * Of a block that stands the marks are read again after so long all the same: the node that showed it may not be the one
 * that was read.
 */
const REREAD_MS = 1_000;
const DAY = 86_400;
const MINUTE = 60;

export class Marks {
  readonly #options: MarksOptions;
  #catalog: Catalog | null = null;
  #catalogComing: Promise<Catalog> | null = null;
  #catalogReadAt = 0;
  #snapshot: Snapshot | null = null;
  /** What the last read followed: the head that was shown just before it. */
  #readUnder: { head: Hash; catalog: Catalog; atMs: number } | null = null;
  #headChangedAt = 0;
  #rows: readonly MarkRow[] = [];
  readonly #costs: Costs = new Map();
  /** NAVs of 24 hours ago, as known in that minute. */
  #dayBefore: { minute: number; navs: ReadonlyMap<Address, bigint | null> } | null = null;
  #nextCost = 0;
  #loops: Repeating[] = [];
  #failure = 'not read yet';
  /** Since when a refresh is under way, this machine's clock; null: none is. */
  #askingSince: number | null = null;

  constructor(options: MarksOptions) {
    this.#options = options;
    const { metrics } = options;
    const age = metrics.gauge('marks_age_seconds', 'Age of the marks that are served.');
    const live = metrics.gauge('marks_live', '1 while the marks are live.');
    age.set(0);
    live.set(0);
    this.#report = () => {
      const taken = this.#snapshot?.takenAtMs;
      if (taken !== undefined) age.set((Date.now() - taken) / 1_000);
      live.set(this.live() ? 1 : 0);
    };
  }

  readonly #report: () => void;

  start(): void {
    const { logger, intervalMs, costIntervalMs } = this.#options;
    this.#loops = [
      repeat({ name: 'marks', intervalMs, logger, work: () => this.refresh() }),
      repeat({
        name: 'costs',
        // The first round goes quickly: a cost of null is for baskets without a route.
        intervalMs: () => {
          const count = this.#catalog?.baskets.length ?? 0;
          return this.#nextCost < count || count === 0 ? 200 : costIntervalMs / count;
        },
        logger,
        work: () => this.#measureNext(),
      }),
    ];
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }

  /** One refresh; the loop calls it. @throws when the chain cannot be read. */
  async refresh(): Promise<void> {
    this.#askingSince = Date.now();
    try {
      await this.#refresh();
      this.#failure = '';
      this.#options.onRead();
    } catch (error) {
      this.#failure = faultLine(error);
      throw error;
    } finally {
      this.#askingSince = null;
      this.#report();
    }
  }

  async #refresh(): Promise<void> {
    const { client, deployment, catalogIntervalMs, intervalMs } = this.#options;
    const grown =
      this.#snapshot !== null && this.#snapshot.basketCount !== this.#catalog?.baskets.length;
    if (this.#catalog === null || grown || Date.now() - this.#catalogReadAt > catalogIntervalMs) {
      await this.#readCatalog();
    }
    const catalog = this.catalog();
    const before = this.#snapshot;
    // Whoever asks no more often than blocks come would ask twice for each.
    const head = intervalMs < REREAD_MS ? (await client.getBlock()).hash : null;
    if (head !== null && this.#stand(head, catalog)) return;
    const atMs = Date.now();
    const snapshot = await readSnapshot(client, deployment, catalog, (before?.version ?? 0) + 1);
    if (before === null || snapshot.chainTime !== before.chainTime)
      this.#headChangedAt = Date.now();
    this.#snapshot = snapshot;
    this.#readUnder = head === null ? null : { head, catalog, atMs };
    await this.#lookBack(catalog, snapshot.chainTime);
    this.#rows = catalog.baskets.flatMap((basket): MarkRow[] => {
      const mark = snapshot.marks.get(basket.vault);
      return mark === undefined ? [] : [this.#row(basket, mark)];
    });
  }

  /** Whether the marks are those of the block that stands under this hash still; then they are as good as read now. */
  #stand(head: Hash, catalog: Catalog): boolean {
    const read = this.#readUnder;
    if (this.#snapshot === null || read === null || read.catalog !== catalog) return false;
    const now = Date.now();
    if (read.head !== head || now - read.atMs >= REREAD_MS) return false;
    this.#snapshot = { ...this.#snapshot, takenAtMs: now };
    return true;
  }

  /** The catalog as it was read last, or read now where it never was. @throws ApiError UPSTREAM. */
  async readyCatalog(): Promise<Catalog> {
    return this.#catalog ?? (await this.#readCatalog());
  }

  /** One read at a time, whoever asks. */
  async #readCatalog(): Promise<Catalog> {
    this.#catalogComing ??= this.#fetchCatalog().finally(() => {
      this.#catalogComing = null;
    });
    return await this.#catalogComing;
  }

  async #fetchCatalog(): Promise<Catalog> {
    const { client, deployment } = this.#options;
    if (this.#catalog === null) await assertChainId(client);
    const catalog = await readCatalog(client, deployment);
    this.#catalog = catalog;
    this.#catalogReadAt = Date.now();
    return catalog;
  }

  /** Once a minute, and until the history is there. The marks themselves do not depend on the store. */
  async #lookBack(catalog: Catalog, chainTime: number): Promise<void> {
    const minute = chainTime - (chainTime % MINUTE);
    const known = this.#dayBefore;
    if (known?.minute === minute && [...known.navs.values()].some((nav) => nav !== null)) return;
    try {
      const navs = await Promise.all(
        catalog.baskets.map(
          async ({ vault }) => [vault, await this.#options.navAt(vault, chainTime - DAY)] as const,
        ),
      );
      this.#dayBefore = { minute, navs: new Map(navs) };
    } catch (err) {
      this.#options.logger.warn({ err }, 'the NAVs of a day ago could not be read from the store');
    }
  }

  #row(basket: Basket, mark: BasketMark): MarkRow {
    const then = this.#dayBefore?.navs.get(basket.vault) ?? null;
    return {
      ...mark,
      basket,
      buyCostBps: this.#costs.get(basket.vault) ?? null,
      change24h: mark.nav === null || then === null ? null : changeBetween(then, mark.nav),
    };
  }

  async #measureNext(): Promise<void> {
    const { client, deployment } = this.#options;
    const baskets = this.#catalog?.baskets ?? [];
    const basket = baskets[this.#nextCost % Math.max(baskets.length, 1)];
    const mark = basket && this.#snapshot?.marks.get(basket.vault);
    if (basket === undefined || mark === undefined) return;
    this.#nextCost += 1;
    this.#costs.set(basket.vault, await measureBuyCost(client, deployment, basket, mark));
  }

  /** @throws ApiError UPSTREAM before the chain was ever read. */
  catalog(): Catalog {
    if (this.#catalog === null) throw notReadYet();
    return this.#catalog;
  }

  /** @throws ApiError UPSTREAM before the chain was ever read. */
  snapshot(): Snapshot {
    if (this.#snapshot === null) throw notReadYet();
    return this.#snapshot;
  }

  /** Every basket with its marks, in the registry's order. */
  rows(): readonly MarkRow[] {
    this.snapshot();
    return this.#rows;
  }

  /** The mark of a basket. @throws ApiError UPSTREAM when it is too new to have one. */
  markOf(basket: Basket): BasketMark {
    const mark = this.snapshot().marks.get(basket.vault);
    if (mark === undefined) throw notReadYet();
    return mark;
  }

  live(): boolean {
    const taken = this.#snapshot?.takenAtMs ?? 0;
    const { staleAfterMs } = this.#options;
    const now = Date.now();
    return (
      !this.outOfReach() && taken > now - staleAfterMs && this.#headChangedAt > now - staleAfterMs
    );
  }

  /** The chain does not answer, and the marks are older than such a pause may be. A chain that makes no blocks answers. */
  outOfReach(): boolean {
    const taken = this.#snapshot?.takenAtMs ?? 0;
    const { staleAfterMs, answerWithinMs } = this.#options;
    const patience = Math.min(staleAfterMs, answerWithinMs);
    return this.#silence() !== null && taken <= Date.now() - patience;
  }

  /** Why the chain gave no marks last; null while it does. */
  #silence(): string | null {
    if (this.#failure !== '') return this.#failure;
    const { answerWithinMs } = this.#options;
    const since = this.#askingSince;
    return since !== null && Date.now() - since > answerWithinMs
      ? 'the chain does not answer'
      : null;
  }

  readiness(): ReadinessResult {
    const snapshot = this.#snapshot;
    if (snapshot === null) return { ok: false, reason: `no marks yet: ${this.#failure}` };
    if (this.live()) return { ok: true };
    const seconds = Math.round((Date.now() - snapshot.takenAtMs) / 1_000);
    const silence = this.#silence();
    return silence === null
      ? {
          ok: false,
          reason: `no new block for ${Math.round((Date.now() - this.#headChangedAt) / 1_000)} s`,
        }
      : { ok: false, reason: `marks are ${seconds} s old: ${silence}` };
  }
}

function notReadYet(): ApiError {
  return new ApiError('UPSTREAM', 'the marks have not been read from the chain yet: retry');
}
