/** Reads of the chain that several parts need: the head, and a wallet's count and balance, in one request. */
import type { Address } from 'viem';
import { quantity } from './classify.ts';
import type { SenderContext } from './context.ts';
import { believedCount } from './counts.ts';
import { type HeadChange, latestBlock, readBlock } from './head.ts';
import type { RpcCall } from './rpc.ts';
import type { Wallet } from './wallets.ts';

export function countCall(address: Address, tag: 'latest' | 'pending' | bigint): RpcCall {
  const block = typeof tag === 'bigint' ? `0x${tag.toString(16)}` : tag;
  return { method: 'eth_getTransactionCount', params: [address, block] };
}

export function balanceCall(address: Address): RpcCall {
  return { method: 'eth_getBalance', params: [address, 'latest'] };
}

/** Null when the endpoints did not answer. */
export type Synced = HeadChange | null;

/**
 * Reads the head, and count, pending count and balance of the given wallets, and takes note of them.
 * Meant for wallets with nothing in flight: a pending count above ours is somebody else's transaction.
 */
export async function syncWallets(
  context: SenderContext,
  wallets: readonly Wallet[],
): Promise<Synced> {
  const calls = [
    latestBlock,
    ...wallets.flatMap(({ address }) => [
      countCall(address, 'latest'),
      countCall(address, 'pending'),
      balanceCall(address),
    ]),
  ];
  const answers = await context.rpc.batch(calls);
  const now = context.clock();
  const block = readBlock(answers[0]);
  if (block === null) {
    context.metrics.event('rpc_failure');
    return null;
  }
  const change = context.head.observe(block, now);
  if (change === 'behind') return change;
  const noted = await Promise.all(
    wallets.map(async (wallet, index) => {
      const numbers = answers
        .slice(1 + index * 3, 4 + index * 3)
        .map((answer) => (answer.tag === 'result' ? quantity(answer.result) : null));
      return await noteRead(context, wallet, numbers, now);
    }),
  );
  return noted.every(Boolean) ? change : null;
}

/** False when the count was not told. */
async function noteRead(
  context: SenderContext,
  wallet: Wallet,
  [latest, pending, balance]: readonly (bigint | null)[],
  now: number,
): Promise<boolean> {
  if (latest === null || latest === undefined) return false;
  const { address } = wallet;
  const mined = await believedCount(context, wallet, countCall(address, 'latest'), Number(latest));
  if (mined === null) return false;
  noteCount(context, wallet, mined);
  if (wallet.book.inFlight === 0 && pending !== null && pending !== undefined) {
    const waiting = countCall(address, 'pending');
    const all = await believedCount(context, wallet, waiting, Number(pending));
    if (all === null) return false;
    noteCount(context, wallet, Math.max(all, mined), mined);
  }
  if (balance !== null && balance !== undefined) noteBalance(context, wallet, balance);
  wallet.syncedAt = now;
  return true;
}

/** Takes note of a transaction count; a count beyond everything we ever gave is another sender on the same key. */
export function noteCount(
  context: SenderContext,
  wallet: Wallet,
  count: number,
  mined = count,
): void {
  const first = wallet.syncedAt === 0;
  const foreign = wallet.book.sync(count);
  if (mined !== count) wallet.book.sync(mined);
  if (foreign && !first) {
    context.metrics.event('foreign_transaction');
    context.logger.warn(
      { wallet: wallet.address, count, next: wallet.book.next },
      'somebody else sends from this wallet; continuing after their nonce',
    );
  }
}

export function noteBalance(context: SenderContext, wallet: Wallet, balance: bigint): void {
  const before = wallet.problem();
  wallet.balance = balance;
  wallet.balanceAt = context.clock();
  const after = wallet.problem();
  if (before === after) return;
  if (after !== null) {
    context.logger.error({ wallet: wallet.address, reason: after }, 'wallet takes no new work');
  } else {
    context.logger.info({ wallet: wallet.address }, 'wallet takes work');
  }
}
