/** What the relayer refuses, as values: a code of the one table, words for a person, and what the client does next. */
import { ApiError, type ErrorCode } from '../runtime/errors.ts';

/** wire.md, Relayer, column `next`. */
type Next = 'rebuild' | 'ask_owner' | 'reconcile' | 'wait' | 'resign_fee';

const NEXT: Partial<Record<ErrorCode, Next>> = {
  BAD_REQUEST: 'rebuild',
  BAD_SIGNATURE: 'rebuild',
  SESSION_INACTIVE: 'ask_owner',
  SESSION_LIMIT: 'ask_owner',
  NONCE_USED: 'reconcile',
  SLOT_TAKEN: 'wait',
  EXPIRED: 'rebuild',
  SIMULATION_FAILED: 'rebuild',
  INSUFFICIENT_FUNDS: 'rebuild',
  INSUFFICIENT_SHARES: 'rebuild',
  NO_REFERENCE: 'rebuild',
  NOT_A_HOLDER: 'rebuild',
  NO_COVER: 'rebuild',
  COVER_CLOSED: 'rebuild',
  ORDER_NOT_OPEN: 'rebuild',
  FEE_REQUIRED: 'resign_fee',
  RATE_LIMITED: 'wait',
  PAUSED: 'wait',
  SERVER: 'reconcile',
  UPSTREAM: 'reconcile',
  UNCERTAIN: 'reconcile',
};

/** Which check an action failed, in the order in which they are made. */
export type CheckName =
  | 'schema'
  | 'slot'
  | 'signature'
  | 'list'
  | 'rate'
  | 'quarantine'
  | 'budget'
  | 'nonce'
  | 'grant'
  | 'deadline'
  | 'limits'
  | 'pause'
  | 'balance'
  | 'quota'
  | 'wallet'
  | 'simulation'
  | 'pending'
  | 'fee'
  | 'relayer'
  | 'chain'
  | 'inclusion';

/** Where a refusal names none. */
const CHECK: Partial<Record<ErrorCode, CheckName>> = {
  BAD_REQUEST: 'schema',
  BAD_SIGNATURE: 'signature',
  SESSION_INACTIVE: 'grant',
  SESSION_LIMIT: 'limits',
  NONCE_USED: 'nonce',
  SLOT_TAKEN: 'slot',
  EXPIRED: 'deadline',
  SIMULATION_FAILED: 'simulation',
  INSUFFICIENT_FUNDS: 'simulation',
  INSUFFICIENT_SHARES: 'simulation',
  NO_REFERENCE: 'simulation',
  NOT_A_HOLDER: 'simulation',
  NO_COVER: 'simulation',
  COVER_CLOSED: 'simulation',
  ORDER_NOT_OPEN: 'simulation',
  FEE_REQUIRED: 'fee',
  RATE_LIMITED: 'rate',
  PAUSED: 'relayer',
  SERVER: 'relayer',
  UPSTREAM: 'chain',
  UNCERTAIN: 'inclusion',
};

export type Refusal = {
  code: ErrorCode;
  /** Absent: the one that the code stands for. */
  check?: CheckName;
  /** Absent: the one that the code stands for. */
  next?: Next;
  /** Reaches the client: no raw input, no secret. */
  message: string;
  /** Further fields of the body; chain amounts as decimal strings. */
  details?: Record<string, unknown>;
  retryAfterSeconds?: number;
};

export type Check = { ok: true } | { ok: false; refusal: Refusal };

export const PASSED: Check = { ok: true };

export function refuse(code: ErrorCode, message: string, details?: Record<string, unknown>): Check {
  return {
    ok: false,
    refusal: details === undefined ? { code, message } : { code, message, details },
  };
}

/** The first check that refuses, under its name, or null: later ones are not evaluated. */
export function firstRefusal(
  checks: readonly (readonly [name: CheckName, check: () => Check])[],
): Refusal | null {
  for (const [name, check] of checks) {
    const result = check();
    if (!result.ok) return { check: name, ...result.refusal };
  }
  return null;
}

export function refusalError(refusal: Refusal): ApiError {
  const { check, next, details, retryAfterSeconds } = refusal;
  return new ApiError(refusal.code, refusal.message, {
    details: {
      ...details,
      ...(check === undefined ? {} : { check }),
      ...(next === undefined ? {} : { next }),
    },
    ...(retryAfterSeconds === undefined
      ? {}
      : { headers: { 'Retry-After': String(retryAfterSeconds) } }),
  });
}

/** `{ok:false, error, code, retryable, …details, check?, next?}` (wire.md, Relayer). */
export function relayErrorBody(error: ApiError): Record<string, unknown> {
  const next = NEXT[error.code];
  const check = CHECK[error.code];
  return {
    ok: false,
    ...(check === undefined ? {} : { check }),
    ...(next === undefined ? {} : { next }),
    ...error.body(),
  };
}
