/**
 * Feeds NAV history from the pools' events. What must hold:
 * 1. Rows are those of a fresh sync: minutes are computed from the swaps of their own, all baskets' alike.
 * 2. A basket's history is complete up to the index's cursor, or the basket is not among those that are fed: one that
 *    the registry lists later is caught up from its genesis first.
 * 3. Storage is bounded by minutes: single swaps stay only as far back as a reorg may reach.
 */
import type { Transaction } from 'kysely';
import type { Address } from 'viem';
import type { Catalog } from '../catalog/catalog.ts';
import { type Checkpoint, latestCheckpoint } from '../indexer/checkpoints.ts';
import type { Projection, Rows } from '../indexer/projection.ts';
import { type CatchUpOptions, catchUp, timeAt } from './catch-up.ts';
import { MINUTE, minutesOf, type Swap, startOf } from './minutes.ts';
import { dropAll, openings, replaceMinutes, writeOpening } from './nav-store.ts';
import type { NavTables } from './nav-tables.ts';
import { PRICE_TOPICS, swapsIn } from './swap-logs.ts';
import type { Tape } from './tape.ts';
import { allKnown, HeldTape, loadTape } from './tape-store.ts';
import { type NavBasket, navBasketOf, Valuation } from './valuation.ts';

type Trx = Transaction<NavTables>;

type SwapRows<DB> = Rows<DB> & { swaps: readonly Swap[] };

/** Beyond it nothing is joined: all minutes of one write are computed in one go, while nobody else is answered. */
const SWAPS_AT_ONCE = 10_000;

export class NavIndex {
  readonly #options: CatchUpOptions;
  #baskets: readonly NavBasket[] = [];
  #pools: ReadonlySet<string> = new Set();
  /** What the baskets were taken from; null when they have to be looked at again. */
  #catalog: Catalog | null = null;
  readonly #tape = new HeldTape();

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  /** By vault, in any case of letters; null while its history is not complete. */
  basketOf(vault: Address): NavBasket | null {
    const wanted = vault.toLowerCase();
    return this.#baskets.find((basket) => basket.vault === wanted) ?? null;
  }

  /**
   * Takes up the baskets that the registry lists. To be awaited before each sync of the index.
   * @throws when the chain or the store does not answer.
   */
  async prepare(catalog: Catalog): Promise<void> {
    if (catalog === this.#catalog) return;
    const { db, deployment } = this.#options;
    const listed = catalog.baskets.map((basket) => navBasketOf(basket, deployment));
    const cursor = await latestCheckpoint(this.#options.checkpoints);
    const known = await openings(db);
    const missing = listed.filter(({ vault }) => !known.has(vault));
    if (missing.length > 0 && !(await catchUp(this.#options, missing, cursor))) return;
    this.#take(listed);
    if (await this.#openAll(cursor)) this.#catalog = catalog;
  }

  /**
   * Takes up the baskets whose history another process keeps in the same store, instead of {@link NavIndex.prepare}.
   * @throws when the store does not answer.
   */
  async follow(catalog: Catalog): Promise<void> {
    const { db, deployment } = this.#options;
    const known = await openings(db);
    const listed = catalog.baskets.map((basket) => navBasketOf(basket, deployment));
    this.#take(listed.filter(({ vault }) => known.has(vault)));
    this.reopen();
  }

  /** What the store holds is looked at again in the next `prepare`: another process has written since. */
  reopen(): void {
    this.#catalog = null;
  }

  projection<DB extends NavTables>(): Projection<DB> {
    const pools = () => [...this.#pools] as Address[];
    return {
      name: 'nav',
      get addresses() {
        return pools();
      },
      topics: PRICE_TOPICS,
      prepare: (logs) => this.#rowsOf<DB>(swapsIn(logs, this.#pools)),
      rollback: (trx, block) => this.#rollback(trx as unknown as Trx, block),
    };
  }

  /** As one with what comes next: every write computes all minutes from its first swap on. */
  #rowsOf<DB>(swaps: readonly Swap[]): SwapRows<DB> {
    return {
      swaps,
      write: (trx) => this.#apply(trx as unknown as Trx, swaps),
      ...(swaps.length < SWAPS_AT_ONCE && {
        joined: (next) => this.#rowsOf([...swaps, ...(next as SwapRows<DB>).swaps]),
      }),
    };
  }

  #take(baskets: readonly NavBasket[]): void {
    this.#baskets = baskets;
    this.#pools = new Set(baskets.flatMap(({ pools }) => pools));
  }

  async #apply(trx: Trx, swaps: readonly Swap[]): Promise<void> {
    if (await allKnown(trx, swaps)) return;
    await this.#tape.change(trx, async (tape) => {
      const fresh = tape.fresh(swaps);
      if (fresh.length === 0) return { tag: 'same' };
      tape.add(fresh);
      const first = fresh.reduce(
        (least, { time }) => Math.min(least, time),
        Number.POSITIVE_INFINITY,
      );
      await this.#recompute(trx, tape, startOf(first, MINUTE));
      return { tag: 'added', swaps: fresh };
    });
  }

  async #rollback(trx: Trx, block: number): Promise<void> {
    await this.#tape.change(trx, async (tape) => {
      const outOfReach = [...tape.base.values()].some((base) => base.block > block);
      if (outOfReach || block < this.#options.deployment.startBlock) {
        await dropAll(trx);
        this.#take([]);
        this.#catalog = null;
        return { tag: 'gone' };
      }
      const from = tape.cut(block);
      if (from === null) return { tag: 'same' };
      await this.#recompute(trx, tape, from);
      return { tag: 'cut', above: block };
    });
  }

  /** All minutes from `from` on, of all baskets. */
  async #recompute(trx: Trx, tape: Tape, from: number): Promise<void> {
    const known = await openings(trx);
    const unopened = this.#baskets.filter(
      ({ vault, genesisAt }) => genesisAt >= from || known.get(vault) === null,
    );
    const found = minutesOf(
      this.#baskets,
      tape.before(from),
      tape.since(from),
      new Set(unopened.map(({ vault }) => vault)),
    );
    await replaceMinutes(
      trx,
      this.#baskets.map(({ vault }) => vault),
      from,
      found.rows,
    );
    for (const { vault } of unopened) {
      const opening = found.openings.get(vault) ?? null;
      await writeOpening(trx, vault, opening);
      if (opening === null) this.#catalog = null;
    }
  }

  /** Opens baskets that nobody has traded around since their genesis; false while one's genesis is still ahead. */
  async #openAll(cursor: Checkpoint | null): Promise<boolean> {
    const { db, write, client } = this.#options;
    const known = await openings(db);
    const unopened = this.#baskets.filter(({ vault }) => known.get(vault) === null);
    if (unopened.length === 0) return true;
    const time = cursor === null ? null : await timeAt(client, cursor);
    if (time === null) return false;
    const prices = (await loadTape(db)).before();
    let all = true;
    for (const basket of unopened) {
      if (time <= basket.genesisAt) {
        all = false;
        continue;
      }
      const opening = new Valuation(basket, prices).value() ?? 0n;
      await write((trx) => writeOpening(trx, basket.vault, opening));
    }
    return all;
  }
}
