/** Every check that one aggregated read of the chain can answer, in their order, for both kinds of actions. */
import { COVER_KIND } from '../../contracts-abi/cover-data.ts';
import { firstRefusal, type Refusal } from '../refusal.ts';
import { isCancel, isTrade, mostSpent, type SignedAction } from '../signed-action.ts';
import { checkBalance, checkCoverBalance } from './balance.ts';
import { checkDeadline } from './deadline.ts';
import { checkCoverEnabled, checkGrant } from './grant.ts';
import { checkCoverLimits, checkLimits } from './limits.ts';
import { checkPause } from './pause.ts';
import type { Session } from './session.ts';

/** The first refusal, or null. That the nonce is unused is known already. */
export function sessionRefusal(
  action: SignedAction,
  session: Session,
  marginSeconds: number,
): Refusal | null {
  const { blockTime, grant } = session;
  const { deadline } = action;
  return firstRefusal([
    ['grant', () => checkGrant(action, session)],
    [
      'deadline',
      () => checkDeadline({ deadline, blockTime, validUntil: grant.validUntil, marginSeconds }),
    ],
    ...(isTrade(action)
      ? ([
          ['limits', () => checkLimits(action, session)],
          ['pause', () => checkPause(session)],
          ['balance', () => checkBalance(action, session)],
        ] as const)
      : ([
          ['grant', () => checkCoverEnabled(session)],
          ['limits', () => checkCoverLimits(coverSpending(action), session)],
          ['pause', () => checkPause(session)],
          ['balance', () => checkCoverBalance(coverSpending(action), session)],
        ] as const)),
  ]);
}

function coverSpending(action: SignedAction) {
  return {
    fee: action.fee,
    // A take may cost less than its limit.
    least: action.kind === COVER_KIND.request ? mostSpent(action) : 0n,
    locks: !isCancel(action),
  };
}
