/**
 * What the relayer does without being asked; of several on one database the one that leads does it: goes on with
 * accepted actions after a restart, or when their transaction was displaced while no client waited; keeps the books;
 * forgets quotes that nobody took.
 */
import type { Logger } from '../runtime/logger.ts';
import type { Sender } from '../runtime/sender/types.ts';
import type { GasBudget } from './gas-budget.ts';
import type { Relay } from './relay.ts';
import type { Settlement } from './settlement.ts';
import type { SlotStore } from './slot-store.ts';
import { attemptOfIntent, intentKey, type Slot } from './slots.ts';
import type { StoreHealth } from './store-health.ts';
import type { Trail } from './trail.ts';

export type Upkeep = {
  /** Reads what every relayer needs. */
  start(): Promise<void>;
  /** Picks up what an earlier leader left; call when the sender of a new term has started. */
  takeOver(): void;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
};

const ROUND_MS = 15_000;
/** Actions live for 15 minutes; clocks may differ by more than that without harm. */
const LOOK_BACK_SECONDS = 3_600;
/** In later rounds only what may still be good by the chain's clock is gone on with. */
const LATE_SECONDS = 60;
const KEEP_UNSENT_SECONDS = 3_600;
const MAX_RESUMED = 1_000;
/** The trail is for finding out what happened lately. */
const KEEP_TRAIL_MS = 30 * 86_400_000;

export function createUpkeep(deps: {
  sender: Sender;
  leads: () => boolean;
  slots: SlotStore;
  budget: GasBudget;
  settlement: Settlement;
  relay: Relay;
  health: StoreHealth;
  trail: Pick<Trail, 'prune'>;
  logger: Logger;
  now?: () => number;
}): Upkeep {
  const { sender, leads, slots, budget, settlement, relay, health, trail, logger } = deps;
  const now = deps.now ?? Date.now;
  const tasks = new Set<Promise<void>>();
  let stopped = false;

  const run = (what: string, task: () => Promise<void>): void => {
    if (stopped) return;
    const running: Promise<void> = task()
      .catch((err: unknown) => {
        health.note(err);
        logger.warn({ err }, `${what} failed`);
      })
      .finally(() => tasks.delete(running));
    tasks.add(running);
  };

  const resume = async (digest: `0x${string}`): Promise<void> => {
    const slot = await slots.findByDigest(digest);
    if (slot?.state === 'claimed') await relay.resume(slot);
  };

  const unsubscribe = sender.onChange(({ key, state }) => {
    const attempt = attemptOfIntent(key);
    if (attempt === null) return;
    run('booking a settled action', () => settlement.settle(key, state));
    // Refused, cancelled or superseded: whether a client waits or not, the slot moves on.
    if (state.tag === 'refused' || state.tag === 'cancelled' || state.tag === 'superseded') {
      run('going on with an action', () => resume(attempt.digest));
    }
  });

  /** Nothing of the slot is under way or in the chain: its last attempt never left, was displaced, or never was. */
  const isLeft = async (slot: Slot): Promise<boolean> => {
    const stored = await sender.get(intentKey(slot.digest, slot.attempt));
    return stored === null || ['refused', 'cancelled', 'superseded'].includes(stored.state.tag);
  };

  const pickUp = async (lookBackSeconds: number): Promise<void> => {
    const since = Math.floor(now() / 1_000) - lookBackSeconds;
    for (const slot of await slots.unsettledSince(since, MAX_RESUMED)) {
      if (stopped || !leads()) return;
      if (await isLeft(slot)) await relay.resume(slot);
    }
  };

  const tidy = async (): Promise<void> => {
    await health.recheck();
    if (leads()) await settlement.catchUp();
    await budget.load();
    await slots.purge(Math.floor(now() / 1_000) - KEEP_UNSENT_SECONDS);
    await trail.prune(now() - KEEP_TRAIL_MS);
  };
  let inRound = false;
  const round = async (): Promise<void> => {
    if (inRound) return;
    inRound = true;
    try {
      await tidy();
      // A try that met a chain out of reach or an empty wallet is not the last one: what was accepted is owed.
      await pickUp(LATE_SECONDS);
    } finally {
      inRound = false;
    }
  };
  const timer = setInterval(() => run('upkeep', round), ROUND_MS);
  timer.unref();

  return {
    start: tidy,
    takeOver: () => {
      settlement.owe();
      run('booking what an earlier leader left', () => settlement.catchUp());
      run('picking up interrupted actions', () => pickUp(LOOK_BACK_SECONDS));
    },
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      unsubscribe();
      await Promise.allSettled(tasks);
    },
  };
}
