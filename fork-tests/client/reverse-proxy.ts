/** A reverse proxy as operators put before the processes: one port, each process under a path of its own. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ReverseProxy = {
  /** Where clients find the process under this path. */
  url(path: string): string;
  /** Sends what comes under `path` to `target`, the path taken off. */
  route(path: string, target: string): void;
  stop(): Promise<void>;
};

export async function startReverseProxy(): Promise<ReverseProxy> {
  const targets = new Map<string, string>();
  const server: Server = createServer((incoming, outgoing) => {
    const asked = incoming.url ?? '/';
    const path = [...targets.keys()].find((prefix) => asked.startsWith(`${prefix}/`));
    const target = path === undefined ? undefined : targets.get(path);
    if (path === undefined || target === undefined) {
      outgoing.writeHead(404).end();
      return;
    }
    const { host: _, ...headers } = incoming.headers;
    const forwarded = request(
      `${target}${asked.slice(path.length)}`,
      {
        method: incoming.method,
        headers: { ...headers, 'x-forwarded-for': incoming.socket.remoteAddress ?? '' },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    forwarded.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    route: (path, target) => void targets.set(path, target),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
