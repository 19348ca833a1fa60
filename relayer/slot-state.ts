/** Where a slot stands with the sender: by its attempt of now, unless an earlier one ran after all. */
import type { IntentState, Sender } from '../runtime/sender/types.ts';
import { intentKey, MAX_ATTEMPTS, type Slot } from './slots.ts';

/**
 * A reorg can bring back a transaction that a cancel had replaced: the mined attempt is the truth, whatever became of
 * the ones after it.
 */
export async function senderStateOf(
  sender: Pick<Sender, 'get'>,
  slot: Pick<Slot, 'digest' | 'attempt'>,
): Promise<IntentState | null> {
  const state = async (attempt: number) =>
    (await sender.get(intentKey(slot.digest, attempt)))?.state ?? null;
  const newest = await state(slot.attempt);
  if (newest?.tag === 'mined') return newest;
  const oldest = Math.max(0, slot.attempt - MAX_ATTEMPTS);
  for (let attempt = slot.attempt - 1; attempt >= oldest; attempt -= 1) {
    const earlier = await state(attempt);
    if (earlier?.tag === 'mined') return earlier;
  }
  return newest;
}
