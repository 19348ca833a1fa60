/** What the client throws: a refusal of the service, or that there was no answer to read. */
import type { ErrorCode } from '../../runtime/errors.ts';

/** Beside the service's own codes: no answer in time, no connection, an answer that is not the service's. */
export type ClientCode = ErrorCode | 'TIMEOUT' | 'UNREACHABLE' | 'UNEXPECTED';

export class ApiClientError extends Error {
  /** HTTP status; 0 where there was no answer. */
  readonly status: number;
  readonly code: ClientCode;
  /** Whether the same call may succeed later. Every call only reads or builds: repeating one is safe. */
  readonly retryable: boolean;
  /** Seconds to wait before the next try, where the service said so. */
  readonly retryAfter?: number;
  /** Names the request in the service's log. */
  readonly requestId?: string;

  constructor(
    message: string,
    fields: {
      status: number;
      code: ClientCode;
      retryable: boolean;
      retryAfter?: number | undefined;
      requestId?: string | undefined;
      cause?: unknown;
    },
  ) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = 'ApiClientError';
    this.status = fields.status;
    this.code = fields.code;
    this.retryable = fields.retryable;
    if (fields.retryAfter !== undefined) this.retryAfter = fields.retryAfter;
    if (fields.requestId !== undefined) this.requestId = fields.requestId;
  }
}

/** Retry-After as seconds from now: a number of them, or a date (RFC 9110, 10.2.3). */
function secondsUntil(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (/^\d+$/.test(text.trim())) return Number(text);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1_000));
}

/** The error of an answer that is no success. */
export function errorOf(response: Response, text: string): ApiClientError {
  const told = {
    status: response.status,
    retryAfter: secondsUntil(response.headers.get('retry-after')),
    requestId: response.headers.get('x-request-id') ?? undefined,
  };
  const body = refusalIn(text);
  if (body !== null) {
    const { error, code, retryable } = body;
    return new ApiClientError(error, { ...told, code, retryable });
  }
  // A proxy on the way answers in its own words.
  const retryable = response.status >= 500 || response.status === 429;
  return new ApiClientError(`unexpected answer with status ${response.status}`, {
    ...told,
    code: 'UNEXPECTED',
    retryable,
  });
}

function refusalIn(text: string): { error: string; code: ErrorCode; retryable: boolean } | null {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null) return null;
    const { error, code, retryable } = body as Record<string, unknown>;
    const whole =
      typeof error === 'string' && typeof code === 'string' && typeof retryable === 'boolean';
    return whole ? { error, code: code as ErrorCode, retryable } : null;
  } catch {
    return null;
  }
}
