/**
 * From a claimed slot to an outcome: hand the action to the sender, wait, and say what came of it.
 *
 * What must hold: the sender's key follows from digest and attempt alone, so whoever gets here for the same slot (a
 * repeat, another replica, a restart) reaches the same intent; nothing here ever asks for a fee; a fault after the
 * hand-over is answered as uncertain, with what is known.
 */
import type { Hex } from 'viem';
import { steadyNow } from '../runtime/clock.ts';
import type { Intent, IntentState, Sender } from '../runtime/sender/types.ts';
import {
  hashOf,
  minedAnswer,
  type Outcome,
  pendingAnswer,
  refused,
  revertedRefusal,
  senderRefusal,
  uncertainRefusal,
} from './answer.ts';
import type { Refusal } from './refusal.ts';
import type { SlotStore } from './slot-store.ts';
import { intentKey, moveOf, type Slot } from './slots.ts';
import type { Vetted } from './vetting.ts';

export type SubmissionDeps = {
  sender: Sender;
  slots: SlotStore;
  /** Checks a claimed action again (deadline, grant, simulation); throws when the chain cannot be asked. */
  prepare: (slot: Slot) => Promise<Vetted>;
  /** `execute` calldata and target, with the gas limit. */
  intentOf: (slot: Slot, key: string, gas: bigint) => Intent;
  /** The refusal NONCE_USED when the chain says that the slot's nonce is used; null when it is free. */
  nonceUsed: (slot: Slot) => Promise<Refusal | null>;
  /** The work's result, or null when the process stops first: what is in flight stays in the journal. */
  unlessStopped: <T>(work: Promise<T>) => Promise<T | null>;
  /** Unix milliseconds. */
  now: () => number;
  onFault: (error: unknown, what: string, slot: Slot) => void;
};

/**
 * A claim younger than this may still be on its way into the sender's journal by another process: it is not opened
 * again, whatever a later look at the chain says.
 */
const CLAIM_SETTLES_MS = 30_000;

/**
 * @param gas the limit that the action needs by the simulation that the caller has just made; null: prepare first.
 * @param waitMs for the chain to settle it.
 * @param leastMs for a node to take it, however short `waitMs` is: an answer before that could only be uncertain.
 */
export async function submitSlot(
  deps: SubmissionDeps,
  claimed: Slot,
  gas: bigint | null,
  { waitMs, leastMs }: { waitMs: number; leastMs: number },
): Promise<Outcome> {
  const deadline = steadyNow() + waitMs;
  const broadcastBy = steadyNow() + Math.max(waitMs, leastMs);
  let slot = claimed;
  let known = gas;
  for (;;) {
    const sent = await sendAttempt(deps, slot, known, { deadline, broadcastBy });
    if (sent.tag === 'outcome') return sent.outcome;
    const move = moveOf(slot, sent.state);
    if (move.tag === 'keep') return await outcomeOf(deps, slot, sent.state);
    if (move.tag === 'release') {
      await deps.slots.release(slot);
      return sent.state.tag === 'refused'
        ? refused(senderRefusal(sent.state))
        : refused(uncertainRefusal(slot.digest, null));
    }
    await deps.slots.retry(slot);
    const next = await deps.slots.find(slot.id);
    // Whoever moved the slot, one row tells the next attempt; the count in it bounds this loop.
    if (next === null || next.digest !== slot.digest || next.attempt <= slot.attempt) {
      return refused(uncertainRefusal(slot.digest, hashOf(sent.state)));
    }
    slot = next;
    known = null;
  }
}

type Sent = { tag: 'state'; state: IntentState } | { tag: 'outcome'; outcome: Outcome };

/** By the steady clock: until when it is waited for the chain, and for the first node that takes it. */
type Deadlines = { deadline: number; broadcastBy: number };

