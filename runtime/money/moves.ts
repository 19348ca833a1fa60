/**
 * What a process moves of its own money: sweeps to the cold address, swaps of earned USDG for ETH and the approvals for
 * them, ETH from the treasury. A row is written, amount and all, before its intent is handed to the sender. Rows stay
 * for ever: they are a few a day at most, and the numbers of intents rest on them. Every write is made under the fence,
 * as the journal's are.
 */
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Address, Hex } from 'viem';
import { fenced } from '../store/fenced.ts';
import { type Fence, unfenced } from '../store/lead.ts';

/** One transaction with which a process moves its own money, written before it was handed to the sender. */
export type MoveRow = {
  intent_key: string;
  kind: string;
  wallet: string;
  /** 1, 2 … per wallet and kind. */
  number: number;
  counterparty: string;
  amount_usdg: string;
  /** ETH that it sends; null in moves of USDG. */
  amount_wei: string | null;
  created_ms: number;
  updated_ms: number;
  outcome: string;
  tx_hash: string | null;
  moved_usdg: string | null;
  received_wei: string | null;
  gas_used: string | null;
  gas_price_wei: string | null;
  gas_l1: string | null;
  cost_usdg: string | null;
  settled: number;
};

/** The table of a process: one layout under two names. */
export type MoveTable = 'keeper_moves' | 'relay_moves';

/** `fund`: ETH from the treasury to a wallet. */
export type MoveKind = 'sweep' | 'topup' | 'approve' | 'fund';

export type Move = {
  intentKey: string;
  kind: MoveKind;
  wallet: Address;
  /** 1, 2 … per wallet and kind. */
  number: number;
  /** Who receives: the cold address, the wallet topped up, the router approved. */
  counterparty: Address;
  /** What was decided to move or approve, USDG base units. */
  amountUsdg: bigint;
  /** What was decided to send of ETH, wei; zero in moves of USDG. */
  amountWei: bigint;
  createdMs: number;
  updatedMs: number;
  /** Tag of the sender's state; "submitting" before the first, "never_submitted" when there was none. */
  outcome: string;
  hash: Hex | null;
  /** What left the wallet by the receipt, USDG base units. */
  movedUsdg: bigint | null;
  /** What of ETH the counterparty received by the receipt, wei. */
  receivedWei: bigint | null;
  gasUsed: bigint | null;
  gasPriceWei: bigint | null;
  costUsdg: bigint | null;
  settled: boolean;
};

export type NewMove = Pick<
  Move,
  'intentKey' | 'kind' | 'wallet' | 'number' | 'counterparty' | 'amountUsdg' | 'amountWei'
>;

type MoveChange = Partial<
  Pick<
    Move,
    'hash' | 'movedUsdg' | 'receivedWei' | 'gasUsed' | 'gasPriceWei' | 'costUsdg' | 'settled'
  >
> & { outcome: string; gasL1?: bigint | null };

export type Moves = {
  /** The newest of a wallet and kind. */
  last(wallet: Address, kind: MoveKind): Promise<Move | null>;
  /** When the last one that was executed was decided, or null. */
  lastMinedMs(wallet: Address, kind: MoveKind): Promise<number | null>;
  /** Writes the row. One of the same number, left by a submit that never was, starts anew. */
  open(move: NewMove): Promise<void>;
  change(intentKey: string, change: MoveChange): Promise<void>;
  /** Oldest first, at most 100. */
  unsettled(): Promise<Move[]>;
  /** What top-ups decided since then have swapped or may still swap, USDG base units. */
  toppedUpSince(sinceMs: number): Promise<bigint>;
  /** What the treasury has sent or may still send by what was decided since then, wei. */
  fundedSince(sinceMs: number): Promise<bigint>;
};

/** Outcomes after which a move has not happened and never will. */
const NEVER: ReadonlySet<string> = new Set([
  'refused',
  'reverted',
  'cancelled',
  'superseded',
  'never_submitted',
]);

