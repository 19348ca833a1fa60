/** Hands a transaction to the sender: the one place from which the keeper spends anything. */
import type { Hex } from 'viem';
import type { IntentState } from '../runtime/sender/types.ts';
import { intentKeyOf } from './attempts.ts';
import type { World } from './chain/world.ts';
import type { KeeperContext } from './context.ts';
import type { Admitted } from './firewall/admit.ts';
import type { AttemptKind } from './journal/journal.ts';
import { applyEvent, decide, recordOutcome, usdgText } from './outcome.ts';
import type { FillVerdict } from './policy/fill.ts';

/** What is not broadcast within this time by the chain's clock is not worth sending any more. */
const SEND_WITHIN_SECONDS = 60n;

/** What the tick needs to know of one order's way. */
export type Considered = 'waited' | 'decided' | 'sent' | 'chain_unavailable';

/** Hands one transaction to the sender, the attempt's row first. */
export async function send(
  context: KeeperContext,
  order: {
    jobKey: string;
    job: Admitted;
    kind: AttemptKind;
    data: Hex;
    attempt: number;
    verdict: Pick<
      Extract<FillVerdict, { tag: 'send' }>,
      'gasLimit' | 'maxFeePerGas' | 'costUsdg' | 'profitUsdg'
    >;
    world: World;
    fingerprint: string;
  },
): Promise<Considered> {
  const { journal, sender } = context;
  const { jobKey, job, kind, attempt, verdict, world, fingerprint } = order;
  const terms = `expects ${usdgText(verdict.profitUsdg)} after ${usdgText(verdict.costUsdg)} of gas`;
  if (context.dryRun) {
    await decide(context, jobKey, kind === 'fill' ? 'would_fill' : 'would_arm', terms);
    await applyEvent(context, jobKey, { tag: 'wait', ms: 10_000 }, fingerprint);
    return 'decided';
  }
  if (!sender.status().wallets.some(({ usable }) => usable)) {
    // An intent that is certain to be refused would only fill the journal.
    await decide(context, jobKey, 'not_sent', 'no usable wallet');
    await applyEvent(context, jobKey, { tag: 'wait', ms: 5_000 }, fingerprint);
    return 'decided';
  }
  const intentKey = intentKeyOf(kind, job.escrow, job.id, attempt);
  await journal.openAttempt({ intentKey, jobKey, kind, attempt, promisedUsdg: job.promisedUsdg });
  const state: IntentState = await sender.submit(
    {
      key: intentKey,
      kind,
      to: job.escrow,
      data: order.data,
      value: 0n,
      gas: verdict.gasLimit,
      notAfter: Number(world.timestamp + SEND_WITHIN_SECONDS),
      maxFeePerGas: verdict.maxFeePerGas,
      meta: { job: jobKey, ticker: job.ticker, promisedUsdg: job.promisedUsdg.toString() },
    },
    { timeoutMs: context.submitTimeoutMs },
  );
  if (state.tag !== 'refused') await applyEvent(context, jobKey, { tag: 'progress' }, fingerprint);
  const row = await journal.lastAttempt(jobKey, kind);
  if (row !== null) await recordOutcome(context, row, state, world.market.ethPrice);
  return 'sent';
}
