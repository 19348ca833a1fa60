/**
 * Turns the sender's states into the keeper's records: one place for what a submit answers at once and for what a
 * later look finds. What was mined is settled when its receipt told the fee that arrived and the block is final enough.
 */
import { type Address, formatUnits, type Hex } from 'viem';
import type { IntentState, MinedReceipt, Refusal } from '../runtime/sender/types.ts';
import { parseIntentKey } from './attempts.ts';
import { netTransfers } from '../runtime/chain/receipt.ts';
import { runBounded } from '../runtime/run-bounded.ts';
import { feeTold, type OrderReader, tellsOf } from './chain/order.ts';
import { readWorkRevert } from './chain/revert.ts';
import type { DecisionTag, KeeperContext } from './context.ts';
import type { Attempt, Carrier } from './journal/journal.ts';
import { gasShare } from './policy/batch.ts';
import type { PatienceEvent } from './policy/patience.ts';
import { gasCostUsdg } from '../runtime/money/gas-cost.ts';

export const usdgText = (amount: bigint): string => `$${formatUnits(amount, 6)}`;

const MILESTONES: ReadonlySet<DecisionTag> = new Set(['sent', 'executed', 'armed', 'would_send']);
const SURPRISES: ReadonlySet<DecisionTag> = new Set([
  'refused',
  'short_fee',
  'unpaid',
  'quarantined',
  'reverted',
  'not_sent',
  'replaced_by_cancel',
]);

/** Journals and counts a decision, and logs it: expected ones at debug, money and faults louder. */
export async function decide(
  context: Pick<KeeperContext, 'journal' | 'metrics' | 'logger'>,
  jobKey: string,
  decision: DecisionTag,
  detail: string,
  hash: Hex | null = null,
): Promise<void> {
  context.metrics.decisions.inc({ decision });
  const line = { job: jobKey, decision, detail, ...(hash === null ? {} : { hash }) };
  if (SURPRISES.has(decision)) context.logger.warn(line, decision);
  else if (MILESTONES.has(decision)) context.logger.info(line, decision);
  else context.logger.debug(line, decision);
  await context.journal.decide(jobKey, { decision, detail, hash });
}

/** Applies an event to a job's patience; says so when it ended in quarantine. */
export async function applyEvent(
  context: Pick<KeeperContext, 'journal' | 'memories' | 'metrics' | 'logger'>,
  jobKey: string,
  event: PatienceEvent,
  fingerprint?: string,
): Promise<void> {
  const unknown = { type: 'unknown', ticker: null };
  const { quarantine: before } = (await context.memories.recall(jobKey, unknown)).patience;
  const { quarantine } = await context.memories.apply(jobKey, event, fingerprint);
  // Written through a store, so it began some time ago: what is new is told by its start.
  if (quarantine !== null && quarantine.sinceMs !== before?.sinceMs) {
    await decide(context, jobKey, 'quarantined', quarantine.reason);
  }
}

/**
 * Records where an attempt stands. Idempotent: called with the same state again it changes nothing and says nothing.
 * @param ethPrice dollars x 1e18, for the cost in dollars; null when unknown
 */
