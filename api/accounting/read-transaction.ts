/**
 * What the logs of one transaction say about shares and money. Pure.
 *
 * Only contracts of the protocol are believed, each about what it alone does: a vault about its shares, the zapper
 * about swaps, an escrow about its orders. A session module's `Executed` adds its network fee to the zapper's own word
 * for the same account's trade and never makes a trade of itself: anybody can hold a grant of a contract that lies.
 */
import type { Address } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  basketVaultAbi,
  basketZapperAbi,
  exitEscrowAbi,
  limitEscrowAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import {
  addressAt,
  addressTopic,
  selectorOf,
  topic,
  uintAt,
  uintTextAt,
} from '../indexer/log-words.ts';
import type { IndexedLog } from '../indexer/projection.ts';
import type { ShareTransferRow, TradeRow } from './tables.ts';

export const TRANSFER = selectorOf(basketVaultAbi, 'Transfer');
export const REDEEMED = selectorOf(basketVaultAbi, 'Redeemed');
export const BOUGHT = selectorOf(basketZapperAbi, 'Bought');
export const SOLD = selectorOf(basketZapperAbi, 'Sold');
export const EXIT_CREATED = selectorOf(exitEscrowAbi, 'ExitCreated');
export const ORDER_FILLED = selectorOf(limitEscrowAbi, 'OrderFilled');
export const EXECUTED = selectorOf(sessionModuleAbi, 'Executed');

const ZERO: Address = '0x0000000000000000000000000000000000000000';
const SESSION_BUY = 0n;

/** In lower case. */
export type Protocol = {
  zapper: Address;
  exitEscrow: Address;
  limitEscrow: Address;
  scheduleEscrow: Address;
  sessionModule: Address;
};

export function protocolOf(deployment: Deployment): Protocol {
  const lower = (address: Address) => address.toLowerCase() as Address;
  return {
    zapper: lower(deployment.zapper),
    exitEscrow: lower(deployment.exitEscrow),
    limitEscrow: lower(deployment.limitEscrow),
    scheduleEscrow: lower(deployment.scheduleEscrow),
    sessionModule: lower(deployment.sessionModule),
  };
}

export type TransactionRows = { transfers: ShareTransferRow[]; trades: TradeRow[] };

/** @param logs of one transaction, all that are ours, in their order. */
export function readTransaction(logs: readonly IndexedLog[], protocol: Protocol): TransactionRows {
  const rows: TransactionRows = { transfers: [], trades: [] };
  for (const log of logs) readLog(log, protocol, rows);
  return rows;
}

function readLog(log: IndexedLog, protocol: Protocol, rows: TransactionRows): void {
  switch (topic(log, 0)) {
    case TRANSFER:
      rows.transfers.push(transferOf(log, protocol));
      return;
    case REDEEMED: {
      const owner = addressTopic(log, 1);
      if (owner === protocol.zapper) return;
      const shares = uintTextAt(log, 0);
      rows.trades.push({ ...blank(log, log.address, owner), kind: 'redeem', shares });
      return;
    }
    case BOUGHT:
    case SOLD:
      readSwap(log, protocol, rows);
      return;
    case EXIT_CREATED: {
      const [owner, vault] = [addressTopic(log, 2), addressTopic(log, 3)];
      const into = { vault, sender: owner, receiver: protocol.exitEscrow };
      mark(rows, { ...into, shares: uintTextAt(log, 1) }, 'escrow');
      return;
    }
    case ORDER_FILLED:
      rows.trades.push(fillOf(log, protocol));
      return;
    case EXECUTED:
      readSession(log, rows);
      return;
  }
}

function blank(log: IndexedLog, vault: Address, owner: Address): TradeRow {
  return {
    block: log.block,
    log_index: log.logIndex,
    time: log.time,
    tx_hash: log.transactionHash,
    kind: 'buy',
    via: 'wallet',
    vault,
    owner,
    shares: '0',
    gross: '0',
    protocol_fee: '0',
    executor_fee: '0',
    network_fee: '0',
    order_id: null,
  };
}

function transferOf(log: IndexedLog, protocol: Protocol): ShareTransferRow {
  const sender = addressTopic(log, 1);
  return {
    block: log.block,
    log_index: log.logIndex,
    time: log.time,
    vault: log.address,
    sender,
    receiver: addressTopic(log, 2),
    shares: uintTextAt(log, 0),
    // Shares leave the exit escrow to their owner or into a fill, and the zapper to be redeemed: nothing else.
    kind: sender === protocol.exitEscrow ? 'escrow' : sender === protocol.zapper ? 'trade' : 'move',
  };
}

/** Marks the transfer that the event at hand is about: the last such one, for the event follows it. */
function mark(
  rows: TransactionRows,
  wanted: Pick<ShareTransferRow, 'vault' | 'sender' | 'receiver' | 'shares'>,
  kind: 'trade' | 'escrow',
): void {
  const found = rows.transfers.findLast(
    (transfer) =>
      transfer.kind === 'move' &&
      transfer.vault === wanted.vault &&
      transfer.sender === wanted.sender &&
      transfer.receiver === wanted.receiver &&
      transfer.shares === wanted.shares,
  );
  if (found !== undefined) found.kind = kind;
}

/** A buy counts for who receives the shares, a sale for whose shares they were; an escrow tells its own. */
function readSwap(log: IndexedLog, protocol: Protocol, rows: TransactionRows): void {
  const bought = topic(log, 0) === BOUGHT;
  const [payer, to, vault] = [addressTopic(log, 1), addressTopic(log, 2), addressTopic(log, 3)];
  const shares = uintTextAt(log, 0);
  const [sender, receiver] = bought ? [ZERO, to] : [payer, protocol.zapper];
  mark(rows, { vault, sender, receiver, shares }, 'trade');
  if ([protocol.exitEscrow, protocol.limitEscrow, protocol.scheduleEscrow].includes(payer)) return;
  rows.trades.push({
    ...blank(log, vault, bought ? to : payer),
    kind: bought ? 'buy' : 'sell',
    shares,
    gross: uintTextAt(log, 1),
    protocol_fee: uintTextAt(log, 2),
  });
}

function fillOf(log: IndexedLog, protocol: Protocol): TradeRow {
  const via =
    log.address === protocol.exitEscrow
      ? 'exit'
      : log.address === protocol.limitEscrow
        ? 'limit'
        : 'schedule';
  return {
    ...blank(log, addressTopic(log, 3), addressTopic(log, 2)),
    kind: via === 'exit' ? 'sell' : 'buy',
    via,
    shares: uintTextAt(log, 1),
    gross: uintTextAt(log, 2),
    protocol_fee: uintTextAt(log, 3),
    executor_fee: uintTextAt(log, 4),
    order_id: topic(log, 1),
  };
}

function readSession(log: IndexedLog, rows: TransactionRows): void {
  const account = addressTopic(log, 1);
  const kind = uintAt(log, 1) === SESSION_BUY ? 'buy' : 'sell';
  const [vault, shares] = [addressAt(log, 2), uintTextAt(log, 3)];
  const trade = rows.trades.findLast(
    (row) =>
      row.via === 'wallet' &&
      row.owner === account &&
      row.kind === kind &&
      row.vault === vault &&
      row.shares === shares,
  );
  if (trade === undefined) return;
  trade.via = 'session';
  trade.network_fee = uintTextAt(log, 5);
}
