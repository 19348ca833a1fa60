/** What the plans of all session actions share: they are signed after they are built, and sent by a relayer. */
import { MAX_ACTION_LIFETIME } from '../../contracts-abi/constants.ts';

/** Seconds: about five minutes (wire.md); the modules accept up to fifteen. */
export const ACTION_LIFETIME = 300;
if (BigInt(ACTION_LIFETIME) > MAX_ACTION_LIFETIME) throw new RangeError('ACTION_LIFETIME');

/** The simulation of such a plan (wire.md). */
export const SKIPPED = {
  ok: null,
  skipped: 'awaits the signed action: the relayer simulates it before it is sent',
} as const;
