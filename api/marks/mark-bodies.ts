/** Bodies made of marks, each serialised once while they are the same however many ask for it. */
import { toNumber } from '../../contracts-abi/rounding.ts';
import type { Basket } from '../catalog/catalog.ts';
import { type Serialised, serialise } from '../http/json-body.ts';
import type { MarketField, SummaryField } from '../schemas/reads.ts';
import type { MarkRow, Marks } from './marks.ts';

const price = (scaled: bigint | null) => (scaled === null ? null : toNumber(scaled, 18));

/** Shares of the opening NAV; where the deployment does not say, shares of the NAV now. */
function targetWeights(row: MarkRow): Map<string, number> {
  const parts = row.basket.constituents;
  if (parts.every(({ targetWeight }) => targetWeight !== null)) {
    return new Map(parts.map((part) => [part.symbol, part.targetWeight ?? 0]));
  }
  const values = parts.map((part, index) => {
    const scaled = row.prices[index] ?? 0n;
    return toNumber(part.genesisUnits * scaled, 18 + part.decimals);
  });
  const total = values.reduce((sum, value) => sum + value, 0);
  return new Map(
    parts.map((part, index) => [part.symbol, total === 0 ? 0 : (values[index] ?? 0) / total]),
  );
}

function summaryOf(row: MarkRow): Record<SummaryField, unknown> {
  const { basket } = row;
  return {
    ticker: basket.ticker,
    name: basket.name,
    thesis: basket.thesis,
    vault: basket.vault,
    rebalance: basket.rebalance,
    mgmtFeeBps: basket.mgmtFeeBps,
    targetWeights: Object.fromEntries(targetWeights(row)),
    nav: price(row.nav),
    change24h: row.change24h,
    buyCostBps: row.buyCostBps,
    group: basket.group,
    risk: basket.risk,
    riskNote: basket.riskNote,
  };
}

function marketOf(row: MarkRow): Record<MarketField, unknown> {
  const { ticker, nav, change24h, buyCostBps, group, risk } = summaryOf(row);
  return { ticker, nav, change24h, buyCostBps, group, risk };
}

function pick(row: Record<string, unknown>, fields: readonly string[] | undefined) {
  if (fields === undefined) return row;
  return Object.fromEntries(fields.map((field) => [field, row[field]]));
}

/** Constituent prices by symbol; those without a price are absent. */
function pricesOf(rows: readonly MarkRow[]): Record<string, number> {
  const prices: Record<string, number> = {};
  for (const row of rows) {
    row.basket.constituents.forEach((part, index) => {
      const scaled = row.prices[index] ?? null;
      if (scaled !== null) prices[part.symbol] = toNumber(scaled, 18);
    });
  }
  return prices;
}

/** More combinations of fields than this are serialised per request. */
const MAX_BODIES = 64;

/** All that bodies are made of: while it is the same, so are they. */
type MadeOf = { rows: readonly MarkRow[]; asOfMs: number; live: boolean };

export class MarkBodies {
  readonly #marks: Marks;
  #madeOf: MadeOf | null = null;
  readonly #bodies = new Map<string, Serialised>();

  constructor(marks: Marks) {
    this.#marks = marks;
  }

  markets(
    fields: readonly MarketField[] | undefined,
    withPrices: boolean,
    pretty: boolean,
  ): Serialised {
    return this.#body(
      `markets:${fields?.join() ?? '*'}:${withPrices}:${pretty}`,
      pretty,
      ({ rows, ...stamp }) => ({
        markets: rows.map((row) => pick(marketOf(row), fields)),
        ...(withPrices ? { prices: pricesOf(rows) } : {}),
        ...stamp,
      }),
    );
  }

  baskets(fields: readonly SummaryField[] | undefined, pretty: boolean): Serialised {
    return this.#body(
      `baskets:${fields?.join() ?? '*'}:${pretty}`,
      pretty,
      ({ rows, ...stamp }) => ({
        indexes: rows.map((row) => pick(summaryOf(row), fields)),
        ...stamp,
      }),
    );
  }

  basket(basket: Basket, pretty: boolean): Serialised {
    return this.#body(`basket:${basket.ticker}:${pretty}`, pretty, ({ rows, ...stamp }) => {
      const row = rows.find((each) => each.basket.vault === basket.vault);
      if (row === undefined) throw new Error(`no marks of ${basket.ticker}`);
      const weights = targetWeights(row);
      return {
        ...summaryOf(row),
        constituents: basket.constituents.map((part, index) => ({
          symbol: part.symbol,
          address: part.token,
          targetWeight: weights.get(part.symbol) ?? 0,
          price: price(row.prices[index] ?? null),
        })),
        ...stamp,
      };
    });
  }

  #body(key: string, pretty: boolean, make: (of: MadeOf) => unknown): Serialised {
    const of = {
      rows: this.#marks.rows(),
      asOfMs: this.#marks.snapshot().takenAtMs,
      live: this.#marks.live(),
    };
    const last = this.#madeOf;
    if (last?.rows !== of.rows || last.asOfMs !== of.asOfMs || last.live !== of.live) {
      this.#bodies.clear();
      this.#madeOf = of;
    }
    const known = this.#bodies.get(key);
    if (known !== undefined) return known;
    const body = serialise(make(of), pretty);
    if (this.#bodies.size < MAX_BODIES) this.#bodies.set(key, body);
    return body;
  }
}
