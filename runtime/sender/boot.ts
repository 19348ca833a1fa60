/** Repair at the start: the journal says what may be out, the chain says what is in. Nothing is signed here. */
import { OperatorError } from '../operator-error.ts';
import type { Broadcaster } from './broadcast.ts';
import type { SenderContext } from './context.ts';
import { newestAttempt } from './entry.ts';
import { isLeftFill } from './fill.ts';
import { syncWallets } from './sync.ts';
import type { Wallet } from './wallets.ts';

/** The start failed: the message tells an operator why. */
export class SenderStartError extends OperatorError {
  constructor(message: string) {
    super(message);
    this.name = 'SenderStartError';
  }
}

const RETRY_MS = 250;

/** @throws SenderStartError when the chain cannot be read in `deadlineMs`, or is not the one of the journal. */
export async function boot(
  context: SenderContext,
  broadcaster: Broadcaster,
  deadlineMs: number,
): Promise<void> {
  const { journal, wallets, clock, logger } = context;
  const until = clock() + deadlineMs;
  const entries = await journal.open();
  for (const { wallet } of entries) if (wallet !== null) wallets.of(wallet);
  for (const wallet of wallets.all()) {
    const highest = await journal.highestNonce(wallet.address);
    wallet.explained = highest === null ? 0 : highest + 1;
  }
  await retried(until, clock, 'its chain id', async () => await checkChain(context));
  await retried(until, clock, 'the head and the nonces', async () => {
    const synced = await syncWallets(context, wallets.all());
    return synced !== null && synced !== 'behind';
  });
  for (const wallet of wallets.all()) await checkHistory(context, wallet, until);

  let repaired = 0;
  const time = context.head.block?.timestamp ?? 0;
  for (const entry of entries) {
    const { key, phase, wallet, nonce, intent } = entry;
    if (phase === 'claimed') {
      // A nonce was held and no bytes were stored, so none were sent.
      await journal.apply(key, { type: 'released' });
      repaired += 1;
    } else if (isLeftFill(entry)) {
      const message = 'the process ended before the hole was filled';
      await journal.apply(key, { type: 'refused', reason: 'stopping', message });
    } else if ((phase === 'signed' || phase === 'broadcast') && wallet !== null && nonce !== null) {
      const owner = wallets.of(wallet);
      owner.book.restore(nonce, key);
      const attempt = newestAttempt(entry);
      if (attempt) owner.setCost(nonce, attempt.gas * attempt.maxFee + intent.value);
      const late = intent.notAfter !== undefined && time > intent.notAfter;
      if (phase === 'signed' && late) broadcaster.note(key).abandoned = true;
      // Nobody knows whether the send happened: from here on it counts as out.
      if (phase === 'signed') await journal.apply(key, { type: 'sent' });
      repaired += 1;
    }
  }
  if (entries.length > 0) logger.info({ open: entries.length, repaired }, 'journal reopened');
}

async function checkChain(context: SenderContext): Promise<boolean> {
  const verdict = await context.rpc.servesChain();
  if (verdict.tag === 'foreign') {
    const ids = verdict.ids.join(' and ');
    throw new SenderStartError(`the RPC endpoints serve chain ${ids}, not ${context.chainId}`);
  }
  if (verdict.tag === 'empty') {
    throw new SenderStartError('no RPC endpoint has the contracts that transactions go to');
  }
  return verdict.tag === 'right';
}

/** What the journal calls confirmed must be on the chain; else it is another chain, or one that was reset. */
async function checkHistory(context: SenderContext, wallet: Wallet, until: number): Promise<void> {
  const highest = await context.journal.highestConfirmedNonce(wallet.address);
  if (highest === null) return;
  try {
    // A replica may lag: only a count that stays too low is believed.
    await retried(Math.min(until, context.clock() + 3_000), context.clock, '', async () => {
      if (wallet.book.count > highest) return true;
      await syncWallets(context, [wallet]);
      return wallet.book.count > highest;
    });
  } catch {
    throw new SenderStartError(
      `the journal has nonce ${highest} of ${wallet.address} confirmed, but the chain has only ${wallet.book.count} transactions of it: this database belongs to another chain, or the chain was reset; give this process a fresh DATABASE_URL`,
    );
  }
}

async function retried(
  until: number,
  clock: () => number,
  what: string,
  attempt: () => Promise<boolean>,
): Promise<void> {
  for (;;) {
    if (await attempt()) return;
    if (clock() >= until) throw new SenderStartError(`the RPC did not tell ${what} in time`);
    await new Promise((resolve) => {
      setTimeout(resolve, RETRY_MS);
    });
  }
}
