/** Feeds transfers, trades and volumes from the events of vaults, zapper, escrows and session module. */
import type { Transaction } from 'kysely';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { chunks, insertRows, type PreparedRows, preparedRows } from '../indexer/insert-rows.ts';
import type { IndexedLog, Projection, Rows } from '../indexer/projection.ts';
import {
  BOUGHT,
  EXECUTED,
  EXIT_CREATED,
  ORDER_FILLED,
  type Protocol,
  protocolOf,
  REDEEMED,
  readTransaction,
  SOLD,
  TRANSFER,
  type TransactionRows,
} from './read-transaction.ts';
import type { AccountingTables, ShareTransferRow, TradeRow } from './tables.ts';
import { addVolume, takeVolume } from './volume.ts';

export const ACCOUNTING = 'accounting';

/** What logs say, ready to be written. Can be handed to another thread. */
export type TakenApart = { transfers: PreparedRows<ShareTransferRow>; trades: TradeRow[] };

/** @param logs whole transactions in chain order */
export function takenApart(logs: readonly IndexedLog[], protocol: Protocol): TakenApart {
  const { transfers, trades } = rowsOf(logs, protocol);
  return { transfers: preparedRows(transfers), trades };
}

export function rowsToWrite<DB>({ transfers, trades }: TakenApart): Rows<DB> {
  return {
    write: async (transaction) => {
      const trx = transaction as unknown as Transaction<AccountingTables>;
      await insertRows(trx, 'share_transfer', transfers);
      await addVolume(trx, await insertTrades(trx, trades));
    },
  };
}

export function accountingProjection<DB extends AccountingTables>(
  deployment: Deployment,
): Projection<DB> {
  const protocol = protocolOf(deployment);
  return {
    name: ACCOUNTING,
    addresses: Object.values(protocol),
    topics: [BOUGHT, SOLD, EXIT_CREATED, ORDER_FILLED, EXECUTED],
    vaultTopics: [TRANSFER, REDEEMED],
    prepare: (logs) => rowsToWrite(takenApart(logs, protocol)),
    rollback: async (transaction, block) => {
      const trx = transaction as unknown as Transaction<AccountingTables>;
      await trx.deleteFrom('share_transfer').where('block', '>', block).execute();
      const gone = trx.deleteFrom('trade').where('block', '>', block).returningAll();
      await takeVolume(trx, await gone.execute());
    },
    forget: async (transaction, vaults) => {
      const trx = transaction as unknown as Transaction<AccountingTables>;
      const named: string[] = [...vaults];
      for (const table of ['share_transfer', 'trade', 'volume_day'] as const) {
        await trx.deleteFrom(table).where('vault', 'in', named).execute();
      }
    },
  };
}

/** What these logs say, whole transactions in chain order. */
export function rowsOf(logs: readonly IndexedLog[], protocol: Protocol): TransactionRows {
  const rows: TransactionRows = { transfers: [], trades: [] };
  for (const each of byTransaction(logs)) {
    const { transfers, trades } = readTransaction(each, protocol);
    for (const transfer of transfers) rows.transfers.push(transfer);
    for (const trade of trades) rows.trades.push(trade);
  }
  return rows;
}

/** The rows that were not there before. */
async function insertTrades(
  trx: Transaction<AccountingTables>,
  trades: readonly TradeRow[],
): Promise<TradeRow[]> {
  const added: TradeRow[] = [];
  for (const chunk of chunks(trades)) {
    const inserted = await trx
      .insertInto('trade')
      .values(chunk)
      .onConflict((conflict) => conflict.doNothing())
      .returning(['block', 'log_index'])
      .execute();
    const keys = new Set(inserted.map((row) => `${row.block}:${row.log_index}`));
    added.push(...chunk.filter((row) => keys.has(`${row.block}:${row.log_index}`)));
  }
  return added;
}

/** Logs come in chain order, so those of one transaction stand together. */
function* byTransaction(logs: readonly IndexedLog[]): Generator<IndexedLog[]> {
  let current: IndexedLog[] = [];
  for (const log of logs) {
    const [first] = current;
    if (
      first !== undefined &&
      (first.block !== log.block || first.transactionHash !== log.transactionHash)
    ) {
      yield current;
      current = [];
    }
    current.push(log);
  }
  if (current.length > 0) yield current;
}
