/**
 * The relay: a signed action in, one transaction at most, a true answer out.
 *
 * Order: schema, what the slot already holds, lists, signature, rate and quarantine of the key; then one aggregated read for nonce, grant,
 * deadline, limits, pauses and balances; then the simulation, and from its gas the fee; then the slot's row, claimed, or
 * open where it is refused; and only then the sender. A digest whose slot is claimed meets none of these again: its intent has the answer.
 */
import type { Hex } from 'viem';
import type { Deployment } from '../contracts-abi/deployment.ts';
import type { Logger } from '../runtime/logger.ts';
import { inTurnByKey } from '../runtime/in-turn.ts';
import type { Sender } from '../runtime/sender/types.ts';
import { parseRelayBody } from './action-schema.ts';
import { type Outcome, refused, takenRefusal, withReceipt } from './answer.ts';
import type { Execution } from './chain/executed.ts';
import { isOfChain } from './chain/fault.ts';
import type { MarksReader } from './chain/marks.ts';
import type { SessionReader } from './chain/session.ts';
import type { Simulator } from './chain/simulator.ts';
import { checkSignature } from './checks/signature.ts';
import type { GasBudget } from './gas-budget.ts';
import { createJudging } from './judging.ts';
import type { KeyLimiter } from './key-limiter.ts';
import type { Ledger } from './ledger.ts';
import type { ListCheck } from './lists.ts';
import type { FeePolicy, Quote } from './quote.ts';
import type { Receipt } from './receipt.ts';
import type { Receipts } from './receipts.ts';
import type { Refusal } from './refusal.ts';
import {
  digestOf,
  domainOf,
  executeCalldata,
  isTrade,
  moduleOf,
  type SignedAction,
} from './signed-action.ts';
import { senderStateOf } from './slot-state.ts';
import type { SlotStore } from './slot-store.ts';
import { admit, type Slot, type SlotId, type Version } from './slots.ts';
import { createStopSignal } from './stop-signal.ts';
import type { StoreHealth } from './store-health.ts';
import { type SubmissionDeps, submitSlot } from './submission.ts';
import { outcomeLine } from './trail-lines.ts';
import type { Trail } from './trail.ts';
import { createVetting } from './vetting.ts';

export type RelayPolicy = {
  waitMs: number;
  fee: FeePolicy;
  quoteSeconds: number;
  inclusionMarginSeconds: number;
  gasHeadroomPercent: bigint;
  maxGas: bigint;
  maxInFlight: number;
  /** Actions of one account that are not mined: one more is told to wait. */
  maxPending: number;
  logLookback: bigint;
  /** Cancels of cover requests carry no fee: so many of one account in a UTC day. */
  freeCancelsPerDay: number;
};

export type RelayDeps = {
  deployment: Deployment;
  policy: RelayPolicy;
  sender: Sender;
  slots: SlotStore;
  limiter: KeyLimiter;
  budget: GasBudget;
  listed: ListCheck;
  ledger: Pick<Ledger, 'quarantineOf'>;
  health: StoreHealth;
  trail: Trail;
  receipts: Receipts;
  logger: Logger;
  chain: {
    session: SessionReader;
    marks: MarksReader;
    simulator: Simulator;
    findExecution: (id: SlotId) => Promise<Execution | null>;
    nonceUsed: (id: SlotId) => Promise<boolean>;
  };
  /** Unix milliseconds: of quotes only; deadlines are judged by the chain's clock. */
  now?: () => number;
};

export type Relay = {
  /** @param body the parsed JSON of a request. Never throws for an outcome. */
  execute(body: unknown, takes: 'any' | 'cover'): Promise<Outcome>;
  /** Goes on with a claimed slot without waiting for the chain: after a restart, or when its transaction was lost. */
  resume(slot: Slot): Promise<void>;
  inFlight: () => number;
  /** The work's result, or null when the relay stops first. */
  unlessStopped: <T>(work: Promise<T>) => Promise<T | null>;
  /** Ends all waits: requests are answered with what is known. */
  stop(): void;
};

/** A first broadcast takes this long at most while the chain answers. */
const BROADCAST_MS = 5_000;

const STOPPING: Refusal = {
  code: 'PAUSED',
  message: 'the relayer is stopping: nothing was sent',
  retryAfterSeconds: 5,
};