/** One attempt: finds its intent or makes it, and waits for it. */
async function sendAttempt(
  deps: SubmissionDeps,
  slot: Slot,
  gas: bigint | null,
  { deadline, broadcastBy }: Deadlines,
): Promise<Sent> {
  const key = intentKey(slot.digest, slot.attempt);
  let hash: Hex | null = null;
  try {
    // What the caller has claimed a moment ago is new to the sender; were it not, it would answer for its key.
    const stored = gas === null ? await deps.sender.get(key) : null;
    if (stored === null) {
      const handed = await handOver(deps, slot, key, gas, broadcastBy);
      // The sender refuses some work without a row (a full queue, a stop): there is nothing to wait for.
      if (handed.tag === 'outcome' || handed.state.tag === 'refused') return handed;
      hash = hashOf(handed.state);
    } else {
      hash = hashOf(stored.state);
    }
    const waitMs = Math.max(0, deadline - steadyNow());
    await deps.unlessStopped(deps.sender.wait(key, 'settled', waitMs));
    const settled = await deps.sender.get(key);
    return settled === null
      ? { tag: 'outcome', outcome: refused(uncertainRefusal(slot.digest, null)) }
      : { tag: 'state', state: settled.state };
  } catch (error) {
    deps.onFault(error, 'fault while an action is with the sender', slot);
    return { tag: 'outcome', outcome: refused(uncertainRefusal(slot.digest, hash)) };
  }
}

/** Prepares where needed and submits; an outcome when nothing was handed over. */
async function handOver(
  deps: SubmissionDeps,
  slot: Slot,
  key: string,
  gas: bigint | null,
  broadcastBy: number,
): Promise<Sent> {
  let limit = gas;
  if (limit === null) {
    const prepared = await prepareClaimed(deps, slot);
    if (prepared.tag === 'refused') {
      // Somebody else may have handed it over meanwhile, which is why it cannot run a second time.
      const elsewhere = await deps.sender.get(key);
      if (elsewhere !== null) return { tag: 'state', state: elsewhere.state };
      const orphaned = deps.now() - slot.updatedAt > CLAIM_SETTLES_MS;
      if (orphaned && !slot.wasBroadcast) await deps.slots.release(slot);
      return { tag: 'outcome', outcome: refused(prepared.refusal) };
    }
    limit = prepared.limit;
  }
  try {
    const submitting = deps.sender.submit(deps.intentOf(slot, key, limit), {
      timeoutMs: Math.max(1, broadcastBy - steadyNow()),
      // A process that hung since the claim may find the slot another's.
      guard: (trx) => deps.slots.holds(slot, trx),
    });
    const state = await deps.unlessStopped(submitting);
    if (state !== null) return { tag: 'state', state };
    // The process ends: the row may stand already, and then the next process sends what this one could not.
    submitting.catch((error: unknown) =>
      deps.onFault(error, 'a submission failed in a stop', slot),
    );
    const stored = await deps.sender.get(key);
    return { tag: 'state', state: stored?.state ?? { tag: 'queued' } };
  } catch (error) {
    // Nothing was or will be sent (sender/types.ts). The slot stays claimed all the same: should the row have been
    // written after all, a repeat under the same key finds it.
    deps.onFault(error, 'the sender could not write an intent', slot);
    const refusal: Refusal = {
      code: 'SERVER',
      message: 'the action could not be recorded: nothing was sent; post the same body again',
      details: { digest: slot.digest },
    };
    return { tag: 'outcome', outcome: refused(refusal) };
  }
}

async function prepareClaimed(deps: SubmissionDeps, slot: Slot): Promise<Vetted> {
  try {
    return await deps.prepare(slot);
  } catch (error) {
    deps.onFault(error, 'a claimed action could not be checked', slot);
    return {
      tag: 'refused',
      refusal: slot.wasBroadcast
        ? uncertainRefusal(slot.digest, null)
        : { code: 'UPSTREAM', message: 'the chain cannot be reached now: nothing was sent' },
    };
  }
}

async function outcomeOf(deps: SubmissionDeps, slot: Slot, state: IntentState): Promise<Outcome> {
  if (state.tag === 'mined') return minedAnswer(slot, state);
  if (state.tag === 'broadcast') return pendingAnswer(slot, state);
  const otherwise =
    state.tag === 'reverted'
      ? revertedRefusal(slot, state)
      : uncertainRefusal(slot.digest, hashOf(state));
  return await unlessUsed(deps, slot, state, otherwise);
}

/** Ours did not run; if the nonce is used, somebody else's transaction did, and that is the truth to tell. */
async function unlessUsed(
  deps: SubmissionDeps,
  slot: Slot,
  state: IntentState,
  otherwise: Refusal,
): Promise<Outcome> {
  try {
    return refused((await deps.nonceUsed(slot)) ?? otherwise);
  } catch (error) {
    deps.onFault(error, 'the nonce of a settled action could not be read', slot);
    return refused(uncertainRefusal(slot.digest, hashOf(state)));
  }
}