export async function recordOutcome(
  context: KeeperContext,
  attempt: Attempt,
  state: IntentState,
  ethPrice: bigint | null,
): Promise<void> {
  const { journal } = context;
  switch (state.tag) {
    case 'queued':
      if (attempt.outcome !== state.tag)
        await journal.changeAttempt(attempt.intentKey, { outcome: state.tag });
      return;
    case 'broadcast':
      if (attempt.outcome === state.tag && attempt.hash === state.hash) return;
      // A fee read from a block that a reorg took back is no fee: the next receipt tells anew.
      await journal.changeAttempt(attempt.intentKey, {
        outcome: state.tag,
        hash: state.hash,
        wallet: state.wallet,
        feeUsdg: null,
      });
      await decide(
        context,
        attempt.jobKey,
        'sent',
        `${attempt.kind}, attempt ${attempt.attempt}`,
        state.hash,
      );
      return;
    case 'mined':
    case 'reverted':
      return recordIncluded(context, attempt, state, ethPrice);
    case 'refused':
      return recordRefused(context, attempt, state);
    case 'cancelled':
    case 'superseded': {
      const hash = state.tag === 'cancelled' ? state.hash : null;
      await journal.changeAttempt(attempt.intentKey, { outcome: state.tag, settled: true });
      context.metrics.outcomes.inc({ kind: attempt.kind, outcome: state.tag });
      const why =
        state.tag === 'cancelled'
          ? 'its gas price reached the cap'
          : 'its nonce went to a transaction not ours';
      await decide(context, attempt.jobKey, 'replaced_by_cancel', `${attempt.kind}: ${why}`, hash);
      await applyEvent(context, attempt.jobKey, { tag: 'does_not_pay' });
      return;
    }
  }
}

/** What a receipt tells of one attempt. */
type Told = {
  /** What it moved of USDG to its receiver. */
  feeUsdg: bigint;
  gasL1: bigint | null;
  /** Whether an event says that this very work was done for us. */
  done: boolean;
};

/** Null while the receipt cannot be read. */
async function readTold(
  context: KeeperContext,
  attempt: Attempt,
  state: MinedReceipt & { wallet: Address },
): Promise<Told | null> {
  const read = await context.orders.receipt(state.hash);
  if (read.tag !== 'receipt') return null;
  const { logs } = read;
  const parts = parseIntentKey(attempt.intentKey);
  const { carrier } = attempt;
  if (carrier !== null) {
    // The balance moved by all members together: each one's part is what its own event says.
    const fee = parts === null ? null : feeTold(logs, parts, context.executor);
    const gasL1 = read.gasL1 === null ? null : shareOf(read.gasL1, carrier);
    return { feeUsdg: fee ?? 0n, gasL1, done: fee !== null };
  }
  return {
    // The balance is the truth; the event only says whether the work is what moved it.
    feeUsdg: netTransfers(logs, context.usdg, receiverOf(context, attempt, state.wallet)),
    gasL1: read.gasL1,
    done: parts !== null && tellsOf(logs, parts, context.executor),
  };
}

const shareOf = (gas: bigint, { members, index }: Carrier): bigint => gasShare(gas, members, index);

