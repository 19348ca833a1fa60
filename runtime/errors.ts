/**
 * The one table of error codes (wire.md, Errors and Relayer; interface.md section 7). A client branches on `code`;
 * status and retryable follow from it and are stated nowhere else.
 */
export const ERROR_TABLE = {
  BAD_REQUEST: { status: 400, retryable: false },
  UNKNOWN_BASKET: { status: 400, retryable: false },
  NOT_FOUND: { status: 404, retryable: false },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false },
  INSUFFICIENT_SHARES: { status: 422, retryable: false },
  SESSION_INACTIVE: { status: 403, retryable: false },
  SESSION_LIMIT: { status: 403, retryable: false },
  ORDER_NOT_OPEN: { status: 422, retryable: false },
  NO_ROUTE: { status: 422, retryable: false },
  NO_REFERENCE: { status: 422, retryable: false },
  INSUFFICIENT_FUNDS: { status: 422, retryable: false },
  NOT_A_HOLDER: { status: 422, retryable: false },
  NO_COVER: { status: 422, retryable: false },
  COVER_CLOSED: { status: 422, retryable: false },
  NOT_IMPLEMENTED: { status: 501, retryable: false },
  UPSTREAM: { status: 502, retryable: true },
  PAUSED: { status: 503, retryable: true },
  SERVER: { status: 500, retryable: true },
  // The relayer's own.
  BAD_SIGNATURE: { status: 401, retryable: false },
  FEE_REQUIRED: { status: 402, retryable: false },
  NONCE_USED: { status: 409, retryable: false },
  SLOT_TAKEN: { status: 409, retryable: false },
  EXPIRED: { status: 410, retryable: false },
  SIMULATION_FAILED: { status: 422, retryable: false },
  RATE_LIMITED: { status: 429, retryable: true },
  UNCERTAIN: { status: 504, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** Statuses that one code may also carry where wire.md says so (UNKNOWN_BASKET in a path is 404 …). */
export type StatusOverride = 400 | 403 | 404 | 406 | 409 | 413 | 415 | 422 | 429;

/**
 * An expected refusal, thrown anywhere below a route and written by the one error mapper as
 * `{error, code, retryable, …details}`. `message` reaches the client: never put a secret or raw input into it.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryable: boolean;
  /** Extra fields of the body (bigints as decimal strings already). */
  readonly details: Readonly<Record<string, unknown>>;
  /** Extra response headers, e.g. Retry-After or Allow. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      status?: StatusOverride;
      details?: Record<string, unknown>;
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = options.status ?? ERROR_TABLE[code].status;
    this.retryable = ERROR_TABLE[code].retryable;
    this.details = options.details ?? {};
    this.headers = options.headers ?? {};
  }

  body(): Record<string, unknown> {
    return { error: this.message, code: this.code, retryable: this.retryable, ...this.details };
  }
}
