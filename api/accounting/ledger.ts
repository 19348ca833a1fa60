/** Questions to transfers, trades and volumes. */
import type { Kysely } from 'kysely';
import { type Address, getAddress } from 'viem';
import { isStoreFault } from '../../runtime/store/errors.ts';
import { paidOrReceived } from './cost-basis.ts';
import { type NavAt, pastNav } from './past-navs.ts';
import type { AccountingTables } from './tables.ts';
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

type Db = Kysely<AccountingTables>;

const MOST_TRANSFERS = 500;

export class Ledger {
  readonly #db: Db;
  readonly #navAt: NavAt;
  #lastVolume: bigint | null = null;

  /** @param navAt the NAV history. */
  constructor(db: Db, navAt: NavAt) {
    this.#db = db;
    this.#navAt = navAt;
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

  /**
   * Shares that the wallet itself held of one vault when the index last looked: what came less what went. Null where
   * that would take reading more than a few rows: strangers decide how many transfers a wallet has.
   */
  async walletShares(vault: Address, owner: Address): Promise<bigint | null> {
    const own = owner.toLowerCase();
    const rows = await this.#db
      .selectFrom('share_transfer')
      .select(['vault', 'sender', 'receiver', 'shares'])
      .where((where) => where.or([where('sender', '=', own), where('receiver', '=', own)]))
      .limit(MOST_TRANSFERS + 1)
      .execute();
    if (rows.length > MOST_TRANSFERS) return null;
    const wanted = vault.toLowerCase();
    const moved = rows.filter((row) => row.vault === wanted);
    return moved.reduce(
      (sum, { sender, receiver, shares }) =>
        sum + (receiver === own ? BigInt(shares) : 0n) - (sender === own ? BigInt(shares) : 0n),
      0n,
    );
  }
}
