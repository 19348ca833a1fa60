/** Intents of the sender's own, which take a nonce that nobody holds. */
import type { Entry } from './entry.ts';

export const FILL_KEYS = 'sender:fill:';

/**
 * One that was written and whose nonce could not be taken or signed for, since the store failed or the process ended.
 * It is for that nonce alone: sent as any other intent it would take a new one, for nothing.
 */
export function isLeftFill({ key, phase, nonce }: Entry): boolean {
  return phase === 'queued' && nonce === null && key.startsWith(FILL_KEYS);
}