async function recordIncluded(
  context: KeeperContext,
  attempt: Attempt,
  included: MinedReceipt & { tag: 'mined' | 'reverted'; wallet: Address },
  ethPrice: bigint | null,
): Promise<void> {
  const { journal, metrics } = context;
  const { carrier } = attempt;
  // What another block told, under another hash or with another end, is not so any more (a reorg between two looks).
  const isAnother =
    attempt.hash !== included.hash || (carrier === null && attempt.outcome !== included.tag);
  let feeUsdg = isAnother ? null : attempt.feeUsdg;
  const told = feeUsdg === null ? await readTold(context, attempt, included) : null;
  if (told !== null) feeUsdg = told.feeUsdg;
  if (carrier !== null && included.tag === 'reverted') {
    // As a whole: nothing else than its gas can fail it.
    context.batchGas.mined(carrier.key, included.gasUsed, false);
  } else if (carrier !== null && told !== null) {
    context.batchGas.mined(carrier.key, included.gasUsed, told.done);
  }
  const feeKnown = feeUsdg !== null;
  // A member of a batch may have failed by itself; once that is known it stays known.
  const failedInside =
    carrier !== null &&
    included.tag === 'mined' &&
    (told === null ? attempt.outcome === 'reverted' : !told.done);
  const state = {
    ...included,
    tag: failedInside ? ('reverted' as const) : included.tag,
    gasUsed: carrier === null ? included.gasUsed : shareOf(included.gasUsed, carrier),
  };
  const isNew = attempt.outcome !== state.tag || attempt.hash !== state.hash;
  // At the ETH price of when it was first seen mined; a later look does not change what it cost.
  const costUsdg =
    !isNew && attempt.costUsdg !== null
      ? attempt.costUsdg
      : ethPrice === null
        ? null
        : gasCostUsdg(state.gasUsed, state.effectiveGasPrice, ethPrice);
  const settled = state.confirmed && feeKnown;
  if (!isNew && !settled && feeUsdg === attempt.feeUsdg) return;
  await journal.changeAttempt(attempt.intentKey, {
    outcome: state.tag,
    hash: state.hash,
    gasUsed: state.gasUsed,
    gasPriceWei: state.effectiveGasPrice,
    wallet: state.wallet,
    ...(told === null || told.gasL1 === null ? {} : { gasL1: told.gasL1 }),
    ...(costUsdg === null ? {} : { costUsdg }),
    feeUsdg,
    settled,
  });
  const cost = `gas ${state.gasUsed} at ${formatUnits(state.effectiveGasPrice, 9)} gwei${costUsdg === null ? '' : ` = ${usdgText(costUsdg)}`}`;
  if (state.tag === 'reverted') {
    if (isNew) {
      await decide(
        context,
        attempt.jobKey,
        'reverted',
        `${attempt.kind} reverted ${failedInside ? 'inside its batch' : 'on chain'}, ${cost}`,
        state.hash,
      );
      const reason = `${attempt.kind} reverts on chain after passing simulation`;
      await applyEvent(context, attempt.jobKey, { tag: 'reverted_on_chain', reason });
    }
  } else if (attempt.kind === 'arm') {
    if (isNew) await decide(context, attempt.jobKey, 'armed', cost, state.hash);
  } else if (feeKnown && (isNew || attempt.feeUsdg === null)) {
    await recordPaid(context, attempt, { feeUsdg: feeUsdg ?? 0n, told, cost, hash: state.hash });
  }
  if (settled) {
    metrics.outcomes.inc({ kind: attempt.kind, outcome: state.tag });
    if (feeUsdg !== null && feeUsdg > 0n) metrics.feesReceived.inc(Number(feeUsdg) / 1e6);
    if (costUsdg !== null) metrics.gasSpent.inc(Number(costUsdg) / 1e6);
  }
}

/** Says what a mined transaction paid, and whether that is what it was sent for. */
async function recordPaid(
  context: KeeperContext,
  { jobKey, kind, leastUsdg }: Attempt,
  paid: { feeUsdg: bigint; told: Told | null; cost: string; hash: Hex },
): Promise<void> {
  const { feeUsdg, told, cost, hash } = paid;
  const fee = `fee ${usdgText(feeUsdg)} received`;
  if (leastUsdg !== null && feeUsdg < leastUsdg) {
    const detail = `${kind}, ${fee}, not ${usdgText(leastUsdg)} as in its simulation, ${cost}`;
    await decide(context, jobKey, 'unpaid', detail, hash);
    // It cost gas for nothing, as a revert does.
    const reason = `${kind} pays less on chain than in its simulation`;
    await applyEvent(context, jobKey, { tag: 'reverted_on_chain', reason });
    context.foreign.unpaid(jobKey);
    return;
  }
  if (told !== null && !told.done) {
    context.logger.error(
      { job: jobKey, hash },
      'a mined transaction does not tell that its work was done for us',
    );
  }
  await decide(context, jobKey, 'executed', `${kind}, ${fee}, ${cost}`, hash);
  if (told?.done === true) await applyEvent(context, jobKey, { tag: 'executed' });
}

/** Whose balance an attempt's fee came to: our protocol pays the executor named, other services their sender. */
function receiverOf(
  context: Pick<KeeperContext, 'executor'>,
  { kind }: Pick<Attempt, 'kind'>,
  wallet: Address,
): Address {
  return kind === 'foreign' ? wallet : context.executor;
}

