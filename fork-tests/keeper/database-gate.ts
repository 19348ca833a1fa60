/** A TCP gate before a PostgreSQL server: shut, it is a server that is gone. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export type Gate = {
  /** The database's URL by way of the gate. */
  url: string;
  /** Cuts every connection and takes none. */
  shut(): Promise<void>;
  /** From now on nothing passes the connections there are, which stay open: a server that has fallen silent. */
  silence(): void;
  /** Takes connections again, on the same port. */
  open(): Promise<void>;
  close(): Promise<void>;
};

export async function startGate(databaseUrl: string): Promise<Gate> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const listenOn = (port: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer((inner) => {
        const outer = connect(Number(target.port), target.hostname);
        for (const [one, other] of [
          [inner, outer],
          [outer, inner],
        ] as const) {
          sockets.add(one);
          one.pipe(other);
          // expected: either side may be cut off
          one.on('error', () => other.destroy());
          one.on('close', () => {
            sockets.delete(one);
            other.destroy();
          });
        }
      });
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve(server));
    });
  let server: Server | null = await listenOn(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  const shut = async (): Promise<void> => {
    const shutting = server;
    server = null;
    if (shutting === null) return;
    const closed = new Promise((resolve) => shutting.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url: url.toString(),
    shut,
    silence: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    open: async () => {
      server ??= await listenOn(port);
    },
    close: shut,
  };
}
