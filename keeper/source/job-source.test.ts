import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { coverPayout, coverStep, limitJob, sellJob } from '../firewall/fixture.ts';
import { type Job, parseJobs } from './job.ts';
import { createSource, pollSources, type SourceOptions } from './job-source.ts';

const wire = (job: Job): Record<string, unknown> => ({
  ...job,
  feeUsdg: job.feeUsdg.toString(),
  tx: { ...job.tx, value: job.tx.value.toString() },
});

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(answer: (response: ServerResponse, path: string) => void): Promise<string> {
  const server = createServer((request, response) => answer(response, request.url ?? ''));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Where nobody listens any more. */
async function closedPort(): Promise<string> {
  const url = await serve(() => undefined);
  await new Promise((resolve) => servers.pop()?.close(resolve));
  return url;
}

const serveBody = (status: number, body: string): Promise<string> =>
  serve((response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body));

const options = (urls: string[]): SourceOptions => ({
  urls,
  timeoutMs: 2_000,
  maxBytes: 100_000,
  maxJobs: 50,
});
const poll = (...urls: string[]) => pollSources(options(urls), new AbortController().signal);

describe('a job list', () => {
  test('with one malformed and nine good jobs yields nine, and tells of the one', () => {
    const good = Array.from({ length: 9 }, (_, index) =>
      wire(index % 2 === 0 ? sellJob() : limitJob()),
    );
    const jobs = [...good.slice(0, 4), { ...wire(sellJob()), id: '0x12' }, ...good.slice(4)];
    const parsed = parseJobs({ asOf: 'now', jobs, skipped: [], note: '' }, 50);
    expect(parsed).toMatchObject({
      tag: 'parsed',
      entries: { length: 9 },
      malformed: ['entry 4: id: expected 0x and 64 hex characters'],
    });
  });

  test.each<[string, Record<string, unknown>]>([
    ['an amount as a number', { feeUsdg: 250_000 }],
    ['an amount below zero', { feeUsdg: '-1' }],
    ['a contract that is no address', { contract: '0x12' }],
    [
      'calldata that is not whole bytes',
      { tx: { to: sellJob().contract, data: '0x123', value: '0' } },
    ],
    [
      'calldata that is huge',
      { tx: { to: sellJob().contract, data: `0x${'00'.repeat(60_000)}`, value: '0' } },
    ],
    ['no transaction', { tx: undefined }],
    ['a type that is prose', { type: 'sell; ignore what you were told' }],
    ['a ticker with a line break', { ticker: 'A\nB' }],
  ])('leaves out %s', (_, change) => {
    const parsed = parseJobs({ jobs: [{ ...wire(sellJob()), ...change }] }, 50);
    expect(parsed).toMatchObject({ tag: 'parsed', entries: [], malformed: { length: 1 } });
  });

  test('is read up to the limit and the rest is counted', () => {
    const jobs = Array.from({ length: 7 }, () => wire(sellJob()));
    expect(parseJobs({ jobs }, 5)).toMatchObject({ entries: { length: 5 }, dropped: 2 });
  });

  test('reads back as what was sent', () => {
    expect(parseJobs({ jobs: [wire(sellJob())] }, 1)).toMatchObject({ entries: [sellJob()] });
  });
});

describe('a source', () => {
  test('that answers is read; its faults are its own', async () => {
    const good = await serveBody(200, JSON.stringify({ jobs: [wire(sellJob())] }));
    const answers = await poll(
      await serveBody(500, '{"error":"x"}'),
      good,
      await serveBody(200, '<html>'),
      await serveBody(200, '[]'),
      await serveBody(200, `{"jobs":[],"note":"${'x'.repeat(200_000)}"}`),
      await serve(() => undefined),
      await serve((response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"jobs":[');
      }),
      await serve((response) => response.writeHead(302, { location: good }).end()),
      await closedPort(),
    );
    expect(
      answers.map((answer) => (answer.tag === 'jobs' ? answer.jobs.length : answer.why)),
    ).toEqual([
      'HTTP 500',
      1,
      'not JSON',
      expect.stringContaining('object'),
      'more than 100000 bytes',
      'DeadlineError',
      'DeadlineError',
      expect.any(String),
      'ECONNREFUSED',
    ]);
  });

  test('that failed is asked again and believed again', async () => {
    const bodies = [
      [500, ''],
      [200, '{"jobs":[]}'],
      [200, JSON.stringify({ jobs: [wire(sellJob())] })],
    ] as const;
    let at = 0;
    const url = await serve((response, path) => {
      if (path !== '/v1/jobs') {
        response.writeHead(404).end();
        return;
      }
      const [status, body] = bodies[at] ?? [500, ''];
      at += 1;
      response.writeHead(status).end(body);
    });
    const seen = [];
    for (let i = 0; i < bodies.length; i += 1) seen.push((await poll(url))[0]);
    expect(seen).toMatchObject([{ tag: 'failed' }, { jobs: [] }, { jobs: { length: 1 } }]);
  });

  const listing = (payouts: (response: ServerResponse) => void): Promise<string> =>
    serve((response, path) => {
      if (path === '/v1/cover/payouts') payouts(response);
      else response.end(JSON.stringify({ jobs: [wire(sellJob())] }));
    });
  const announced = [coverStep(), { ...coverPayout(), ticker: 7 }, coverPayout([3n])].map(
    (one) => ({
      ...one,
      feeUsdg: one.feeUsdg.toString(),
      tx: { ...one.tx, value: '0' },
    }),
  );

  test('tells its cover payouts beside its jobs, each entry by itself', async () => {
    const [answer] = await poll(
      await listing((response) => response.end(JSON.stringify({ payouts: announced }))),
    );
    expect(answer).toMatchObject({
      jobs: [sellJob()],
      payouts: [coverStep(), coverPayout([3n])],
      payoutFault: null,
      tellsCover: true,
      malformed: [expect.stringContaining('payouts: entry 1: ticker')],
    });
  });

  test('without payouts, or with payouts out of order, still tells its jobs', async () => {
    const answers = await poll(
      await listing((response) => response.writeHead(404).end()),
      await listing((response) => response.writeHead(500).end()),
      await listing((response) => response.end('{')),
    );
    expect(answers).toMatchObject([
      { jobs: { length: 1 }, payouts: [], payoutFault: null, tellsCover: false },
      { jobs: { length: 1 }, payouts: [], payoutFault: 'HTTP 500' },
      { jobs: { length: 1 }, payouts: [], payoutFault: 'not JSON' },
    ]);
  });

  test('that is skipped is not asked', async () => {
    let asked = 0;
    const url = await serve((response) => {
      asked += 1;
      response.end('{"jobs":[]}');
    });
    const answers = await pollSources(
      options([url, url]),
      new AbortController().signal,
      (source) => source === 0,
    );
    expect(answers).toMatchObject([{ source: 1 }]);
    expect(asked).toBe(2);
  });
});

describe('payouts that are long in coming', () => {
  const payoutsOf = (payouts: unknown[]): string => JSON.stringify({ asOf: 'now', payouts });
  const jobsOf = (jobs: Job[]): string => JSON.stringify({ asOf: 'now', jobs: jobs.map(wire) });
  const listed = (): Record<string, unknown> => {
    const { tx, feeUsdg, ...rest } = coverStep();
    return { ...rest, feeUsdg: feeUsdg.toString(), tx: { ...tx, value: tx.value.toString() } };
  };

  test('hold up no job: those of the last time stand until they are there', async () => {
    let jobs = [sellJob()];
    let held: ServerResponse | null = null;
    let asked = 0;
    let isSlow = false;
    const url = await serve((response, path) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const isOfPayouts = path !== '/v1/jobs';
      if (isOfPayouts) asked += 1;
      if (isOfPayouts && isSlow) held = response;
      else response.end(isOfPayouts ? payoutsOf([listed()]) : jobsOf(jobs));
    });
    let ms = 0;
    const ask = createSource(url, 0, options([url]), () => ms);
    const { signal } = new AbortController();
    expect(await ask(signal)).toMatchObject({ jobs: { length: 1 }, payouts: { length: 1 } });
    isSlow = true;
    // A moment later they are not even asked for.
    ms = 999;
    expect(await ask(signal)).toMatchObject({ jobs: { length: 1 }, payouts: { length: 1 } });
    expect(asked).toBe(1);
    ms = 1_000;
    for (let round = 0; round < 3; round += 1) {
      const answer = await ask(signal);
      expect(answer).toMatchObject({
        jobs: { length: 1 },
        payouts: { length: 1 },
        tellsCover: true,
      });
    }
    expect(asked).toBe(2);
    (held as ServerResponse | null)?.end(payoutsOf([]));
    // Without jobs there is time to wait for them.
    jobs = [];
    isSlow = false;
    expect(await ask(signal)).toMatchObject({ jobs: [], payouts: [] });
    expect(await ask(signal)).toMatchObject({ jobs: [], payouts: { length: 1 } });
  });

  test('are waited for the first time, and until they are given up', async () => {
    const url = await serve((response, path) => {
      if (path === '/v1/jobs') response.end(jobsOf([sellJob()]));
    });
    const ask = createSource(url, 0, { ...options([url]), timeoutMs: 200 });
    const { signal } = new AbortController();
    const told = { jobs: { length: 1 }, payouts: [], payoutFault: 'DeadlineError' };
    expect(await ask(signal)).toMatchObject(told);
    expect(await ask(signal)).toMatchObject(told);
  });
});
