/** The listening socket: deadlines for slow clients, and the one error shape for what is no request at all. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ApiError } from '../errors.ts';
import { OperatorError } from '../operator-error.ts';
import { type ErrorBody, plainErrorBody } from './send-error.ts';

export type Listening = { url: string; port: number; close: (deadlineMs: number) => Promise<void> };

export type ListenOptions = {
  errorBody?: ErrorBody;
  /** Longest that request line and headers may take. */
  headersTimeoutMs?: number;
  /** Longest that a whole request may take, its body included. */
  requestTimeoutMs?: number;
};

/** Listens; rejects with a sentence that names the port when it is taken. */
export async function listen(
  handle: RequestListener,
  host: string,
  port: number,
  options: ListenOptions = {},
): Promise<Listening> {
  const { headersTimeoutMs = 10_000, requestTimeoutMs = 30_000 } = options;
  const server: Server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      // Node looks for late requests this often; its default of 30 s would double every deadline.
      connectionsCheckingInterval: Math.min(5_000, headersTimeoutMs),
    },
    handle,
  );
  server.keepAliveTimeout = 65_000;
  // Node would answer 417 without a body to an Expect that it does not know; RFC 9110 lets us ignore it.
  server.on('checkExpectation', handle);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    refuseConnection(error, socket as Socket, options.errorBody ?? plainErrorBody);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new OperatorError(
              `port ${port} on ${host} is taken: stop what uses it or set another port`,
            )
          : error,
      );
    });
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: (deadlineMs) =>
      new Promise<void>((resolve) => {
        const force = setTimeout(() => server.closeAllConnections(), deadlineMs);
        // A kept-alive connection goes idle only after its last answer: ask again until all are gone.
        const idle = setInterval(() => server.closeIdleConnections(), 50);
        server.close(() => {
          clearTimeout(force);
          clearInterval(idle);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/** What Node refuses before any route sees it (a request line of 20 kB, no HTTP at all, a body that never ends). */
function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Socket,
  errorBody: ErrorBody,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const refusal = refusalOf(error.code);
  const body = JSON.stringify(errorBody(refusal));
  const lines = [
    `HTTP/1.1 ${refusal.status} Refused`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

function refusalOf(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new ApiError('BAD_REQUEST', 'the request line or headers are too large', {
      status: 413,
    });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ApiError('BAD_REQUEST', 'the request did not arrive in time');
  }
  return new ApiError('BAD_REQUEST', 'this is not a valid HTTP request');
}
