/** Questions to transfers, trades and volumes. */
import type { Kysely } from 'kysely';
import { type Address, getAddress } from 'viem';
import { isStoreFault } from '../../runtime/store/errors.ts';
import {
  type Checkpoint,
  type CheckpointTables,
  latestCheckpoint,
} from '../indexer/checkpoints.ts';
import { apply, type Basis, type Entry, NOTHING, valueOf } from './cost-basis.ts';
import { type NavAt, pastNav } from './past-navs.ts';
import type { TransactionRows } from './read-transaction.ts';
import type { AccountingTables, ShareTransferRow, TradeRow } from './tables.ts';
import { totalVolume } from './volume.ts';

/** What one order or schedule of an owner has traded so far. USDG base units, every fee counted. */
type Execution = {
  id: string;
  vault: Address;
  via: 'limit' | 'exit' | 'schedule';
  buys: number;
  sells: number;
  spent: bigint;
  received: bigint;
};

/** What changes an owner's basis. */
export type AccountRow = ({ of: 'trade' } & TradeRow) | ({ of: 'transfer' } & ShareTransferRow);

type Db = Kysely<AccountingTables & CheckpointTables>;

export class Ledger {
  readonly #db: Db;
  readonly #navAt: NavAt;
  #lastVolume: bigint | null = null;

  /** @param navAt the NAV history. */
  constructor(db: Db, navAt: NavAt) {
    this.#db = db;
    this.#navAt = navAt;
  }

