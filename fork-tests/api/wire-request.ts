/** A request as it goes over the wire: fetch adds headers of its own, follows redirects and decompresses. */
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';

export type WireAnswer = {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
};

export type WireRequest = {
  method?: string;
  /** The request target, byte for byte. */
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** Absent: a connection of its own. */
  agent?: Agent | undefined;
};

/** @throws what the connection says when it ends without an answer. */
export async function wireRequest(url: string, options: WireRequest): Promise<WireAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({
      hostname,
      port,
      method: options.method ?? 'GET',
      path: options.path,
      // Node frames no body of a GET by itself.
      headers: {
        ...(options.body === undefined
          ? {}
          : { 'content-length': String(Buffer.byteLength(options.body)) }),
        ...options.headers,
      },
      agent: options.agent ?? false,
    });
    sent.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString('utf8'),
        });
      });
    });
    sent.once('error', (error: NodeJS.ErrnoException) => {
      // Expected of an agent's connection: the other side closed it in the moment in which it was used again.
      const isClosed = sent.reusedSocket && error.code === 'ECONNRESET';
      if (isClosed) resolve(wireRequest(url, { ...options, agent: undefined }));
      else reject(error);
    });
    sent.end(options.body);
  });
}

/** Lines that a logger has written, parsed. */
export class LogLines {
  readonly texts: string[] = [];

  write(line: string): void {
    this.texts.push(line);
  }

  /** Access-log lines: those that name a request. */
  accesses(): AccessLine[] {
    return this.texts
      .map((text) => JSON.parse(text) as Partial<AccessLine>)
      .filter((line): line is AccessLine => line.req !== undefined);
  }
}

export type AccessLine = {
  level: string;
  msg: string;
  req: { id: string; method: string; url: string };
  res: { status: number };
  responseTime: number;
};

/** How many requests each route, method and status has been counted for, from a page of /metrics. */
export function requestCounts(page: string): Map<string, number> {
  const sample =
    /http_request_duration_seconds_count\{route="([^"]*)",method="([^"]*)",status="([^"]*)"\} (\d+)/g;
  return new Map(
    [...page.matchAll(sample)].map(([, route, method, status, count]) => [
      `${method} ${route} ${status}`,
      Number(count),
    ]),
  );
}
