/**
 * How long a source is believed that lists what the firewall refuses, or work that pays less than it says. Pure; times
 * in unix milliseconds. One strike is a mistake; three within the hour, and the source is not asked any more for a
 * while that doubles with each relapse. The same listing counts once a minute.
 */

export type Trust = {
  /** When each strike was, oldest first; only those of the last hour count. */
  strikes: readonly number[];
  /** What was last struck, and when, so that a listing polled every second is one strike. */
  last: ReadonlyMap<string, number>;
  drops: number;
  droppedUntilMs: number;
};

export type TrustRules = {
  strikesUntilDrop: number;
  windowMs: number;
  sameEveryMs: number;
  firstDropMs: number;
  longestDropMs: number;
};

export const TRUST_RULES: TrustRules = {
  strikesUntilDrop: 3,
  windowMs: 3_600_000,
  sameEveryMs: 60_000,
  firstDropMs: 600_000,
  longestDropMs: 86_400_000,
};

const MOST_REMEMBERED = 100;

export const TRUSTED: Trust = { strikes: [], last: new Map(), drops: 0, droppedUntilMs: 0 };

export const isDropped = ({ droppedUntilMs }: Trust, nowMs: number): boolean =>
  nowMs < droppedUntilMs;

/** The trust after a listing `what` was found false. */
export function strike(trust: Trust, what: string, nowMs: number, rules: TrustRules): Trust {
  const last = trust.last.get(what);
  if (last !== undefined && nowMs - last < rules.sameEveryMs) return trust;
  const fresh = [...trust.last, [what, nowMs] as const].filter(
    ([, at]) => nowMs - at < rules.windowMs,
  );
  const remembered = new Map(fresh.slice(-MOST_REMEMBERED));
  const strikes = [...trust.strikes.filter((at) => nowMs - at < rules.windowMs), nowMs];
  if (strikes.length < rules.strikesUntilDrop) return { ...trust, strikes, last: remembered };
  return drop(trust, nowMs, rules);
}

/** The trust after a source did what no mistake explains. */
export function drop(trust: Trust, nowMs: number, rules: TrustRules): Trust {
  const ms = Math.min(rules.longestDropMs, rules.firstDropMs * 2 ** Math.min(trust.drops, 20));
  return { strikes: [], last: new Map(), drops: trust.drops + 1, droppedUntilMs: nowMs + ms };
}
