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
  FEE_REQUIRED: 'resign_fee',
  RATE_LIMITED: 'wait',
  PAUSED: 'wait',
  SERVER: 'reconcile',
  UPSTREAM: 'reconcile',
  UNCERTAIN: 'reconcile',
};

export type Refusal = {
  code: ErrorCode;
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

/** The first check that refuses, or null: later ones are not evaluated. */
export function firstRefusal(checks: readonly (() => Check)[]): Refusal | null {
  for (const check of checks) {
    const result = check();
    if (!result.ok) return result.refusal;
  }
  return null;
}

export function refusalError(refusal: Refusal): ApiError {
  return new ApiError(refusal.code, refusal.message, {
    ...(refusal.details === undefined ? {} : { details: refusal.details }),
    ...(refusal.retryAfterSeconds === undefined
      ? {}
      : { headers: { 'Retry-After': String(refusal.retryAfterSeconds) } }),
  });
}

/** `{ok:false, error, code, retryable, …details, next?}` (wire.md, Relayer). */
export function relayErrorBody(error: ApiError): Record<string, unknown> {
  const next = NEXT[error.code];
  return { ok: false, ...error.body(), ...(next === undefined ? {} : { next }) };
}
