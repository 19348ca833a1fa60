/** Requests to the relayer: each with a deadline, each resolving to what came or why nothing did. */
import type { Reply } from './answer.ts';
import { boundedText } from './bounded-text.ts';

export type Http = {
  post(url: string, json: string): Promise<Reply>;
  get(url: string): Promise<Reply>;
};

/** Times in milliseconds. The relayer itself waits up to 15 s for a transaction before it answers a post. */
export function createHttp(options: {
  postTimeoutMs: number;
  getTimeoutMs: number;
  fetch: typeof fetch;
}): Http {
  const ask = async (url: string, init: RequestInit, timeoutMs: number): Promise<Reply> => {
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      const response = await options.fetch(url, {
        ...init,
        // A redirect would carry the body to an address that nobody pinned.
        redirect: 'manual',
        signal: deadline,
      });
      const text = await boundedText(response);
      const body = text === null ? null : parsed(text);
      const retryAfter = response.headers.get('retry-after');
      return {
        tag: 'answered',
        status: response.status,
        body,
        retryAfterSeconds:
          retryAfter !== null && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : null,
      };
    } catch {
      // Expected: no connection, one that broke, or none in time. Whether the request arrived is not known.
      return {
        tag: 'unanswered',
        why: deadline.aborted ? `no answer within ${timeoutMs} ms` : 'the connection failed',
      };
    }
  };
  return {
    post: (url, json) =>
      ask(
        url,
        { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: json },
        options.postTimeoutMs,
      ),
    get: (url) => ask(url, { method: 'GET' }, options.getTimeoutMs),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // expected: a proxy answers in its own words
    return null;
  }
}
