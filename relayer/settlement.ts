/**
 * What is done once the chain has settled an intent: its gas counts against the day's budget and stands in the books.
 * Each of it can be repeated: what could not be written in its moment is written later from the sender's journal.
 */
import { inTurnByKey } from '../runtime/in-turn.ts';
import type { Logger } from '../runtime/logger.ts';
import type { IntentState, Sender } from '../runtime/sender/types.ts';
import type { GasBudget } from './gas-budget.ts';
import type { Ledger } from './ledger.ts';
import type { SlotStore } from './slot-store.ts';
import { attemptOfIntent } from './slots.ts';

export type Settlement = {
  /** Books a change of state of an intent of ours. Rejects when it could not be written: `catchUp` repeats it. */
  settle(intentKey: string, state: IntentState): Promise<void>;
  /** Books what an earlier process or a fault left out; does nothing when nothing is owed. */
  catchUp(): Promise<void>;
  /** Another process may have left something out: the next `catchUp` looks. */
  owe(): void;
};

/** The newest intents, which a restart or a fault may have left unbooked. */
const LOOK_BACK_INTENTS = 1_000;
/** Booked intents that a reorg may take back: as many as may be under way within the confirmation depth. */
const MOST_REMEMBERED = 10_000;

/** Equal to what no state costs. */
const UNSURE = '';

/** All that the books hold of a state. */
const costOf = (state: IntentState): string =>
  state.tag === 'mined' || state.tag === 'reverted'
    ? `${state.tag}:${state.hash}:${state.gasUsed}:${state.effectiveGasPrice}`
    : 'none';

export function createSettlement(deps: {
  sender: Pick<Sender, 'recent'>;
  slots: Pick<SlotStore, 'findByDigest'>;
  ledger: Pick<Ledger, 'record'>;
  budget: Pick<GasBudget, 'record'>;
  /** Dollars x 1e18 per ETH, now. */
  ethPrice: () => Promise<bigint>;
  /** A quarantine began. */
  onQuarantine: () => void;
  logger: Logger;
}): Settlement {
  const { sender, slots, ledger, budget, logger } = deps;
  const turn = inTurnByKey();
  /** What each was booked as, by this process and since nobody else led. */
  const booked = new Map<string, string>();
  let owed = true;

  const remember = (key: string, state: IntentState): void => {
    booked.delete(key);
    booked.set(key, costOf(state));
    if (booked.size <= MOST_REMEMBERED) return;
    for (const oldest of booked.keys()) {
      booked.delete(oldest);
      return;
    }
  };

  const book = async (key: string, state: IntentState): Promise<void> => {
    const attempt = attemptOfIntent(key);
    if (attempt === null) return;
    await budget.record(key, state);
    const slot = await slots.findByDigest(attempt.digest);
    if (slot === null) return;
    const begun = await ledger.record(
      { ...slot, attempt: attempt.attempt },
      state,
      await deps.ethPrice(),
    );
    remember(key, state);
    if (begun === null) return;
    deps.onQuarantine();
    const { account, key: sessionKey } = slot.action;
    logger.warn(
      {
        account,
        key: sessionKey,
        lostUsdg: begun.lost,
        strikes: begun.strikes,
        until: begun.until,
      },
      'a key is kept out: its actions revert at the cost of the relayer',
    );
  };

  const isSettled = (state: IntentState): boolean =>
    state.tag === 'mined' || state.tag === 'reverted';

  return {
    settle: async (key, state) => {
      try {
        // In its turn: what the change before it books is known by then.
        await turn(key, async () => {
          const before = booked.get(key);
          // Most changes come before anything was booked, and a receipt that is final now was booked already.
          if (before === undefined ? isSettled(state) : before !== costOf(state)) {
            await book(key, state);
          }
        });
      } catch (error) {
        owed = true;
        throw error;
      }
    },
    owe: () => {
      owed = true;
      for (const key of booked.keys()) booked.set(key, UNSURE);
    },
    catchUp: async () => {
      if (!owed) return;
      owed = false;
      try {
        for (const { intent, state } of await sender.recent(LOOK_BACK_INTENTS)) {
          // What is out again may have been booked before a reorg.
          if (isSettled(state) || state.tag === 'broadcast')
            await turn(intent.key, () => book(intent.key, state));
        }
      } catch (error) {
        owed = true;
        throw error;
      }
    },
  };
}
