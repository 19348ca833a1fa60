/** The id that ties an answer to its log lines. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * The client's own id where it is plain and short, else a new one. 40 characters hold a UUID, a ULID or a trace id, and
 * no 32 bytes in hex, base58 or base64: a key pasted here is never sent back or logged.
 */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w-]{1,40}$/.test(given) ? given : randomUUID();
}
