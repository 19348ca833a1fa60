/** Pauses: the guardian's over the service, the owner's over one account. */
import { type Check, PASSED, refuse } from '../refusal.ts';
import type { Session } from './session.ts';

export function checkPause(session: Session): Check {
  if (session.servicePaused) return refuse('PAUSED', 'session actions are paused by the guardian');
  if (session.accountPaused) return refuse('PAUSED', 'the owner has paused this account');
  return PASSED;
}
