/**
 * Ids of a source that the chain does not know. Pure; times in unix milliseconds.
 *
 * One is no lie: a node of ours may lag behind the source's, and a reorg takes orders back. So an id counts at once only
 * where our node has seen the block that the source speaks of, otherwise after a while; and one that the chain knows
 * later counts no more. A source with more of them than a reorg leaves makes them up.
 */

export type UnknownRules = {
  /** So many at a time are forgiven. */
  most: number;
  windowMs: number;
  /** After so long our node should know what the source's knew. */
  lagMs: number;
  /** Ids that are held of one source. */
  mostHeld: number;
};

export const UNKNOWN_RULES: UnknownRules = {
  most: 20,
  windowMs: 600_000,
  lagMs: 15_000,
  mostHeld: 100,
};

/** By id: since when it is unknown, and whether our node had seen the source's block then. */
export type UnknownIds = ReadonlyMap<string, { sinceMs: number; caughtUp: boolean }>;

export const NONE_UNKNOWN: UnknownIds = new Map();

/** What is held once the chain did not know `id`; full, it takes no more until the window has passed. */
export function withUnknown(
  held: UnknownIds,
  id: string,
  caughtUp: boolean,
  nowMs: number,
  rules: UnknownRules,
): UnknownIds {
  const fresh = new Map([...held].filter(([, { sinceMs }]) => nowMs - sinceMs < rules.windowMs));
  const before = fresh.get(id);
  if (before === undefined && fresh.size >= rules.mostHeld) return fresh;
  const sinceMs = before?.sinceMs ?? nowMs;
  return fresh.set(id, { sinceMs, caughtUp: caughtUp || before?.caughtUp === true });
}

/** What is held once the chain knew `id`. */
export function withoutUnknown(held: UnknownIds, id: string): UnknownIds {
  if (!held.has(id)) return held;
  return new Map([...held].filter(([other]) => other !== id));
}

/** Whether so much is held against the source that it is not to be asked any more. */
export function isMadeUp(held: UnknownIds, nowMs: number, rules: UnknownRules): boolean {
  let count = 0;
  for (const { sinceMs, caughtUp } of held.values()) {
    const age = nowMs - sinceMs;
    if (age < rules.windowMs && (caughtUp || age >= rules.lagMs)) count += 1;
  }
  return count > rules.most;
}
