/**
 * What the keeper earned and spent, from the journal alone. Amounts are exact: fees less what moved out is what the
 * wallets' USDG changed by, and received less gas what their ETH did, to the base unit. A reverted transaction, a lost
 * race, a cancel and a filled hole cost gas too and stand here.
 */
import type { Kysely } from 'kysely';
import type { StoreTables } from '../journal/migrations.ts';
import { gasCostUsdg, WEI_PRICE_PER_USDG } from '../../runtime/money/gas-cost.ts';

export type Earnings = {
  /** UTC, "2026-11-28", of when it was handed to the sender; "" where days are joined. */
  day: string;
  /** Who sent it and paid its gas; fees of our own protocol go to the first wallet whoever sends. "" where joined. */
  wallet: string;
  /** Type of the job, "arm", or "upkeep" for cancels and filled nonces; "" where joined. */
  type: string;
  executed: number;
  reverted: number;
  feesUsdg: bigint;
  /** All gas, the L1 share included. */
  gasWei: bigint;
  l1Wei: bigint;
  /** The gas at the ETH price of its time. */
  gasUsdg: bigint;
  /** What duties cost beyond their fees. */
  dutyLossUsdg: bigint;
  /** Transactions whose ETH price nobody knew: they count in ETH alone. */
  unpriced: number;
};

/** The keeper's own money: no earnings. */
export type Moved = {
  day: string;
  wallet: string;
  kind: string;
  executed: number;
  reverted: number;
  /** USDG that left the wallets, base units. */
  movedUsdg: bigint;
  /** ETH that came in, to the counterparty, which is a wallet of ours. */
  receivedWei: bigint;
  gasWei: bigint;
  l1Wei: bigint;
  gasUsdg: bigint;
  unpriced: number;
};

export type Statement = {
  sinceMs: number;
  earnings: Earnings[];
  moves: Moved[];
  /** Under way when it was written, or mined with a fee not read yet. */
  open: number;
};

export type GroupBy = 'day' | 'type' | 'wallet' | 'all';

export const netUsdg = (line: Pick<Earnings, 'feesUsdg' | 'gasUsdg'>): bigint =>
  line.feesUsdg - line.gasUsdg;

const ROWS_AT_ONCE = 2_000;

/** One included transaction, or a batched job's share of one. */
type Included = {
  createdMs: number;
  wallet: string;
  type: string;
  reverted: boolean;
  feeUsdg: bigint;
  gasWei: bigint;
  l1Wei: bigint;
  costUsdg: bigint | null;
  duty: boolean;
};

/** Reads everything handed to the sender at or after `sinceMs`. */
export async function readStatement(
  db: Kysely<StoreTables>,
  sinceMs: number,
  by: GroupBy = 'all',
): Promise<Statement> {
  const earnings = new Map<string, Earnings>();
  const { open: openAttempts } = await eachAttempt(db, sinceMs, (one) => add(earnings, one, by));
  for (const one of await readUpkeep(db, sinceMs)) add(earnings, one, by);
  const { lines, open: openMoves } = await readMoves(db, sinceMs, by);
  return {
    sinceMs,
    earnings: [...earnings.values()].toSorted(byName),
    moves: lines,
    open: openAttempts + openMoves,
  };
}

