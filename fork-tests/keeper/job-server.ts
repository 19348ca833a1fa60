/** A job source under the test's control: serves whatever the test says, or real jobs that the test has bent. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type WireJob = {
  type: string;
  contract: string;
  id: string;
  ticker: string | null;
  vault?: string;
  feeUsdg: string;
  slippageBps: number;
  tx: { to: string; data: string; value: string };
  armData: string;
};

export type JobServer = {
  url: string;
  /** Number of polls of its jobs so far. */
  polls(): number;
  jobs(jobs: readonly unknown[]): void;
  payouts(payouts: readonly unknown[]): void;
  /** The block time that its lists from now on are as of; default: now. */
  asOf(time: string): void;
  answer(status: number, body: string): void;
  /** Refuses connections, as a stopped process does, until `resume`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
};

const running: Server[] = [];

export async function startJobServer(): Promise<JobServer> {
  let reply = { status: 200, body: () => '{"jobs":[]}' };
  let payouts: readonly unknown[] = [];
  let polls = 0;
  let toldAsOf: string | null = null;
  const asOfNow = (): string => toldAsOf ?? new Date().toISOString();
  const server = createServer((request, response) => {
    if (request.url === '/v1/cover/payouts') {
      const body = JSON.stringify({ asOf: asOfNow(), payouts, skipped: [], note: '' });
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      return;
    }
    if (request.url?.startsWith('/v1/jobs/changes') === true) {
      response.writeHead(404).end();
      return;
    }
    polls += 1;
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(reply.body());
  });
  running.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    polls: () => polls,
    jobs: (jobs) => {
      reply = {
        status: 200,
        body: () => JSON.stringify({ asOf: asOfNow(), jobs, skipped: [], note: '' }),
      };
    },
    payouts: (listed) => {
      payouts = listed;
    },
    asOf: (time) => {
      toldAsOf = time;
    },
    answer: (status, body) => {
      reply = { status, body: () => body };
    },
    pause: () => close(server),
    resume: () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve)),
    stop: () => close(server),
  };
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

export async function stopJobServers(): Promise<void> {
  for (const server of running.splice(0)) if (server.listening) await close(server);
}

/** The jobs that a real api lists now. */
export async function realJobs(apiUrl: string): Promise<WireJob[]> {
  const response = await fetch(`${apiUrl}/v1/jobs`);
  return ((await response.json()) as { jobs: WireJob[] }).jobs;
}
