/** Hands a transaction to the sender: the one place from which the keeper spends anything. */
import type { Hex } from 'viem';
import type { IntentState, SubmitOptions, WalletStatus } from '../runtime/sender/types.ts';
import { intentKeyOf } from './attempts.ts';
import type { World } from './chain/world.ts';
import type { KeeperContext } from './context.ts';
import type { Attempt, Journal, NewAttempt } from './journal/journal.ts';
import { applyEvent, decide, recordOutcome, usdgText } from './outcome.ts';
import { gasCostUsdg } from '../runtime/money/gas-cost.ts';
import type { AttemptKind, Work } from './work.ts';

/** Lets the sender write these attempts with its own row: both are there, or neither. */
export function openedWith(
  journal: Journal,
  attempts: readonly NewAttempt[],
): NonNullable<SubmitOptions['guard']> {
  return async (trx) => {
    await journal.openAttemptIn(trx, ...attempts);
    return true;
  };
}

/** The row of an attempt that was submitted. One that the sender did not write down is opened to say what became of it. */
export async function rowOf(journal: Journal, opened: NewAttempt): Promise<Attempt> {
  const { jobKey, kind, intentKey } = opened;
  const last = await journal.lastAttempt(jobKey, kind);
  if (last?.intentKey === intentKey) return last;
  if (last === null || last.attempt < opened.attempt) {
    await journal.openAttempt(opened);
    const own = await journal.lastAttempt(jobKey, kind);
    if (own?.intentKey === intentKey) return own;
  }
  throw new Error(`${intentKey} is not the newest attempt of its job`);
}

/** What is not broadcast within this time by the chain's clock is not worth sending any more. */
export const SEND_WITHIN_SECONDS = 60n;

/**
 * What the tick needs to know of one order's way; a dry run's is `sent` where it would be. `not_sent`: our own sender
 * did not take it, which says nothing against whoever listed it. `under_way`: sent before, and not mined yet.
 */
export type Considered =
  | 'waited'
  | 'under_way'
  | 'decided'
  | 'collected'
  | 'sent'
  | 'not_sent'
  | 'chain_unavailable';

/** The bounds within which a transaction goes out, and what is expected of it. */
export type Terms = {
  gasLimit: bigint;
  maxFeePerGas: bigint;
  costUsdg: bigint;
  /** Fee less cost; below zero for a duty. */
  profitUsdg: bigint;
  duty: boolean;
  /** Of foreign work: what its receipt must move to us at least. */
  leastUsdg?: bigint;
};

/** Hands one transaction to the sender, which writes its row and the attempt's as one. */
export async function send(
  context: KeeperContext,
  order: {
    work: Work;
    kind: AttemptKind;
    data: Hex;
    attempt: number;
    terms: Terms;
    world: World;
    fingerprint: string;
  },
): Promise<Considered> {
  const { journal, sender } = context;
  const { work, kind, attempt, terms, world, fingerprint } = order;
  const jobKey = work.key;
  if (context.dryRun) {
    const expects = `expects ${usdgText(terms.profitUsdg)} after ${usdgText(terms.costUsdg)} of gas`;
    await decide(
      context,
      jobKey,
      'would_send',
      `${kind}, ${expects}${terms.duty ? ', as a duty' : ''}`,
    );
    context.wouldEarn?.(terms.profitUsdg);
    await applyEvent(context, jobKey, { tag: 'wait', ms: 10_000 }, fingerprint);
    return 'sent';
  }
  // Another service pays whoever sends: that is the wallet whose gain was simulated.
  const from = work.type === 'foreign' ? context.executor : null;
  const mayUse = ({ usable, address }: WalletStatus): boolean =>
    usable && (from === null || address === from);
  if (!sender.status().wallets.some(mayUse)) {
    // An intent that is certain to be refused would only fill the journal.
    const which =
      from === null ? 'no usable wallet' : `${from} alone may send it and is not usable`;
    await decide(context, jobKey, 'not_sent', which);
    await applyEvent(context, jobKey, { tag: 'wait', ms: 5_000 }, fingerprint);
    return 'not_sent';
  }
  const intentKey = intentKeyOf(kind, jobKey, attempt);
  const { ethPrice } = world.market;
  const opened: NewAttempt = {
    intentKey,
    jobKey,
    kind,
    attempt,
    promisedUsdg: work.promisedUsdg,
    workType: work.type,
    ticker: work.ticker,
    duty: terms.duty,
    expectedUsdg: terms.profitUsdg,
    atRiskUsdg:
      ethPrice === null ? null : gasCostUsdg(terms.gasLimit, terms.maxFeePerGas, ethPrice),
    leastUsdg: terms.leastUsdg ?? null,
  };
  if (work.type === 'foreign') context.foreign.sent(work);
  const state: IntentState = await sender.submit(
    {
      key: intentKey,
      kind,
      to: work.contract,
      data: order.data,
      value: 0n,
      ...(from === null ? {} : { from }),
      gas: terms.gasLimit,
      notAfter: Number(world.timestamp + SEND_WITHIN_SECONDS),
      maxFeePerGas: terms.maxFeePerGas,
      meta: { job: jobKey, ticker: work.ticker, promisedUsdg: work.promisedUsdg.toString() },
    },
    { timeoutMs: context.submitTimeoutMs, guard: openedWith(journal, [opened]) },
  );
  if (state.tag !== 'refused') await applyEvent(context, jobKey, { tag: 'progress' }, fingerprint);
  await recordOutcome(context, await rowOf(journal, opened), state, ethPrice);
  return state.tag === 'refused' ? 'not_sent' : 'sent';
}