/** All lines as one. */
export function totalOf(lines: readonly Earnings[]): Earnings {
  const total = emptyEarnings('', '', '');
  for (const line of lines) {
    total.executed += line.executed;
    total.reverted += line.reverted;
    total.feesUsdg += line.feesUsdg;
    total.gasWei += line.gasWei;
    total.l1Wei += line.l1Wei;
    total.gasUsdg += line.gasUsdg;
    total.dutyLossUsdg += line.dutyLossUsdg;
    total.unpriced += line.unpriced;
  }
  return total;
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const big = (text: string | null): bigint => BigInt(text ?? '0');

function emptyEarnings(day: string, wallet: string, type: string): Earnings {
  return {
    day,
    wallet,
    type,
    executed: 0,
    reverted: 0,
    feesUsdg: 0n,
    gasWei: 0n,
    l1Wei: 0n,
    gasUsdg: 0n,
    dutyLossUsdg: 0n,
    unpriced: 0,
  };
}

function byName(
  a: { day: string; wallet: string; type?: string; kind?: string },
  b: { day: string; wallet: string; type?: string; kind?: string },
): number {
  const text = (line: typeof a) => `${line.day} ${line.type ?? line.kind ?? ''} ${line.wallet}`;
  return text(a) < text(b) ? -1 : 1;
}

/** The names under which a line is kept, the others joined. */
function groupOf(by: GroupBy, day: string, wallet: string, type: string) {
  return {
    day: by === 'all' || by === 'day' ? day : '',
    wallet: by === 'all' || by === 'wallet' ? wallet : '',
    type: by === 'all' || by === 'type' ? type : '',
  };
}

function add(lines: Map<string, Earnings>, one: Included, by: GroupBy): void {
  const { day, wallet, type } = groupOf(by, dayOf(one.createdMs), one.wallet, one.type);
  const key = `${day} ${wallet} ${type}`;
  const line = lines.get(key) ?? emptyEarnings(day, wallet, type);
  lines.set(key, line);
  if (one.reverted) line.reverted += 1;
  else line.executed += 1;
  line.feesUsdg += one.feeUsdg;
  line.gasWei += one.gasWei;
  line.l1Wei += one.l1Wei;
  line.gasUsdg += one.costUsdg ?? 0n;
  if (one.costUsdg === null) line.unpriced += 1;
  else if (one.duty && one.costUsdg > one.feeUsdg) {
    line.dutyLossUsdg += one.costUsdg - one.feeUsdg;
  }
}

async function eachAttempt(
  db: Kysely<StoreTables>,
  sinceMs: number,
  take: (one: Included) => void,
): Promise<{ open: number }> {
  let open = 0;
  let after = '';
  for (;;) {
    const rows = await db
      .selectFrom('keeper_attempts')
      .selectAll()
      .where('created_ms', '>=', sinceMs)
      .where('intent_key', '>', after)
      .orderBy('intent_key')
      .limit(ROWS_AT_ONCE)
      .execute();
    for (const row of rows) {
      const included = row.outcome === 'mined' || row.outcome === 'reverted';
      if (!included || row.fee_usdg === null) {
        if (row.settled === 0) open += 1;
        if (!included) continue;
      }
      const price = big(row.gas_price_wei);
      take({
        createdMs: row.created_ms,
        wallet: row.wallet ?? 'unknown',
        type: row.kind === 'arm' ? 'arm' : (row.work_type ?? row.kind),
        reverted: row.outcome === 'reverted',
        feeUsdg: big(row.fee_usdg),
        gasWei: big(row.gas_used) * price,
        l1Wei: big(row.gas_l1) * price,
        costUsdg: row.cost_usdg === null ? null : BigInt(row.cost_usdg),
        duty: row.duty === 1,
      });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) return { open };
    after = last.intent_key;
  }
}

/** What the sender spent to take a nonce back or to fill a hole: it stands in its own journal alone. */
async function readUpkeep(db: Kysely<StoreTables>, sinceMs: number): Promise<Included[]> {
  const rows = await db
    .selectFrom('sender_intent')
    .select(['wallet', 'gas_used', 'gas_price', 'created_at', 'receipt_success'])
    .where('created_at', '>=', sinceMs)
    .where('gas_used', 'is not', null)
    .where((is) =>
      is.or([
        is('phase', '=', 'cancelled'),
        is.and([is('key', 'like', 'sender:fill:%'), is('phase', 'in', ['mined', 'reverted'])]),
      ]),
    )
    .execute();
  const found: Included[] = [];
  for (const row of rows) {
    const gas = big(row.gas_used);
    const gasPrice = big(row.gas_price);
    const ethPrice = await priceNear(db, row.created_at);
    found.push({
      createdMs: row.created_at,
      wallet: row.wallet ?? 'unknown',
      type: 'upkeep',
      reverted: row.receipt_success === 0,
      feeUsdg: 0n,
      gasWei: gas * gasPrice,
      l1Wei: 0n,
      costUsdg: ethPrice === null ? null : gasCostUsdg(gas, gasPrice, ethPrice),
      duty: false,
    });
  }
  return found;
}

/** The ETH price (dollars x 1e18) at which the nearest earlier transaction was counted, or the first later one. */
async function priceNear(db: Kysely<StoreTables>, atMs: number): Promise<bigint | null> {
  const priced = () =>
    db
      .selectFrom('keeper_attempts')
      .select(['gas_used', 'gas_price_wei', 'cost_usdg'])
      .where('cost_usdg', 'is not', null)
      .where('gas_used', 'is not', null)
      .limit(1);
  const row =
    (await priced()
      .where('created_ms', '<=', atMs)
      .orderBy('created_ms', 'desc')
      .executeTakeFirst()) ??
    (await priced().where('created_ms', '>', atMs).orderBy('created_ms').executeTakeFirst());
  if (row === undefined) return null;
  const wei = big(row.gas_used) * big(row.gas_price_wei);
  return wei === 0n ? null : (big(row.cost_usdg) * WEI_PRICE_PER_USDG) / wei;
}

async function readMoves(
  db: Kysely<StoreTables>,
  sinceMs: number,
  by: GroupBy,
): Promise<{ lines: Moved[]; open: number }> {
  const rows = await db
    .selectFrom('keeper_moves')
    .selectAll()
    .where('created_ms', '>=', sinceMs)
    .execute();
  const lines = new Map<string, Moved>();
  let open = 0;
  for (const row of rows) {
    const included = row.outcome === 'mined' || row.outcome === 'reverted';
    if (row.settled === 0 && (!included || row.moved_usdg === null)) open += 1;
    if (!included) continue;
    const { day, wallet } = groupOf(by, dayOf(row.created_ms), row.wallet, '');
    const key = `${day} ${wallet} ${row.kind}`;
    const line = lines.get(key) ?? {
      day,
      wallet,
      kind: row.kind,
      executed: 0,
      reverted: 0,
      movedUsdg: 0n,
      receivedWei: 0n,
      gasWei: 0n,
      l1Wei: 0n,
      gasUsdg: 0n,
      unpriced: 0,
    };
    lines.set(key, line);
    if (row.outcome === 'reverted') line.reverted += 1;
    else line.executed += 1;
    const price = big(row.gas_price_wei);
    line.movedUsdg += big(row.moved_usdg);
    line.receivedWei += big(row.received_wei);
    line.gasWei += big(row.gas_used) * price;
    line.l1Wei += big(row.gas_l1) * price;
    line.gasUsdg += big(row.cost_usdg);
    if (row.cost_usdg === null) line.unpriced += 1;
  }
  return { lines: [...lines.values()].toSorted(byName), open };
}
