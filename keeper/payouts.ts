/**
 * Sends payouts that are ready, none of which pays a position that another one under way pays: sources may cut the same
 * positions into other pieces, and to pay one twice is gas for nothing. Only what is sent claims its positions. A
 * listing alone, or work that is refused, claims nothing: it would be a way to hold up other people's money.
 *
 * One goes after the other, each for as long as its broadcast takes, and fills and snapshots of the next tick wait
 * behind them: so a tick has a share of its time for payouts, and a node that hangs keeps it for one of them alone.
 */
import { positionsIn } from '../runtime/cover/cover-work.ts';
import type { Sender } from '../runtime/sender/types.ts';
import { ECHO_MS } from './attempts.ts';
import type { KeeperContext } from './context.ts';
import { applyEvent } from './outcome.ts';
import type { Considered } from './send.ts';
import type { CoverWork } from './work.ts';

/** A payout that passed its simulation, and pays or is a duty. */
export type ReadyPayout = {
  work: CoverWork;
  /** What it leaves after gas: USDG base units, below zero for a duty. */
  netUsdg: bigint;
  /** Judges what is left to judge, and sends. */
  send: () => Promise<Considered>;
};

export type Payouts = {
  /**
   * Sends each of `ready` that overlaps none before it and none under way: the keeper's own first, then what leaves
   * most. What is left when the time is over comes with a later tick. Never throws.
   * @param isOver asked before each: the tick's time has passed, or the keeper stops
   */
  send(
    ready: readonly ReadyPayout[],
    onFault: (jobKey: string, fault: unknown) => Promise<void>,
    isOver: () => boolean,
  ): Promise<void>;
};

type PayoutContext = Parameters<typeof applyEvent>[0] &
  Pick<KeeperContext, 'now'> & { sender: Pick<Sender, 'get'> };

/** Where its positions may be paid next. */
const LOOK_AGAIN_MS = 2_000;
/** One tick begins no further payout after so long with them. */
const SHARE_MS = 3_000;
/** A broadcast that takes so long is a node in trouble. */
const SLOW_MS = 1_000;
/** After a slow one none is begun for so many times as long: most of the time is for other work. */
const HOLD_TIMES = 3;

/** @param own the keeper's own discovery among the sources */
export function createPayouts(context: PayoutContext, own: number | null): Payouts {
  const { journal, sender, now } = context;
  let heldUntilMs = 0;
  /** Intents that may still claim: what the journal has under way, and what was mined a moment ago. Bounded by both. */
  const intents = new Map<string, number>();

  async function claimedNow(): Promise<Set<bigint>> {
    for (const { kind, intentKey } of await journal.unsettled(200)) {
      if (kind === 'payout') intents.set(intentKey, now());
    }
    const claimed = new Set<bigint>();
    for (const [key, seenMs] of intents) {
      const stored = await sender.get(key);
      const claims =
        stored?.state.tag === 'queued' ||
        stored?.state.tag === 'broadcast' ||
        // A replica that lags behind may say for a while that they are still to be paid.
        (stored?.state.tag === 'mined' && now() - seenMs < ECHO_MS);
      if (stored === null || !claims) intents.delete(key);
      else for (const position of positionsIn(stored.intent.data)) claimed.add(position);
    }
    return claimed;
  }

  return {
    async send(ready, onFault, isOver) {
      if (ready.length === 0 || isOver()) return;
      let claimed: Set<bigint>;
      try {
        claimed = await claimedNow();
      } catch (fault) {
        for (const { work } of ready) await onFault(work.key, fault);
        return;
      }
      const isOwn = ({ work }: ReadyPayout): number => Number(work.source === own);
      const best = ready.toSorted(
        (a, b) =>
          isOwn(b) - isOwn(a) || (a.netUsdg === b.netUsdg ? 0 : b.netUsdg > a.netUsdg ? 1 : -1),
      );
      const shareEndsMs = now() + SHARE_MS;
      for (const { work, send } of best) {
        const beganMs = now();
        if (isOver()) return;
        try {
          if (beganMs < heldUntilMs) {
            await applyEvent(context, work.key, { tag: 'wait', ms: heldUntilMs - beganMs });
            continue;
          }
          if (beganMs >= shareEndsMs) return;
          if (work.positions.some((position) => claimed.has(position))) {
            await applyEvent(context, work.key, { tag: 'wait', ms: LOOK_AGAIN_MS });
          } else if ((await send()) === 'sent') {
            for (const position of work.positions) claimed.add(position);
            const attempt = await journal.lastAttempt(work.key, 'payout');
            if (attempt !== null) intents.set(attempt.intentKey, now());
          }
        } catch (fault) {
          await onFault(work.key, fault);
        }
        const tookMs = now() - beganMs;
        if (tookMs >= SLOW_MS) heldUntilMs = now() + HOLD_TIMES * tookMs;
      }
    },
  };
}
