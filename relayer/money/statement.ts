/**
 * What the relayer earned and spent, from its store alone. Amounts are exact: fees less what was swept is what the
 * wallets' USDG changed by, and what the treasury sent less gas what their ETH did, to the base unit. Reverted actions,
 * cancels, filled nonces and moves of its own money cost gas too and stand here.
 */
import type { Kysely } from 'kysely';
import type { ActionJson } from '../../contracts-abi/typed-data.ts';
import { gasCostUsdg } from '../../runtime/money/gas-cost.ts';
import type { StoreTables } from '../store.ts';
import { attemptOfIntent } from '../slots.ts';

export type Earnings = {
  /** UTC, "2026-11-28", of when it was settled; "" where days are joined. */
  day: string;
  /** Session key, or "upkeep" for cancels and filled nonces; "" where joined. */
  key: string;
  account: string;
  executed: number;
  reverted: number;
  feesUsdg: bigint;
  gasWei: bigint;
  /** The gas at the ETH price of its time. */
  gasUsdg: bigint;
  /** Transactions whose ETH price nobody knew: they count in ETH alone. */
  unpriced: number;
};

/** The relayer's own money: no earnings. */
export type Moved = {
  day: string;
  wallet: string;
  /** "sweep": USDG to the cold address. "fund": ETH from the treasury to a wallet. */
  kind: string;
  executed: number;
  reverted: number;
  movedUsdg: bigint;
  /** ETH that came to a wallet of ours, from one of ours. */
  fundedWei: bigint;
  gasWei: bigint;
  gasUsdg: bigint;
  unpriced: number;
};

export type Statement = {
  sinceMs: number;
  earnings: Earnings[];
  moves: Moved[];
  /** Under way when it was written. */
  open: number;
};

export type GroupBy = 'day' | 'key' | 'account' | 'all';

export const netUsdg = (line: Pick<Earnings, 'feesUsdg' | 'gasUsdg'>): bigint =>
  line.feesUsdg - line.gasUsdg;

const ROWS_AT_ONCE = 2_000;
const UPKEEP = 'upkeep';

/** One included transaction. */
type Included = {
  atMs: number;
  key: string;
  account: string;
  reverted: boolean;
  feeUsdg: bigint;
  gasWei: bigint;
  gasUsdg: bigint | null;
};

/** Reads everything settled at or after `sinceMs`. */
export async function readStatement(
  db: Kysely<StoreTables>,
  sinceMs: number,
  by: GroupBy = 'all',
): Promise<Statement> {
  const lines = new Map<string, Earnings>();
  await eachBooked(db, sinceMs, (one) => add(lines, one, by));
  for (const one of await readUnbooked(db, sinceMs)) add(lines, one, by);
  const { count } = await db
    .selectFrom('sender_intent')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('phase', 'in', ['queued', 'claimed', 'signed', 'broadcast'])
    .executeTakeFirstOrThrow();
  return {
    sinceMs,
    earnings: [...lines.values()].toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)),
    moves: await readMoves(db, sinceMs, by),
    open: Number(count),
  };
}