export function createMoves<Table extends MoveTable>(
  given: Kysely<Record<Table, MoveRow>>,
  options: { table: Table; now: () => number; fence?: Fence },
): Moves {
  const { now, fence = unfenced } = options;
  // One layout under either name: for the types it is called `moves`.
  const db = given as unknown as Kysely<{ moves: MoveRow }>;
  const table = options.table as unknown as 'moves';
  const write = (work: (trx: Transaction<{ moves: MoveRow }>) => Promise<void>): Promise<void> =>
    fenced(db, fence, work);
  const newest = (wallet: Address, kind: MoveKind) =>
    db
      .selectFrom(table)
      .selectAll()
      .where('wallet', '=', wallet)
      .where('kind', '=', kind)
      .orderBy('number', 'desc')
      .limit(1);
  const decidedSince = async (kind: MoveKind, sinceMs: number) => {
    const rows = await db
      .selectFrom(table)
      .select(['outcome', 'amount_usdg', 'amount_wei'])
      .where('kind', '=', kind)
      .where('created_ms', '>=', sinceMs)
      .execute();
    return rows.filter(({ outcome }) => !NEVER.has(outcome));
  };
  return {
    async last(wallet, kind) {
      const row = await newest(wallet, kind).executeTakeFirst();
      return row === undefined ? null : moveOf(row);
    },

    async lastMinedMs(wallet, kind) {
      const row = await newest(wallet, kind).where('outcome', '=', 'mined').executeTakeFirst();
      return row?.created_ms ?? null;
    },

    async open(move) {
      const fresh = {
        counterparty: move.counterparty,
        amount_usdg: move.amountUsdg.toString(),
        amount_wei: move.amountWei === 0n ? null : move.amountWei.toString(),
        created_ms: now(),
        updated_ms: now(),
        outcome: 'submitting',
        tx_hash: null,
        moved_usdg: null,
        received_wei: null,
        gas_used: null,
        gas_price_wei: null,
        gas_l1: null,
        cost_usdg: null,
        settled: 0,
      };
      const { intentKey, kind, wallet, number } = move;
      await write(async (trx) => {
        await trx
          .insertInto(table)
          .values({ intent_key: intentKey, kind, wallet, number, ...fresh })
          .onConflict((conflict) => conflict.column('intent_key').doUpdateSet(fresh))
          .execute();
      });
    },

    async change(intentKey, change) {
      const text = (value: bigint | null) => (value === null ? null : value.toString());
      await write(async (trx) => {
        await trx
          .updateTable(table)
          .set({
            outcome: change.outcome,
            updated_ms: now(),
            ...(change.hash === undefined ? {} : { tx_hash: change.hash }),
            ...(change.movedUsdg === undefined ? {} : { moved_usdg: text(change.movedUsdg) }),
            ...(change.receivedWei === undefined ? {} : { received_wei: text(change.receivedWei) }),
            ...(change.gasUsed === undefined ? {} : { gas_used: text(change.gasUsed) }),
            ...(change.gasPriceWei === undefined
              ? {}
              : { gas_price_wei: text(change.gasPriceWei) }),
            ...(change.gasL1 === undefined ? {} : { gas_l1: text(change.gasL1) }),
            ...(change.costUsdg === undefined ? {} : { cost_usdg: text(change.costUsdg) }),
            ...(change.settled === undefined ? {} : { settled: change.settled ? 1 : 0 }),
          })
          .where('intent_key', '=', intentKey)
          .execute();
      });
    },

    async unsettled() {
      const rows = await db
        .selectFrom(table)
        .selectAll()
        .where('settled', '=', 0)
        .orderBy('created_ms')
        .limit(100)
        .execute();
      return rows.map(moveOf);
    },

    async toppedUpSince(sinceMs) {
      const rows = await decidedSince('topup', sinceMs);
      return rows.reduce((sum, row) => sum + BigInt(row.amount_usdg), 0n);
    },

    async fundedSince(sinceMs) {
      const rows = await decidedSince('fund', sinceMs);
      return rows.reduce((sum, row) => sum + BigInt(row.amount_wei ?? '0'), 0n);
    },
  };
}

const big = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

function moveOf(row: Selectable<MoveRow>): Move {
  return {
    intentKey: row.intent_key,
    kind: row.kind as MoveKind,
    wallet: row.wallet as Address,
    number: row.number,
    counterparty: row.counterparty as Address,
    amountUsdg: BigInt(row.amount_usdg),
    amountWei: BigInt(row.amount_wei ?? '0'),
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
    outcome: row.outcome,
    hash: row.tx_hash as Hex | null,
    movedUsdg: big(row.moved_usdg),
    receivedWei: big(row.received_wei),
    gasUsed: big(row.gas_used),
    gasPriceWei: big(row.gas_price_wei),
    costUsdg: big(row.cost_usdg),
    settled: row.settled === 1,
  };
}
