/** Questions to the NAV history. NAVs are dollars x 1e18 per share, times unix seconds of the chain. */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import { type Candle, candlesOf } from './candles.ts';
import { MINUTE, startOf } from './minutes.ts';
import type { NavIndex } from './nav-index.ts';
import { openings, spanBefore, spansBetween } from './nav-store.ts';
import type { NavTables } from './nav-tables.ts';
import { type NavBasket, navOf } from './valuation.ts';

export class NavHistory {
  readonly #db: Kysely<NavTables>;
  readonly #index: NavIndex;

  constructor(db: Kysely<NavTables>, index: NavIndex) {
    this.#db = db;
    this.#index = index;
  }

  /**
   * The NAV at a moment: pool prices as of the end of the minute before it, with the fee index of the moment itself.
   * Null before genesis, without a price, and while the history is not complete.
   */
  async navAt(vault: Address, time: number): Promise<bigint | null> {
    const basket = this.#index.basketOf(vault);
    if (basket === null || time < basket.genesisAt) return null;
    const value = await this.#valueBefore(basket, MINUTE, time - MINUTE + 1);
    return value === null ? null : navOf(basket, value, time);
  }

  /**
   * Candles of `span` seconds: `count` of them up to the running one, fewer where the basket is younger; null while the
   * history is not complete.
   */
  async candles(
    vault: Address,
    span: number,
    count: number,
    now: number,
  ): Promise<Candle[] | null> {
    const basket = this.#index.basketOf(vault);
    if (basket === null) return null;
    const first = startOf(now, span) - (count - 1) * span;
    const [carried, rows] = await Promise.all([
      this.#valueBefore(basket, span, first),
      spansBetween(this.#db, [basket.vault], span, first, now + 1),
    ]);
    return candlesOf({ basket, span, carried, rows, first, now });
  }

  /** Before fees: after the last span that starts before `time`, or else at genesis. */
  async #valueBefore(basket: NavBasket, span: number, time: number): Promise<bigint | null> {
    const row = await spanBefore(this.#db, basket.vault, span, time);
    const value = row?.value ?? (await openings(this.#db)).get(basket.vault) ?? 0n;
    return value === 0n ? null : value;
  }
}
