/** Deadlines, by the chain's clock alone: this machine's may be ahead or behind. */
import { MAX_ACTION_LIFETIME } from '../../contracts-abi/constants.ts';
import { type Check, PASSED, refuse } from '../refusal.ts';

/**
 * `marginSeconds`: what an action still needs to be included. The far end is the module's (rule 18 of
 * protocol-rules.md): 15 minutes ahead and never past the grant.
 */
export function checkDeadline(input: {
  deadline: number;
  blockTime: number;
  validUntil: number;
  marginSeconds: number;
}): Check {
  const { deadline, blockTime, validUntil, marginSeconds } = input;
  if (deadline < blockTime + marginSeconds) {
    return refuse(
      'EXPIRED',
      deadline < blockTime
        ? "the deadline is past by the chain's clock"
        : `the deadline is less than ${marginSeconds} s away by the chain's clock: too near to be included`,
      { deadline, chainTime: blockTime },
    );
  }
  if (deadline > blockTime + Number(MAX_ACTION_LIFETIME)) {
    return refuse(
      'BAD_REQUEST',
      `deadline: at most ${MAX_ACTION_LIFETIME} s ahead of the chain's clock`,
    );
  }
  if (deadline > validUntil) return refuse('BAD_REQUEST', 'deadline: past the end of the grant');
  return PASSED;
}