  /** The rows of an owner and the block up to which they are complete, both of one moment; null before the first. */
  async accountOf(owner: Address): Promise<{ upTo: Checkpoint; rows: AccountRow[] } | null> {
    return await this.#db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (trx) => {
        const upTo = await latestCheckpoint(trx);
        return upTo === null ? null : { upTo, rows: await rowsOf(trx, owner.toLowerCase()) };
      });
  }

  /**
   * The basis of an owner's rows, in chain order, by vault. A transfer in whose value at the time nothing tells enters
   * at `navNow`: neither gain nor loss.
   */
  async basisOf(
    rows: readonly AccountRow[],
    owner: Address,
    navNow: (vault: Address) => bigint,
  ): Promise<Map<Address, Basis>> {
    const own = owner.toLowerCase();
    const books = new Map<Address, Basis>();
    for (const row of rows) {
      const vault = getAddress(row.vault);
      const entry =
        row.of === 'trade'
          ? entryOfTrade(row)
          : row.sender === own
            ? ({ tag: 'out', shares: BigInt(row.shares) } as const)
            : await this.#arrival(row, vault, navNow);
      books.set(vault, apply(books.get(vault) ?? NOTHING, entry));
    }
    return books;
  }

  /** Whether the history knows the NAV that shares which arrive at this time (unix seconds of the chain) enter at. */
  async knowsNavAt(vault: Address, time: number): Promise<boolean> {
    return (await this.#navAt(vault, time)) !== null;
  }

  /** Orders and schedules of the owner that have traded, in the order of their first trade. */
  async executionsOf(owner: Address): Promise<Execution[]> {
    const trades = await this.#db
      .selectFrom('trade')
      .selectAll()
      .where('owner', '=', owner.toLowerCase())
      .where('order_id', 'is not', null)
      .orderBy('block')
      .orderBy('log_index')
      .execute();
    const found = new Map<string, Execution>();
    for (const trade of trades) {
      const { order_id: id, via } = trade;
      if (id === null || via === 'wallet' || via === 'session') continue;
      const known = found.get(id) ?? {
        id,
        via,
        vault: getAddress(trade.vault),
        buys: 0,
        sells: 0,
        spent: 0n,
        received: 0n,
      };
      if (trade.kind === 'buy') {
        known.buys += 1;
        known.spent += paidOrReceived(trade);
      } else {
        known.sells += 1;
        known.received += paidOrReceived(trade);
      }
      found.set(id, known);
    }
    return [...found.values()];
  }

  /** What the last trade of a basket paid a share, dollars x 1e18; null without one. */
  async lastPrice(vault: Address, chainTime: number): Promise<bigint | null> {
    return await pastNav(this.#db, this.#navAt, vault, {
      time: chainTime,
      block: Number.MAX_SAFE_INTEGER,
    });
  }

  /**
   * USDG base units of all buys and sells ever, before fees; while the store is out of reach what it said last, which is
   * then not `live`. @throws what the store throws, where it never said anything.
   */
  async volume(): Promise<{ volume: bigint; live: boolean }> {
    try {
      this.#lastVolume = await totalVolume(this.#db);
      return { volume: this.#lastVolume, live: true };
    } catch (error) {
      if (this.#lastVolume === null || !isStoreFault(error)) throw error;
      return { volume: this.#lastVolume, live: false };
    }
  }

  /** Shares that the wallet itself held of one vault when the index last looked: what came less what went. */
  async walletShares(vault: Address, owner: Address): Promise<bigint> {
    const own = owner.toLowerCase();
    const rows = await this.#db
      .selectFrom('share_transfer')
      .select(['sender', 'receiver', 'shares'])
      .where((where) => where.or([where('sender', '=', own), where('receiver', '=', own)]))
      .where('vault', '=', vault.toLowerCase())
      .execute();
    return rows.reduce(
      (sum, { sender, receiver, shares }) =>
        sum + (receiver === own ? BigInt(shares) : 0n) - (sender === own ? BigInt(shares) : 0n),
      0n,
    );
  }

  async #arrival(
    row: ShareTransferRow,
    vault: Address,
    navNow: (vault: Address) => bigint,
  ): Promise<Entry> {
    const shares = BigInt(row.shares);
    const nav = (await pastNav(this.#db, this.#navAt, vault, row)) ?? navNow(vault);
    return { tag: 'in', shares, value: valueOf(shares, nav) };
  }
}

/** Trades, and what came and went without one, in chain order. */
async function rowsOf(db: Db, owner: string): Promise<AccountRow[]> {
  const trades = await db.selectFrom('trade').selectAll().where('owner', '=', owner).execute();
  const transfers = await db
    .selectFrom('share_transfer')
    .selectAll()
    .where((where) => where.or([where('sender', '=', owner), where('receiver', '=', owner)]))
    .where('kind', '=', 'move')
    .execute();
  return accountRows({ trades, transfers }, owner);
}

/** Those of an owner (lower case) that change its basis, in chain order. */
export function accountRows(rows: TransactionRows, owner: string): AccountRow[] {
  return [
    ...rows.trades
      // The shares that a redemption burns are a transfer.
      .filter((row) => row.owner === owner && row.kind !== 'redeem')
      .map((row): AccountRow => ({ of: 'trade', ...row })),
    ...rows.transfers
      .filter(
        ({ sender, receiver, kind }) =>
          kind === 'move' && sender !== receiver && (sender === owner || receiver === owner),
      )
      .map((row): AccountRow => ({ of: 'transfer', ...row })),
  ].sort((a, b) => a.block - b.block || a.log_index - b.log_index);
}

/** What a buy cost or a sale brought in, all fees counted. */
function paidOrReceived(trade: TradeRow): bigint {
  const fees = BigInt(trade.protocol_fee) + BigInt(trade.executor_fee) + BigInt(trade.network_fee);
  const gross = BigInt(trade.gross);
  // A network fee may exceed what a tiny sale brings in: it is paid all the same, out of other USDG.
  return trade.kind === 'buy' ? gross + fees : gross - fees;
}

function entryOfTrade(trade: TradeRow): Entry {
  const shares = BigInt(trade.shares);
  return trade.kind === 'buy'
    ? { tag: 'buy', shares, paid: paidOrReceived(trade) }
    : { tag: 'sell', shares, received: paidOrReceived(trade) };
}
