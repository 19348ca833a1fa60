/** Which kill comes when: every durable point several times, and moments that nobody chose. */
import { DURABLE_POINTS, type DurablePoint } from '../../runtime/sender/context.ts';

export type Kill =
  | { at: DurablePoint; nth: number }
  /** From outside, so many milliseconds after the work was given. */
  | { at: 'any'; afterMs: number };

/** Points that are reached only while nothing is mined. */
export function needsStall(at: Kill['at']): boolean {
  return /^(replacement|cancel)_/.test(at);
}

/**
 * `count` kills: the durable points in turn, every fourth a random moment.
 * @param random gives [0, 1)
 * @param most times that a point is reached for the work of one kill
 */
export function planKills(count: number, random: () => number, most: number): Kill[] {
  let next = 0;
  return Array.from({ length: count }, (_, index): Kill => {
    if (index % 4 === 3) return { at: 'any', afterMs: Math.floor(random() * 600) };
    const at = DURABLE_POINTS[next % DURABLE_POINTS.length] ?? 'inserted';
    const nth = needsStall(at) ? 1 : 1 + (Math.floor(next / DURABLE_POINTS.length) % most);
    next += 1;
    return { at, nth };
  });
}

/** Settings under which every point comes within seconds. */
export function settingsFor(at: Kill['at']): Record<string, string> {
  const common = {
    SENDER_CONFIRMATIONS: '3',
    SENDER_CONFIRM_AFTER_MS: '1000',
    SENDER_TICK_MS: '50',
    SENDER_REBROADCAST_MS: '500',
  };
  if (!needsStall(at)) return common;
  // A cap just over the first price: one replacement, then the cancel.
  return {
    ...common,
    SENDER_STUCK_AFTER_MS: '700',
    SENDER_MAX_FEE_GWEI: at.startsWith('cancel') ? '0.2' : '50',
  };
}