export function createRelay(deps: RelayDeps): Relay {
  const { policy, sender, slots, chain, trail, logger } = deps;
  const now = deps.now ?? Date.now;
  const vetting = createVetting(deps);
  /** Same digest, same promise: concurrent posts share one run. Bounded by `maxInFlight`. */
  const running = new Map<Hex, Promise<Outcome>>();
  let inFlight = 0;
  let stopping = false;
  const stops = createStopSignal();
  const byAccount = inTurnByKey();
  const judge = createJudging({
    policy,
    slots,
    vetting,
    trail,
    now,
    stopping: () => (stopping ? STOPPING : null),
  });

  const submission: SubmissionDeps = {
    sender,
    slots,
    prepare: (slot) => vetting.again(slot),
    intentOf: (slot, key, measured) => {
      const gas = (measured * (100n + policy.gasHeadroomPercent)) / 100n;
      const { digest, action } = slot;
      const detail = `attempt ${slot.attempt}, gas limit ${gas}, not after ${action.deadline}`;
      trail.note({ digest, what: 'handed over', detail });
      return {
        key,
        kind: 'relay',
        to: slot.id.module,
        data: executeCalldata(action, slot.signature),
        value: 0n,
        gas,
        notAfter: action.deadline,
        meta: { digest },
      };
    },
    nonceUsed: async (slot) =>
      (await chain.nonceUsed(slot.id)) ? await vetting.nonceUsedRefusal(slot) : null,
    unlessStopped: stops.unlessStopped,
    now,
    onFault: (err, what, slot) => {
      deps.health.note(err);
      logger.warn({ err, digest: slot.digest }, what);
    },
  };
  /** A receipt that cannot be signed changes nothing of what became of the action. */
  const receiptOf = async (slot: Slot): Promise<Receipt | null> => {
    try {
      return await deps.receipts.of(slot);
    } catch (err) {
      logger.error({ err, digest: slot.digest }, 'the receipt of an action could not be signed');
      return null;
    }
  };
  const submit = async (slot: Slot, limit: bigint | null): Promise<Outcome> =>
    withReceipt(
      await submitSlot(submission, slot, limit, { waitMs: policy.waitMs, leastMs: BROADCAST_MS }),
      await receiptOf(slot),
    );

  const takenBy = async (slot: Slot): Promise<Outcome> => {
    return refused(takenRefusal(slot, await senderStateOf(sender, slot)));
  };

  /** What a slot that somebody claimed says to this digest; null while it is open. */
  const heldBy = async (slot: Slot | null, digest: Hex): Promise<Outcome | null> => {
    const admission = admit(slot, digest);
    if (admission.tag === 'open') return null;
    return admission.tag === 'same'
      ? await submit(admission.slot, null)
      : await takenBy(admission.slot);
  };

  /** A version whose slot nobody has claimed yet. */
  const relayNew = async (
    version: Version,
    quote: Quote | null,
    run: { hasSlot: boolean },
  ): Promise<Outcome> => {
    if (deps.budget.exhausted()) {
      return refused({
        code: 'PAUSED',
        check: 'budget',
        message: "today's gas budget of the relayer is spent",
        retryAfterSeconds: deps.budget.secondsToReset(),
      });
    }
    const { action, digest } = version;
    const [session, marks] = await Promise.all([chain.session(action), chain.marks.read()]);
    const refusal = await vetting.checkSession(version, session);
    if (refusal !== null) return refused(refusal);

    // Whoever comes here has a grant, and a slot in the end.
    run.hasSlot = true;
    const passed = `signature, rate, gas budget, and at block time ${session.blockTime}: nonce, grant, deadline, limits, pause, balance`;
    trail.note({ digest, what: 'checked', detail: passed });
    // One account's actions are judged behind each other, hence one by one; and handed over in that order.
    const judged = await byAccount(action.account, async () => {
      const verdict = await judge(version, { session, marks, quote });
      return verdict.tag === 'claimed'
        ? { ...verdict, running: submit(verdict.slot, verdict.limit) }
        : verdict;
    });
    if (judged.tag === 'refused') return judged;
    if (judged.tag === 'claimed') return await judged.running;
    const lost = await heldBy(await slots.find(version.id), digest);
    return (
      lost ??
      refused({ code: 'SERVER', message: 'the slot changed meanwhile: post the same body again' })
    );
  };

  /** A fault before anything was handed to the sender. */
  const faultRefusal = (err: unknown): Refusal => {
    deps.health.note(err);
    logger.warn({ err }, 'fault before broadcast');
    return isOfChain(err)
      ? { code: 'UPSTREAM', message: 'the chain cannot be reached now: nothing was sent' }
      : { code: 'SERVER', message: 'unexpected fault: nothing was sent' };
  };

  const sharing = (digest: Hex, start: () => Promise<Outcome>): Promise<Outcome> => {
    const known = running.get(digest);
    if (known !== undefined) return known;
    const run = start()
      .catch((error: unknown) => refused(faultRefusal(error)))
      .finally(() => running.delete(digest));
    running.set(digest, run);
    return run;
  };

  const relayBody = async (body: unknown, takes: 'any' | 'cover'): Promise<Outcome> => {
    const parsed = parseRelayBody(body);
    if (parsed.tag === 'invalid') return refused({ code: 'BAD_REQUEST', message: parsed.message });
    const { action, signature } = parsed;
    if (takes === 'cover' && isTrade(action)) {
      return refused({ code: 'BAD_REQUEST', message: 'action: this route takes cover actions' });
    }
    const module = moduleOf(action, deps.deployment);
    const digest = digestOf(action, module);
    const id = { module, account: action.account, nonce: action.nonce };
    const run = { hasSlot: false };
    const outcome = await relayVersion({ id, digest, action, signature }, run);
    const line = { digest, ...outcomeLine(outcome) };
    if (run.hasSlot) trail.note(line);
    else trail.noteStranger(line);
    return outcome;
  };

  /** A key that posts too much, or costs too much. */
  const keptOut = async (action: SignedAction): Promise<Outcome | null> => {
    const token = deps.limiter.take(`${action.account}:${action.key}`);
    if (!token.ok) {
      return refused({
        code: 'RATE_LIMITED',
        message: 'this key posts too many actions: wait and retry',
        retryAfterSeconds: token.retryAfterSeconds,
      });
    }
    const quarantine = await deps.ledger.quarantineOf(action.key);
    if (quarantine !== null) {
      return refused({
        code: 'RATE_LIMITED',
        check: 'quarantine',
        message:
          'this key is kept out for a while: its actions reverted in blocks and cost the relayer their gas',
        details: { until: Math.ceil(quarantine.until / 1_000) },
        retryAfterSeconds: Math.max(1, Math.ceil((quarantine.until - now()) / 1_000)),
      });
    }
    return null;
  };

  const relayVersion = async (version: Version, run: { hasSlot: boolean }): Promise<Outcome> => {
    const { id, digest, action, signature } = version;
    const admission = admit(await slots.find(id), digest);
    if (admission.tag === 'open') {
      const unlisted = deps.listed(action);
      if (unlisted !== null) return refused(unlisted);
    }
    // The signature that is on record was checked when it came.
    if (admission.tag !== 'same' || admission.slot.signature !== signature) {
      const { key } = action;
      const signed = await checkSignature({
        digest,
        signature,
        key,
        domain: domainOf(action, id.module),
      });
      if (!signed.ok) return refused(signed.refusal);
    }
    run.hasSlot = admission.tag !== 'open';
    if (admission.tag === 'same') return await sharing(digest, () => submit(admission.slot, null));
    if (admission.tag === 'taken') return await takenBy(admission.slot);
    // Judged within the shared run: nobody is told that nothing was sent of an action that is on its way.
    return await sharing(
      digest,
      async () => (await keptOut(action)) ?? (await relayNew(version, admission.quote, run)),
    );
  };

  return {
    execute: async (body, takes) => {
      if (stopping) return refused(STOPPING);
      if (inFlight >= policy.maxInFlight) {
        return refused({ code: 'PAUSED', message: 'the relayer is busy', retryAfterSeconds: 1 });
      }
      inFlight += 1;
      try {
        return await relayBody(body, takes);
      } catch (error) {
        return refused(faultRefusal(error));
      } finally {
        inFlight -= 1;
      }
    },
    resume: async (slot) => {
      // A request is at it already.
      if (running.has(slot.digest)) return;
      const outcome = await submitSlot(submission, slot, null, { waitMs: 0, leastMs: 0 });
      const state = outcome.tag === 'answered' ? outcome.answer.status : outcome.refusal.code;
      logger.info({ digest: slot.digest, state }, 'went on with an interrupted action');
    },
    inFlight: () => inFlight,
    unlessStopped: stops.unlessStopped,
    stop: () => {
      stopping = true;
      stops.signal();
    },
  };
}
