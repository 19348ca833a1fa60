/** What every answer must keep to, whatever was asked. */
import { ERROR_TABLE, type ErrorCode } from '../../runtime/errors.ts';
import type { WireAnswer, WireRequest } from './wire-request.ts';

const ALWAYS = ['x-request-id', 'x-content-type-options', 'access-control-allow-origin', 'vary'];

/** Null where all is well; else what is not. `faults`: statuses of 500 and above that a real fault explains. */
export function broken(
  request: WireRequest,
  answer: WireAnswer,
  faults: readonly number[] = [],
): string | null {
  const { status, headers, text } = answer;
  if (status >= 500 && !faults.includes(status)) return 'a fault';
  const absent = ALWAYS.find((name) => headers[name] === undefined);
  if (absent !== undefined) return `no ${absent}`;
  if (request.method === 'HEAD' || status === 204 || status === 304) {
    return text === '' ? null : 'a body where none belongs';
  }
  const isJson = String(headers['content-type']).startsWith('application/json');
  // The shapes of what succeeds are the contract tests' business.
  if (status < 400) return null;
  const body = isJson ? parsed(text) : undefined;
  if (isJson && body === undefined) return 'no JSON';
  if (!isJson) return 'a refusal that is no JSON';
  if (status === 405 && headers.allow === undefined) return 'no Allow';
  // JSON-RPC has a shape of its own for what it refuses.
  return isRpcRefusal(request, body) ? null : brokenRefusal(status, body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // expected: told as broken
    return undefined;
  }
}

function isRpcRefusal(request: WireRequest, body: unknown): boolean {
  const { jsonrpc, error } = (body ?? {}) as { jsonrpc?: unknown; error?: unknown };
  return (
    request.path.toLowerCase().includes('/mcp') && jsonrpc === '2.0' && typeof error === 'object'
  );
}

/** Statuses that a code has beside its own (wire.md, Errors). */
const ALSO: Partial<Record<ErrorCode, readonly number[]>> = {
  BAD_REQUEST: [413, 415],
  UNKNOWN_BASKET: [404],
  INSUFFICIENT_SHARES: [400],
  ORDER_NOT_OPEN: [409],
  PAUSED: [429],
};

function brokenRefusal(status: number, body: unknown): string | null {
  const { error, code, retryable } = (body ?? {}) as Record<string, unknown>;
  if (typeof error !== 'string' || error === '') return 'no error text';
  if (typeof code !== 'string' || !(code in ERROR_TABLE)) return 'no known code';
  const known = code as ErrorCode;
  if (retryable !== ERROR_TABLE[known].retryable) return 'retryable is not the table’s';
  const statuses = [ERROR_TABLE[known].status, ...(ALSO[known] ?? [])];
  return statuses.includes(status) ? null : `${code} under ${status}`;
}

export function codeOf({ text }: WireAnswer): string | null {
  const { code } = (parsed(text) ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : null;
}
