/**
 * What the keeper moves of its own money: sweeps to the cold address, swaps of earned USDG for ETH, and the approvals
 * for them. A row is written, amount and all, before its intent is handed to the sender. Rows stay for ever: they are
 * a few a week, and the numbers of intents rest on them. Every write is made under the fence, as the journal's are.
 */
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Address, Hex } from 'viem';
import { fenced } from '../../runtime/store/fenced.ts';
import { type Fence, unfenced } from '../../runtime/store/lead.ts';
import type { KeeperTables, MoveRow } from './migrations.ts';

export type MoveKind = 'sweep' | 'topup' | 'approve';

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
  'intentKey' | 'kind' | 'wallet' | 'number' | 'counterparty' | 'amountUsdg'
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
};

/** Outcomes after which a move has not happened and never will. */
const NEVER: ReadonlySet<string> = new Set([
  'refused',
  'reverted',
  'cancelled',
  'superseded',
  'never_submitted',
]);

export function createMoves(
  db: Kysely<KeeperTables>,
  now: () => number,
  fence: Fence = unfenced,
): Moves {
  const write = (work: (trx: Transaction<KeeperTables>) => Promise<void>): Promise<void> =>
    fenced(db, fence, work);
  const newest = (wallet: Address, kind: MoveKind) =>
    db
      .selectFrom('keeper_moves')
      .selectAll()
      .where('wallet', '=', wallet)
      .where('kind', '=', kind)
      .orderBy('number', 'desc')
      .limit(1);
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
          .insertInto('keeper_moves')
          .values({ intent_key: intentKey, kind, wallet, number, ...fresh })
          .onConflict((conflict) => conflict.column('intent_key').doUpdateSet(fresh))
          .execute();
      });
    },

    async change(intentKey, change) {
      const text = (value: bigint | null) => (value === null ? null : value.toString());
      await write(async (trx) => {
        await trx
          .updateTable('keeper_moves')
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
        .selectFrom('keeper_moves')
        .selectAll()
        .where('settled', '=', 0)
        .orderBy('created_ms')
        .limit(100)
        .execute();
      return rows.map(moveOf);
    },

    async toppedUpSince(sinceMs) {
      const rows = await db
        .selectFrom('keeper_moves')
        .select(['outcome', 'amount_usdg'])
        .where('kind', '=', 'topup')
        .where('created_ms', '>=', sinceMs)
        .execute();
      return rows
        .filter(({ outcome }) => !NEVER.has(outcome))
        .reduce((sum, { amount_usdg }) => sum + BigInt(amount_usdg), 0n);
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
