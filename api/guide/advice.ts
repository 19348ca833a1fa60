/**
 * What a client does about each code of the one table (runtime/errors.ts): said here once, for the guide and for the
 * tools. `next` is one word to branch on, the relayer's own vocabulary (wire.md, Relayer).
 */
import type { ErrorCode } from '../../runtime/errors.ts';

/** Codes that only the relayer answers. */
type RelayerCode =
  | 'BAD_SIGNATURE'
  | 'FEE_REQUIRED'
  | 'NONCE_USED'
  | 'SLOT_TAKEN'
  | 'EXPIRED'
  | 'SIMULATION_FAILED'
  | 'RATE_LIMITED'
  | 'UNCERTAIN';

export type ApiCode = Exclude<ErrorCode, RelayerCode>;

/** rebuild: change the request; ask_owner: only the owner can help; wait: the same request later. */
export type Next = 'rebuild' | 'ask_owner' | 'wait';

type Advice = {
  /** Null: there is nothing to do, and an agent that is told to do something would do it for ever. */
  next: Next | null;
  /** One clause of the guide. */
  advice: string;
};

export const ADVICE = {
  BAD_REQUEST: { next: 'rebuild', advice: 'fix the field that error names' },
  UNKNOWN_BASKET: { next: 'rebuild', advice: 'use a ticker listed above' },
  NOT_FOUND: { next: 'rebuild', advice: 'check the path or the order id (or pass escrow)' },
  METHOD_NOT_ALLOWED: { next: 'rebuild', advice: 'use the method in Allow' },
  INSUFFICIENT_SHARES: { next: 'rebuild', advice: 'sell at most what the wallet or account holds' },
  INSUFFICIENT_FUNDS: { next: 'rebuild', advice: 'the account has too little USDG: trade less' },
  NO_ROUTE: { next: 'rebuild', advice: 'a constituent cannot be swapped now: other basket' },
  NO_REFERENCE: { next: 'rebuild', advice: 'no trusted price now: other basket, or retry later' },
  ORDER_NOT_OPEN: { next: null, advice: 'already filled or cancelled: nothing to do' },
  NOT_A_HOLDER: { next: 'rebuild', advice: 'hold the basket before covering it' },
  NO_COVER: { next: 'rebuild', advice: 'less cover, another price or range' },
  COVER_CLOSED: { next: 'rebuild', advice: 'pick a week that is open' },
  SESSION_INACTIVE: { next: 'ask_owner', advice: 'the owner approves at approvalUrl' },
  SESSION_LIMIT: { next: 'ask_owner', advice: 'trade less, or the owner widens the grant' },
  NOT_IMPLEMENTED: { next: 'rebuild', advice: 'not offered' },
  UPSTREAM: { next: 'wait', advice: 'the chain is out of reach: retry' },
  PAUSED: {
    next: 'wait',
    advice: 'paused, no reference for cover now, or too many requests (Retry-After): wait',
  },
  SERVER: { next: 'wait', advice: 'our fault: retry' },
} as const satisfies Record<ApiCode, Advice>;

/** @returns undefined where there is nothing to do, and for codes that this service does not answer. */
export function nextOf(code: ErrorCode): Next | undefined {
  return code in ADVICE ? (ADVICE[code as ApiCode].next ?? undefined) : undefined;
}