/** All lines as one. */
export function totalOf(lines: readonly Earnings[]): Earnings {
  const total = emptyLine('', '', '');
  for (const line of lines) {
    total.executed += line.executed;
    total.reverted += line.reverted;
    total.feesUsdg += line.feesUsdg;
    total.gasWei += line.gasWei;
    total.gasUsdg += line.gasUsdg;
    total.unpriced += line.unpriced;
  }
  return total;
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const big = (text: string | null): bigint => BigInt(text ?? '0');
const nameOf = ({ day, key, account }: Earnings): string => `${day} ${account} ${key}`;

const emptyLine = (day: string, key: string, account: string): Earnings => ({
  day,
  key,
  account,
  executed: 0,
  reverted: 0,
  feesUsdg: 0n,
  gasWei: 0n,
  gasUsdg: 0n,
  unpriced: 0,
});

function add(lines: Map<string, Earnings>, one: Included, by: GroupBy): void {
  const day = by === 'all' || by === 'day' ? dayOf(one.atMs) : '';
  const key = by === 'all' || by === 'key' ? one.key : '';
  const account = by === 'day' ? '' : one.account;
  const fresh = emptyLine(day, key, account);
  const line = lines.get(nameOf(fresh)) ?? fresh;
  lines.set(nameOf(fresh), line);
  if (one.reverted) line.reverted += 1;
  else line.executed += 1;
  line.feesUsdg += one.feeUsdg;
  line.gasWei += one.gasWei;
  line.gasUsdg += one.gasUsdg ?? 0n;
  if (one.gasUsdg === null) line.unpriced += 1;
}

async function eachBooked(
  db: Kysely<StoreTables>,
  sinceMs: number,
  take: (one: Included) => void,
): Promise<void> {
  let after = '';
  for (;;) {
    const rows = await db
      .selectFrom('relay_ledger')
      .selectAll()
      .where('settled_at', '>=', sinceMs)
      .where('intent_key', '>', after)
      .orderBy('intent_key')
      .limit(ROWS_AT_ONCE)
      .execute();
    for (const row of rows) {
      take({
        atMs: row.settled_at,
        key: row.key,
        account: row.account,
        reverted: row.outcome === 'reverted',
        feeUsdg: BigInt(row.fee_usdg),
        gasWei: BigInt(row.gas_wei),
        gasUsdg: BigInt(row.gas_usdg),
      });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) return;
    after = last.intent_key;
  }
}

/**
 * What stands in the sender's journal alone: actions that were not booked (yet), and what was spent to take a nonce
 * back or to fill a hole. The relayer's own moves stand in their own rows, but for their cancels.
 */
async function readUnbooked(db: Kysely<StoreTables>, sinceMs: number): Promise<Included[]> {
  const rows = await db
    .selectFrom('sender_intent as sent')
    .leftJoin('relay_ledger as booked', 'booked.intent_key', 'sent.key')
    .select(['sent.key', 'sent.phase', 'sent.gas_used', 'sent.gas_price', 'sent.updated_at'])
    .select('sent.receipt_success')
    .where('sent.updated_at', '>=', sinceMs)
    .where('sent.gas_used', 'is not', null)
    .where('booked.intent_key', 'is', null)
    .where((is) =>
      is.or([
        is('sent.phase', '=', 'cancelled'),
        is.and([
          is('sent.phase', 'in', ['mined', 'reverted']),
          is.or([is('sent.kind', '=', 'relay'), is('sent.key', 'like', 'sender:fill:%')]),
        ]),
      ]),
    )
    .execute();
  const found: Included[] = [];
  for (const row of rows) {
    const gas = big(row.gas_used);
    const gasPrice = big(row.gas_price);
    const ethPrice = await priceNear(db, row.updated_at);
    const action = row.phase === 'cancelled' ? null : await actionOf(db, row.key);
    found.push({
      atMs: row.updated_at,
      key: action?.key ?? UPKEEP,
      account: action?.account ?? '',
      reverted: row.receipt_success === 0,
      feeUsdg: row.phase === 'mined' && action !== null ? BigInt(action.fee) : 0n,
      gasWei: gas * gasPrice,
      gasUsdg: ethPrice === null ? null : gasCostUsdg(gas, gasPrice, ethPrice),
    });
  }
  return found;
}

async function actionOf(db: Kysely<StoreTables>, intentKey: string): Promise<ActionJson | null> {
  const attempt = attemptOfIntent(intentKey);
  if (attempt === null) return null;
  const row = await db
    .selectFrom('relay_slots')
    .select('action')
    .where('digest', '=', attempt.digest)
    .executeTakeFirst();
  return row === undefined ? null : (JSON.parse(row.action) as ActionJson);
}

/** The ETH price (dollars x 1e18) of the nearest earlier booking, or the first later one. */
async function priceNear(db: Kysely<StoreTables>, atMs: number): Promise<bigint | null> {
  const booked = () => db.selectFrom('relay_ledger').select('eth_price').limit(1);
  const row =
    (await booked()
      .where('settled_at', '<=', atMs)
      .orderBy('settled_at', 'desc')
      .executeTakeFirst()) ??
    (await booked().where('settled_at', '>', atMs).orderBy('settled_at').executeTakeFirst());
  return row === undefined ? null : BigInt(row.eth_price);
}

async function readMoves(db: Kysely<StoreTables>, sinceMs: number, by: GroupBy): Promise<Moved[]> {
  const rows = await db
    .selectFrom('relay_moves')
    .selectAll()
    .where('created_ms', '>=', sinceMs)
    .where('outcome', 'in', ['mined', 'reverted'])
    .execute();
  const lines = new Map<string, Moved>();
  for (const row of rows) {
    const day = by === 'all' || by === 'day' ? dayOf(row.created_ms) : '';
    const name = `${day} ${row.kind} ${row.wallet}`;
    const line = lines.get(name) ?? {
      day,
      wallet: row.wallet,
      kind: row.kind,
      executed: 0,
      reverted: 0,
      movedUsdg: 0n,
      fundedWei: 0n,
      gasWei: 0n,
      gasUsdg: 0n,
      unpriced: 0,
    };
    lines.set(name, line);
    if (row.outcome === 'reverted') line.reverted += 1;
    else line.executed += 1;
    line.movedUsdg += big(row.moved_usdg);
    line.fundedWei += big(row.received_wei);
    line.gasWei += big(row.gas_used) * big(row.gas_price_wei);
    line.gasUsdg += big(row.cost_usdg);
    if (row.cost_usdg === null) line.unpriced += 1;
  }
  return [...lines].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line);
}
