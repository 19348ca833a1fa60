/** Balances that settle the matter without asking the market. */
import { ACTION_KIND } from '../../contracts-abi/typed-data.ts';
import { type Check, PASSED, refuse } from '../refusal.ts';
import type { Session } from './session.ts';

/** A request locks its premium; a take costs at least its fee, and a cancel costs nothing. */
export function checkCoverBalance(
  action: { fee: bigint; least: bigint; locks: boolean },
  session: Session,
): Check {
  if (!action.locks || (session.usdg > 0n && session.usdg >= action.least + action.fee)) {
    return PASSED;
  }
  return refuse('INSUFFICIENT_FUNDS', 'the account holds too little USDG', {
    usdgWei: session.usdg.toString(),
  });
}

/** A sale needs its shares; a buy needs at least its fee. What a buy costs beyond that only the simulation knows. */
export function checkBalance(
  action: { kind: number; amount: bigint; fee: bigint },
  session: Session,
): Check {
  if (action.kind === ACTION_KIND.sell) {
    if (session.shares !== null && session.shares < action.amount) {
      return refuse('INSUFFICIENT_SHARES', 'the account holds fewer shares than the action sells', {
        sharesWei: session.shares.toString(),
      });
    }
  } else if (session.usdg < action.fee || session.usdg === 0n) {
    return refuse('INSUFFICIENT_FUNDS', 'the account holds too little USDG', {
      usdgWei: session.usdg.toString(),
    });
  }
  return PASSED;
}
