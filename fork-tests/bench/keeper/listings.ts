/** Stands between keeper and api and notes when each job was first told to the keeper. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Listings = {
  url: string;
  /** Unix milliseconds at which an answer with this id first went to the keeper. */
  listedMs: ReadonlyMap<string, number>;
  stop(): Promise<void>;
};

export async function noteListings(apiUrl: string): Promise<Listings> {
  const listedMs = new Map<string, number>();
  const server = createServer((request, response) => {
    void (async () => {
      const answer = await fetch(`${apiUrl}${request.url ?? ''}`);
      const text = await answer.text();
      const { jobs = [] } = JSON.parse(text) as { jobs?: { id: string }[] };
      for (const { id } of jobs) if (!listedMs.has(id)) listedMs.set(id, Date.now());
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    listedMs,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