/** Refusals that say something about our own surroundings, not about the job. */
const OURS: ReadonlySet<Refusal> = new Set([
  'no_wallet',
  'insufficient_eth',
  'rpc_unavailable',
  'queue_full',
  'stopping',
]);

async function recordRefused(
  context: KeeperContext,
  attempt: Attempt,
  state: Extract<IntentState, { tag: 'refused' }>,
): Promise<void> {
  const { reason, message, revertData } = state;
  await context.journal.changeAttempt(attempt.intentKey, {
    outcome: `refused:${reason}`,
    settled: true,
  });
  context.metrics.outcomes.inc({ kind: attempt.kind, outcome: 'refused' });
  const parts = parseIntentKey(attempt.intentKey) ?? { kind: attempt.kind, id: '0x' };
  const revert = reason === 'reverted_in_simulation' ? readWorkRevert(revertData, parts) : null;
  if (revert !== null && revert.tag !== 'other') {
    // Somebody was faster, or the market moved, between our simulation and the sender's.
    await decide(
      context,
      attempt.jobKey,
      revert.tag === 'closed' ? 'closed' : 'not_due',
      revert.text,
    );
    await applyEvent(context, attempt.jobKey, {
      tag: revert.tag === 'closed' ? 'closed' : 'not_due',
    });
    return;
  }
  await decide(
    context,
    attempt.jobKey,
    'not_sent',
    `${reason}: ${revert?.text ?? message}`.slice(0, 300),
  );
  const event: PatienceEvent = OURS.has(reason)
    ? { tag: 'wait', ms: 5_000 }
    : reason === 'fee_cap'
      ? { tag: 'does_not_pay' }
      : reason === 'expired'
        ? { tag: 'wait', ms: 1_000 }
        : { tag: 'failed', reason: `not sent: ${reason}` };
  await applyEvent(context, attempt.jobKey, event);
}

/** For one look: the members of a batch share a receipt, which is asked for once. */
function receiptsOnce(orders: OrderReader): OrderReader {
  const read = new Map<Hex, ReturnType<OrderReader['receipt']>>();
  return {
    ...orders,
    receipt: (hash) => {
      const asked = read.get(hash) ?? orders.receipt(hash);
      read.set(hash, asked);
      return asked;
    },
  };
}

/** Jobs looked up at once: what they write in a turn is committed together. */
const SETTLED_AT_ONCE = 10;

/**
 * Looks up every attempt that is not settled yet. Bounded; the oldest first, those of one job one after the other.
 * @param isOver asked before each: what is left is looked up the next time
 */
export async function settleAttempts(
  context: KeeperContext,
  ethPrice: bigint | null,
  isOver: () => boolean,
): Promise<void> {
  const looking = { ...context, orders: receiptsOnce(context.orders) };
  const byJob = new Map<string, Attempt[]>();
  for (const attempt of await context.journal.unsettled(200)) {
    byJob.set(attempt.jobKey, [...(byJob.get(attempt.jobKey) ?? []), attempt]);
  }
  await runBounded(
    [...byJob.values()],
    SETTLED_AT_ONCE,
    async (attempts) => {
      for (const attempt of attempts) {
        if (isOver()) return;
        await settle(looking, attempt, ethPrice);
      }
    },
    isOver,
  );
}

async function settle(
  context: KeeperContext,
  attempt: Attempt,
  ethPrice: bigint | null,
): Promise<void> {
  const stored = await context.sender.get(attempt.carrier?.key ?? attempt.intentKey);
  if (stored !== null) {
    await recordOutcome(context, attempt, stored.state, ethPrice);
  } else if (context.now() - attempt.createdMs > 60_000) {
    // The row was written and the process died before the sender had it: nothing was or will be sent under it
    // unless the same job comes again, which reuses the number.
    await context.journal.changeAttempt(attempt.intentKey, {
      outcome: 'never_submitted',
      settled: true,
    });
  }
}
