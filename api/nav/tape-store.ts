/**
 * The tape in the store, and in memory from one change to the next. Every write is part of the caller's transaction; one
 * that is undone, or another process's, leaves a mark in the store that is not the one held: then the tape is read again.
 */
import type { Transaction } from 'kysely';
import { beginEpoch, readEpoch } from '../indexer/epoch.ts';
import { insertRows } from '../indexer/insert-rows.ts';
import type { Swap } from './minutes.ts';
import type { NavDb } from './nav-store.ts';
import type { NavTables } from './nav-tables.ts';
import { Tape } from './tape.ts';

type Trx = Transaction<NavTables>;

type Change =
  | { tag: 'same' | 'gone' }
  | { tag: 'added'; swaps: readonly Swap[] }
  | { tag: 'cut'; above: number };

export class HeldTape {
  #held: { mark: string; tape: Tape } | null = null;

  /**
   * The tape as the transaction sees it, which `change` may change. What it returns is written: swaps that are new, a
   * block above which there are none any more, or nothing: the tape is as it was, or gone from the store.
   */
  async change(trx: Trx, change: (tape: Tape) => Promise<Change>): Promise<void> {
    const before = await readEpoch(trx, 'tape');
    const tape =
      this.#held?.mark === before && before !== '' ? this.#held.tape : await loadTape(trx);
    // Until it is written, nobody else has to find it half changed.
    this.#held = null;
    const changed = await change(tape);
    switch (changed.tag) {
      case 'gone':
        return;
      case 'same':
        this.#held = { mark: before, tape };
        return;
      case 'added':
        this.#held = { mark: await extendTape(trx, tape, changed.swaps), tape };
        return;
      case 'cut':
        this.#held = { mark: await cutSwaps(trx, changed.above), tape };
    }
  }
}

export async function loadTape(db: NavDb): Promise<Tape> {
  const pools = await db.selectFrom('nav_pool').selectAll().execute();
  const swaps = await db
    .selectFrom('nav_swap')
    .selectAll()
    .orderBy('block')
    .orderBy('log_index')
    .execute();
  const floor = await db.selectFrom('nav_tape').select('floor').executeTakeFirst();
  return new Tape(
    new Map(
      pools.map(({ pool, sqrt_price, block }) => [pool, { sqrtPrice: BigInt(sqrt_price), block }]),
    ),
    swaps.map((row) => ({
      pool: row.pool,
      block: row.block,
      logIndex: row.log_index,
      time: row.time,
      sqrtPrice: BigInt(row.sqrt_price),
    })),
    floor?.floor ?? 0,
  );
}

/** True when every one of these is on the tape already: the usual case of logs that are read again. */
export async function allKnown(db: NavDb, swaps: readonly Swap[]): Promise<boolean> {
  const [first] = swaps;
  const last = swaps.at(-1);
  if (first === undefined || last === undefined) return true;
  const rows = await db
    .selectFrom('nav_swap')
    .select(['block', 'log_index'])
    .where('block', '>=', first.block)
    .where('block', '<=', last.block)
    .execute();
  const known = new Set(rows.map(({ block, log_index }) => `${block}:${log_index}`));
  return swaps.every(({ block, logIndex }) => known.has(`${block}:${logIndex}`));
}

/** Writes the tape, of which `added` are new, pruned first. @returns its new mark. */
async function extendTape(trx: Trx, tape: Tape, added: readonly Swap[]): Promise<string> {
  const pruned = tape.prune();
  if (pruned) await writeFloor(trx, tape);
  await insertSwaps(
    trx,
    added.filter(({ time }) => time >= tape.floor),
  );
  return await beginEpoch(trx, 'tape');
}

async function writeFloor(trx: Trx, tape: Tape): Promise<void> {
  await trx.deleteFrom('nav_swap').where('time', '<', tape.floor).execute();
  await trx.deleteFrom('nav_pool').execute();
  await trx.deleteFrom('nav_tape').execute();
  const pools = [...tape.base].map(([pool, { sqrtPrice, block }]) => ({
    pool,
    sqrt_price: sqrtPrice.toString(),
    block,
  }));
  if (pools.length > 0) await trx.insertInto('nav_pool').values(pools).execute();
  await trx.insertInto('nav_tape').values({ name: 'swaps', floor: tape.floor }).execute();
}

async function insertSwaps(trx: Trx, swaps: readonly Swap[]): Promise<void> {
  const rows = swaps.map(({ pool, block, logIndex, time, sqrtPrice }) => ({
    pool,
    block,
    log_index: logIndex,
    time,
    sqrt_price: sqrtPrice.toString(),
  }));
  await insertRows(trx, 'nav_swap', rows);
}

/** The whole tape anew. */
export async function writeTape(trx: Trx, tape: Tape): Promise<void> {
  await trx.deleteFrom('nav_swap').execute();
  await writeFloor(trx, tape);
  await insertSwaps(trx, tape.swaps);
  await beginEpoch(trx, 'tape');
}

/** @returns the tape's new mark. */
async function cutSwaps(trx: Trx, block: number): Promise<string> {
  await trx.deleteFrom('nav_swap').where('block', '>', block).execute();
  return await beginEpoch(trx, 'tape');
}
