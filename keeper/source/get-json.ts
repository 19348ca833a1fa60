/** One GET of a source: bounded in time and size, and never from where the source would send us on to. */
import { DeadlineError } from '../../runtime/deadline.ts';

export type Reading = {
  /** Deadline of one request, body included. */
  timeoutMs: number;
  maxBytes: number;
};

/** `why`: the status, a code of the connection, or the name of what ended it. */
export type JsonRead = { tag: 'json'; json: unknown } | { tag: 'failed'; why: string };

/** Never throws. */
export async function getJson(
  url: string,
  { timeoutMs, maxBytes }: Reading,
  signal: AbortSignal,
): Promise<JsonRead> {
  // A timer of our own: AbortSignal.any() over AbortSignal.timeout() can lose the time-out to garbage collection.
  const abort = new AbortController();
  const onStop = (): void => abort.abort(signal.reason);
  const timer = setTimeout(() => {
    abort.abort(new DeadlineError('the source', timeoutMs));
  }, timeoutMs);
  signal.addEventListener('abort', onStop, { once: true });
  try {
    signal.throwIfAborted();
    const response = await fetch(url, {
      headers: { accept: 'application/json' },
      // A redirect would let one source speak with the name of another.
      redirect: 'error',
      signal: abort.signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return { tag: 'failed', why: `HTTP ${response.status}` };
    }
    const text = await readCapped(response, maxBytes);
    if (text === null) return { tag: 'failed', why: `more than ${maxBytes} bytes` };
    return { tag: 'json', json: JSON.parse(text) };
  } catch (error) {
    // Expected: no connection, time-out, not JSON. The next time asks again.
    return { tag: 'failed', why: shortReason(error) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onStop);
  }
}

/** The body as text, or null once it exceeds `maxBytes`. */
async function readCapped(response: Response, maxBytes: number): Promise<string | null> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (size > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function shortReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault';
  if (error instanceof SyntaxError) return 'not JSON';
  const code = (error.cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : error.name;
}
