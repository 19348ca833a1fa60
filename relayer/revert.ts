/** What a reverted simulation means for the client. Pure. */
import type { Hex } from 'viem';
import { COVER_KIND } from '../contracts-abi/cover-data.ts';
import { decodeRevert, describeRevert } from '../contracts-abi/revert.ts';
import type { ErrorCode } from '../runtime/errors.ts';
import type { Session } from './checks/session.ts';
import type { Refusal } from './refusal.ts';
import { isCancel, isTrade, mostSpent, type SignedAction } from './signed-action.ts';

const MAX_WRAPPERS = 4;

export type InnermostRevert = {
  /** Name of the innermost error; null when it is none that we know. */
  name: string | null;
  /** "TooMuchUsdg(120, 100)", or words of the contract; capped. */
  text: string;
  /** True when it came out of a call that the account made, not from the module itself. */
  inner: boolean;
};

/** Unwraps ModuleCallFailed. Never throws: what a contract chose to revert with may be anything. */
export function innermostRevert(data: Hex | null): InnermostRevert {
  const text = describeRevert(data);
  let rest = data;
  for (let depth = 0; depth <= MAX_WRAPPERS && rest !== null; depth += 1) {
    const decoded = decodeRevert(rest);
    if (decoded === null) return { name: null, text, inner: depth > 0 };
    if (decoded.name !== 'ModuleCallFailed') return { name: decoded.name, text, inner: depth > 0 };
    rest = decoded.args[0] as Hex;
  }
  return { name: null, text, inner: data !== null };
}

/** Errors of the module itself that have a code of their own (wire.md, Relayer). */
const MODULE_CODES: Readonly<Record<string, ErrorCode>> = {
  BadSignature: 'BAD_SIGNATURE',
  GrantInactive: 'SESSION_INACTIVE',
  GrantExpired: 'SESSION_INACTIVE',
  OwnerChanged: 'SESSION_INACTIVE',
  WrongNonceSpace: 'SESSION_INACTIVE',
  NonceUsed: 'NONCE_USED',
  DeadlinePast: 'EXPIRED',
  SlippageAboveGrant: 'SESSION_LIMIT',
  FeeTooHigh: 'SESSION_LIMIT',
  DailyFeesExceeded: 'SESSION_LIMIT',
  DailyLimitExceeded: 'SESSION_LIMIT',
  NoReference: 'NO_REFERENCE',
  NoSpot: 'NO_REFERENCE',
  Paused: 'PAUSED',
};

/** Errors of the cover module and, since it calls no other, of its market. */
const COVER_CODES: Readonly<Record<string, ErrorCode>> = {
  CoverDisabled: 'SESSION_INACTIVE',
  CoverLimitExceeded: 'SESSION_LIMIT',
  CostAboveCeiling: 'SESSION_LIMIT',
  NotAHolder: 'NOT_A_HOLDER',
  NotARequest: 'ORDER_NOT_OPEN',
  TradingClosed: 'COVER_CLOSED',
};
/** The listing is gone, sold, or dearer than it was: for a take there is no cover, for a cancel nothing to cancel. */
const GONE: readonly string[] = ['NotOpen', 'UnknownListing', 'WrongSide', 'OwnListing'];
const TOO_LITTLE: readonly string[] = ['TooLittleCover', 'TooDear', 'CapReached'];

function coverCode(name: string, action: SignedAction): ErrorCode | undefined {
  if (isTrade(action)) return undefined;
  if (GONE.includes(name)) return isCancel(action) ? 'ORDER_NOT_OPEN' : 'NO_COVER';
  // What is listed nowhere has no basket either.
  const unlisted = name === 'UnknownVault' && action.kind === COVER_KIND.take;
  if (unlisted || TOO_LITTLE.includes(name)) return 'NO_COVER';
  return COVER_CODES[name];
}

/** The refusal of an action whose simulation reverted. */
export function refusalOfRevert(
  decoded: InnermostRevert,
  action: SignedAction,
  session: Session,
): Refusal {
  const details = { revert: decoded.text };
  // An error out of a call that the account made could carry any name: the names of the module do not count there,
  // but for the pause, which the zapper has too.
  const own = decoded.name === null ? undefined : MODULE_CODES[decoded.name];
  if (own !== undefined && (!decoded.inner || own === 'PAUSED')) {
    return { code: own, message: `the action would revert: ${decoded.text}`, details };
  }
  const cover = decoded.name === null ? undefined : coverCode(decoded.name, action);
  if (cover !== undefined) {
    return { code: cover, message: `the action would revert: ${decoded.text}`, details };
  }
  if (decoded.inner && isShortOfUsdg(decoded, action, session)) {
    return { code: 'INSUFFICIENT_FUNDS', message: 'the account holds too little USDG', details };
  }
  return {
    code: 'SIMULATION_FAILED',
    message: `the action would revert: ${decoded.text}`,
    details,
  };
}

/**
 * True when what buys failed moving USDG that the account does not have: a balance error, or any failure of a transfer
 * while the account holds less than the action may spend.
 */
function isShortOfUsdg(decoded: InnermostRevert, action: SignedAction, session: Session): boolean {
  const most = mostSpent(action);
  if (most === 0n || session.usdg >= most + action.fee) return false;
  return (
    decoded.name === 'ERC20InsufficientBalance' ||
    decoded.name === 'SafeERC20FailedOperation' ||
    /exceeds balance|^STF$|insufficient/i.test(decoded.text)
  );
}
