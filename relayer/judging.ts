/**
 * The last and dearest checks of a new action, and its claim: the dry run, alone and behind what its account has under
 * way; the fee that follows from its gas; and the claim, which holds only if no other action of the account was
 * claimed since. Runs of one account must not overlap in a process; several processes are told apart by the claim.
 */
import { isAddressEqual } from 'viem';
import { steadyNow } from '../runtime/clock.ts';
import type { GasMarks } from './chain/marks.ts';
import type { Session } from './checks/session.ts';
import { feeRefusal } from './fee.ts';
import { currentFee, judgeFee, type Quote, standingQuote } from './quote.ts';
import type { Refusal } from './refusal.ts';
import type { RelayPolicy } from './relay.ts';
import { isCancel, isTrade, type SignedAction, termsOf } from './signed-action.ts';
import type { SlotStore } from './slot-store.ts';
import type { Slot, Version } from './slots.ts';
import type { Trail } from './trail.ts';
import type { Vetting } from './vetting.ts';

export type Judged =
  /** `limit`: the gas that it needs, without headroom; null where that was found out too long ago. */
  | { tag: 'claimed'; slot: Slot; limit: bigint | null }
  | { tag: 'refused'; refusal: Refusal }
  /** Somebody else claimed the slot. */
  | { tag: 'lost' };

/** Gas of the module's fee payment, measured on the genuine Safe: 18,000 to 87,000, the most for a first fee. */
const FEE_PAYMENT_GAS = 50_000n;
/** The cover module has the session module count its fee besides. */
const FEE_COUNT_GAS = 30_000n;
const paymentGas = (action: SignedAction): bigint =>
  isTrade(action) ? FEE_PAYMENT_GAS : FEE_PAYMENT_GAS + FEE_COUNT_GAS;

const DAY_MS = 86_400_000;

/** What was found out longer ago, say by a process that hung meanwhile, is found out again before anything is sent. */
const CHECKS_LAST_MS = 10_000;

/** Other processes claim for the same account so fast that this one is always late. */
const MOST_OVERTAKEN = 5;
const OVERTAKEN: Refusal = {
  code: 'PAUSED',
  check: 'pending',
  message: 'other actions of the account are being accepted: nothing of this one was sent',
  retryAfterSeconds: 1,
};

export function createJudging(deps: {
  policy: RelayPolicy;
  slots: SlotStore;
  vetting: Pick<Vetting, 'dryRun'>;
  trail: Trail;
  /** Unix milliseconds. */
  now: () => number;
  /** The refusal of a process that is stopping, or null. */
  stopping: () => Refusal | null;
}) {
  const { policy, slots, trail, now } = deps;

  /** Of a fee that is too low or too high: a quote that the slot keeps. */
  const unpaidRefusal = async (
    { id, action }: Version,
    slot: Slot,
    current: bigint,
    session: Session,
  ): Promise<Refusal | null> =>
    await feeRefusal(slots, {
      slot,
      terms: termsOf(action, id.module),
      offered: action.fee,
      current,
      session,
      now: Math.floor(now() / 1_000),
      quoteSeconds: policy.quoteSeconds,
    });
  /** A cancel carries no fee, and has a quota instead. */
  const quotaRefusal = async (action: SignedAction): Promise<Refusal | null> => {
    const day = Math.floor(now() / DAY_MS);
    const free = await slots.freeSince(action.account, day * DAY_MS);
    if (free < policy.freeCancelsPerDay) return null;
    return {
      code: 'RATE_LIMITED',
      check: 'quota',
      message: `the relayer sends ${policy.freeCancelsPerDay} cancels of an account a day for nothing`,
      retryAfterSeconds: Math.ceil(((day + 1) * DAY_MS - now()) / 1_000),
    };
  };
  /**
   * What is refused has its row all the same, which may hold a quote; nobody is refused whose slot is claimed by now.
   * Null: not refused after all.
   */
  const refusedBy = async (
    version: Version,
    why: (slot: Slot) => Promise<Refusal | null>,
  ): Promise<Judged | null> => {
    const slot = await slots.open(version);
    if (slot.state !== 'open') return { tag: 'lost' };
    const refusal = await why(slot);
    return refusal === null ? null : { tag: 'refused', refusal };
  };
  /** Accepted by the quote that the caller has seen, without a look at the row. */
  const isPaid = ({ id, action }: Version, current: bigint, quote: Quote | null): boolean => {
    // A quote only widens what is accepted.
    if (judgeFee(action.fee, current, null).tag === 'accepted') return true;
    if (quote === null) return false;
    const terms = termsOf(action, id.module);
    const standing = standingQuote(quote, terms, Math.floor(now() / 1_000));
    return judgeFee(action.fee, current, standing).tag === 'accepted';
  };

  return async (
    version: Version,
    { session, marks, quote }: { session: Session; marks: GasMarks; quote: Quote | null },
  ): Promise<Judged> => {
    const { action, digest } = version;
    for (let turn = 0; turn < MOST_OVERTAKEN; turn += 1) {
      const judgedAt = steadyNow();
      const pending = await slots.pendingOf(action.account, session.blockTime);
      // Another process has claimed this very slot meanwhile: it is not to be judged behind itself.
      const { module, nonce } = version.id;
      const isHeld = pending.slots.some(
        ({ id }) => id.nonce === nonce && isAddressEqual(id.module, module),
      );
      if (isHeld) return { tag: 'lost' };
      const dry = await deps.vetting.dryRun(version, session, pending.slots);
      if (dry.tag === 'refused') return (await refusedBy(version, async () => dry.refusal)) ?? dry;
      // An action without a fee was measured without its payment.
      const gas = action.fee === 0n ? dry.gas + paymentGas(action) : dry.gas;
      const current = currentFee({ gas, ...marks }, policy.fee);
      const priced = `behind ${pending.slots.length} not mined; gas ${gas} at ${marks.gasPriceWei} wei costs ${current} USDG base units; signed ${action.fee}`;
      trail.note({ digest, what: 'simulated', detail: priced });
      const unpaid = isCancel(action)
        ? await refusedBy(version, () => quotaRefusal(action))
        : isPaid(version, current, quote)
          ? null
          : await refusedBy(version, (slot) => unpaidRefusal(version, slot, current, session));
      if (unpaid !== null) return unpaid;

      // Nothing is accepted that this process may not be able to hand over.
      const stopping = deps.stopping();
      if (stopping !== null) return { tag: 'refused', refusal: stopping };
      const claim = await slots.claim(version, isCancel(action) ? null : current, pending.head);
      if (claim.tag === 'lost') return claim;
      if (claim.tag === 'claimed') {
        const { attempt, claimSeq } = claim.slot;
        const detail = `fee ${action.fee}, attempt ${attempt}, claim ${claimSeq} of the account`;
        trail.note({ digest, what: 'claimed', detail });
        const fresh = steadyNow() - judgedAt < CHECKS_LAST_MS;
        return { tag: 'claimed', slot: claim.slot, limit: fresh ? dry.limit : null };
      }
    }
    return { tag: 'refused', refusal: OVERTAKEN };
  };
}
