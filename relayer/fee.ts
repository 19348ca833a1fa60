/** The fee of an action whose gas is known: accepted, or the 402 with a quote that the slot keeps. */
import type { Hex } from 'viem';
import { takenRefusal } from './answer.ts';
import { checkFeeCaps } from './checks/limits.ts';
import type { Session } from './checks/session.ts';
import { judgeFee, standingQuote } from './quote.ts';
import type { Refusal } from './refusal.ts';
import type { SlotStore } from './slot-store.ts';
import type { Slot } from './slots.ts';

/**
 * @param input.slot the open slot; its quote is kept until it ends, or replaced by a cheaper one.
 * @param input.current what the action costs now, USDG base units.
 * @param input.now unix seconds.
 * @returns null when the offered fee is accepted.
 */
export async function feeRefusal(
  slots: SlotStore,
  input: {
    slot: Slot;
    /** Of the action that is judged (`termsOf`): the row may be at another version by now. */
    terms: Hex;
    offered: bigint;
    current: bigint;
    session: Session;
    now: number;
    quoteSeconds: number;
  },
): Promise<Refusal | null> {
  const { slot, terms, now } = input;
  const standing = standingQuote(slot.quote, terms, now);
  const verdict = judgeFee(input.offered, input.current, standing);
  if (verdict.tag === 'accepted') return null;
  if (verdict.tag === 'too_dear') {
    return {
      code: 'PAUSED',
      message: 'gas costs more now than the highest fee an action may pay',
      retryAfterSeconds: 30,
    };
  }
  // A quote that the key may not sign today would only send the client in a circle.
  const caps = checkFeeCaps(verdict.fee, input.session);
  if (!caps.ok) return caps.refusal;
  const quote = await slots.quote(
    slot.id,
    { fee: verdict.fee, expiresAt: standing?.expiresAt ?? now + input.quoteSeconds, terms },
    now,
  );
  if (quote === null) {
    // Somebody claimed the slot meanwhile, and then nobody is asked for a fee.
    const held = await slots.find(slot.id);
    return takenRefusal(held ?? slot, null);
  }
  return {
    code: 'FEE_REQUIRED',
    message:
      verdict.why === 'too_low'
        ? 'sign the same action again with fee = requiredFee'
        : 'the fee is far above the cost: sign the same action again with fee = requiredFee',
    details: { requiredFee: quote.fee.toString(), quoteExpiresAt: quote.expiresAt },
  };
}
