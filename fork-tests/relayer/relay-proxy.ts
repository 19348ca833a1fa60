/** Between a client and a relayer: loses, delays and replaces answers to posts, and outlives the relayer behind it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type PostFault =
  /** The connection breaks; `forwarded` says whether the relayer had the body and answered first. */
  | { fault: 'drop'; forwarded: boolean }
  /** The relayer has the body; nothing is ever answered. */
  | { fault: 'hang' }
  /** The relayer has the body and answers; the client is told this instead. */
  | { fault: 'answer'; status: number; text: string };

export type RelayProxy = {
  url: string;
  /** Where requests go from now on; null: nobody is there. */
  upstream: string | null;
  /** Applied to the next posts, one each, in this order. */
  faults: PostFault[];
  /** Bodies of the posts that came, in order. */
  readonly posts: { action: { fee: string; nonce: string }; signature: string }[];
  /** Statuses that the relayer answered posts with, in order. */
  readonly statuses: number[];
  stop(): Promise<void>;
};

export async function startRelayProxy(): Promise<RelayProxy> {
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const text = await readAll(incoming);
    const isPost = incoming.method === 'POST';
    if (isPost) proxy.posts.push(JSON.parse(text) as RelayProxy['posts'][number]);
    const fault = isPost ? proxy.faults.shift() : undefined;
    if (proxy.upstream === null || (fault?.fault === 'drop' && !fault.forwarded)) {
      incoming.socket.destroy();
      return;
    }
    const answering = fetch(`${proxy.upstream}${incoming.url}`, {
      method: incoming.method ?? 'GET',
      ...(isPost ? { headers: { 'content-type': 'application/json' }, body: text } : {}),
    });
    if (fault?.fault === 'hang') {
      // Nobody waits for it: the relayer may be killed meanwhile.
      answering.catch(() => undefined);
      return;
    }
    const answer = await answering;
    const body = await answer.text();
    if (isPost) proxy.statuses.push(answer.status);
    if (fault?.fault === 'drop') {
      incoming.socket.destroy();
    } else if (fault?.fault === 'answer') {
      outgoing.writeHead(fault.status, { 'content-type': 'text/html' }).end(fault.text);
    } else {
      const retryAfter = answer.headers.get('retry-after');
      outgoing.writeHead(answer.status, {
        'content-type': 'application/json',
        ...(retryAfter === null ? {} : { 'retry-after': retryAfter }),
      });
      outgoing.end(body);
    }
  };
  const server = createServer((incoming, outgoing) => {
    // A relayer that is gone looks to the client like a connection that breaks.
    serve(incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const proxy: RelayProxy = {
    url: `http://127.0.0.1:${port}`,
    upstream: null,
    faults: [],
    posts: [],
    statuses: [],
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}

async function readAll(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
