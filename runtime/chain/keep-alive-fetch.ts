/**
 * What viem's HTTP transport needs of `fetch`, over Node's own client: a JSON-RPC call is a small body to the same few
 * hosts, and `fetch` costs it several times the processor that the call does (streams, signals, a connection for each
 * request that is under way). Answers that `fetch` would follow elsewhere are left to it.
 */
import { isAscii } from 'node:buffer';
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { createGunzip } from 'node:zlib';
import { ResponseBodyTooLargeError } from 'viem';

/** Connections to one host; what comes beyond waits for one of them. */
const MOST_CONNECTIONS = 64;
/** Longer than what is read from a connection at once. */
const LARGE_BYTES = 256 * 1024;
/** As in viem: a longer answer is none that anything here asks for. */
const MOST_BYTES = 10 * 1024 * 1024;

const ZIPPED = /^(?:x-)?gzip$/i;

const agents = {
  'http:': new HttpAgent({ keepAlive: true, maxSockets: MOST_CONNECTIONS }),
  'https:': new HttpsAgent({ keepAlive: true, maxSockets: MOST_CONNECTIONS }),
};

type Init = { body?: unknown; headers?: unknown; method?: string; signal?: AbortSignal | null };

/** Pass with `maxResponseBodySize: false`: the size is limited here, and the answer has no stream. */
export const keepAliveFetch = async (
  input: string | URL | Request,
  init: Init = {},
): Promise<Response> => await fetchWith(textOf, input, init);

/** @param read takes the body, and says what stands for it */
export async function fetchWith(
  read: (body: Buffer) => string,
  input: string | URL | Request,
  init: Init = {},
): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const response = await ask(url, init).catch((error: unknown) => {
    if (error instanceof ClosedWhileIdle) return ask(url, init);
    throw error;
  });
  const status = response.statusCode ?? 0;
  const body = await bodyOf(response, init.signal).catch((error: unknown) => {
    // The status says enough.
    if (status >= 400 && error instanceof AnswerCutOff) return Buffer.alloc(0);
    throw error;
  });
  if (status >= 300 && status < 400) {
    const followed = await fetch(url, init as RequestInit);
    return answerOf(followed, read(await collected(followed.body ?? [])));
  }
  // An error that calls itself JSON and is none would be told without its status.
  const isHidden = (name: string): boolean => status >= 400 && name === 'content-type';
  const get = (name: string) =>
    isHidden(name.toLowerCase()) ? null : (response.headers[name.toLowerCase()] ?? null);
  return answerOf(
    { status, statusText: response.statusMessage ?? '', headers: { get } },
    read(body),
  );
}

type Head = { status: number; statusText: string; headers: { get: (name: string) => unknown } };

function answerOf({ status, statusText, headers }: Head, text: string): Response {
  return {
    ok: status >= 200 && status < 300,
    status,
    statusText,
    headers,
    body: null,
    text: async () => text,
  } as unknown as Response;
}

/** @throws ResponseBodyTooLargeError */
async function collected(parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const body = new Collected();
  for await (const part of parts) {
    body.add(Buffer.from(part));
    if (body.size > MOST_BYTES) throw tooLarge(body.size);
  }
  return body.whole();
}

const tooLarge = (size: number): Error =>
  new ResponseBodyTooLargeError({ maxSize: MOST_BYTES, size });

/** The connection broke before the whole answer was there: of a shorter one it may hold. */
export class AnswerCutOff extends Error {
  override name = 'AnswerCutOff';

  constructor(options?: ErrorOptions) {
    super('the answer was cut off', options);
  }
}

/** Expected: the other side closed a connection that had been idle in the moment in which it was used again. */
class ClosedWhileIdle extends Error {}

/** @throws what the connection broke by; an AbortError where the signal ended it */
function ask(url: URL, init: Init): Promise<IncomingMessage> {
  const { body, method = 'POST', signal } = init;
  const secure = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(
      url,
      {
        method,
        agent: secure ? agents['https:'] : agents['http:'],
        headers: { ...(init.headers as Record<string, string>), 'accept-encoding': 'gzip' },
        ...(signal === null || signal === undefined ? {} : { signal }),
      },
      resolve,
    );
    request.on('error', (error: NodeJS.ErrnoException) => {
      const closed = request.reusedSocket && error.code === 'ECONNRESET';
      reject(closed ? new ClosedWhileIdle(error.message, { cause: error }) : error);
    });
    request.end(typeof body === 'string' ? body : undefined);
  });
}

/** @throws an AbortError where the signal ended it: a cut-off that the other side is not to blame for */
function bodyOf(response: IncomingMessage, signal?: AbortSignal | null): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const isZipped = ZIPPED.test(response.headers['content-encoding'] ?? '');
    const told = isZipped ? 0 : Number(response.headers['content-length'] ?? 0);
    const body = told >= LARGE_BYTES && told <= MOST_BYTES ? new Filled(told) : new Collected();
    const source = isZipped ? response.pipe(createGunzip()) : response;
    source.on('data', (chunk: Buffer) => {
      // What was unzipped already comes still.
      if (body.size > MOST_BYTES) return;
      body.add(chunk);
      if (body.size <= MOST_BYTES) return;
      reject(tooLarge(body.size));
      response.destroy();
      source.destroy();
    });
    source.on('end', () => resolve(body.whole()));
    source.on('error', (cause) => {
      reject(isZipped ? new AnswerCutOff({ cause }) : cause);
    });
    response.on('aborted', () => {
      const isOurs = signal?.aborted === true;
      reject(isOurs ? new DOMException('aborted', 'AbortError') : new AnswerCutOff());
    });
  });
}

class Collected {
  size = 0;
  readonly #chunks: Buffer[] = [];

  add(chunk: Buffer): void {
    this.size += chunk.length;
    this.#chunks.push(chunk);
  }

  whole(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

/**
 * A body whose length is known. Chunks that are held until the last one is there are old by then, and what is old is
 * freed by a full garbage collection alone: two large answers were enough for one.
 */
class Filled {
  size = 0;
  readonly #bytes: Buffer;

  constructor(length: number) {
    this.#bytes = Buffer.allocUnsafeSlow(length);
  }

  add(chunk: Buffer): void {
    chunk.copy(this.#bytes, this.size);
    this.size += chunk.length;
  }

  whole(): Buffer {
    return this.#bytes.subarray(0, this.size);
  }
}

/** JSON-RPC answers are long and hardly ever hold anything but ASCII, which is there as text at once. */
export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(
    isAscii(bytes) ? 'latin1' : 'utf8',
  );
