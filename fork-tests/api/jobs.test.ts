/** Every type of job runs from its own tx by a stranger, and its fee arrives; what cannot be filled hides nothing. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Hex, keccak256, parseEventLogs, toHex } from 'viem';
import { describe, expect, test, vi } from 'vitest';
import type { OrderRow } from '../../api/orders/order-tables.ts';
import { type ApiTables, apiMigrations } from '../../api/tables.ts';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { openStore } from '../../runtime/store/store.ts';
import { useFork } from '../harness/fork.ts';
import { balanceOf, planOf, sendCall, sendPlan } from './send-plan.ts';
import { useApi } from './use-api.ts';

const folder = mkdtempSync(join(tmpdir(), 'jobs-'));
const fork = useFork();
const api = useApi(fork, { settings: { FOLDER: folder } });

type JobRow = {
  type: string;
  contract: Hex;
  id: Hex;
  feeUsdg: string;
  slot: number | null;
  tx: { to: Hex; data: Hex; value: string };
};
type Skipped = { type: string; id: Hex; reason: string };
type Jobs = { jobs: JobRow[]; skipped: Skipped[] };

/** Two constituents: the quickest to quote. */
const TICKER = 'CORE';
const HOUR = 3_600;
/** Of a fill between $25 and $166. */
const LEAST_FEE = '250000';

const address = (role: 'alice' | 'bob' | 'keeper') => fork.accounts[role].account.address;
const usdgOf = (role: 'bob' | 'keeper') => balanceOf(fork, fork.deployment.usdg, address(role));

async function build(route: string, body: object) {
  const plan = planOf(
    await api.post(`/v1/tx/${route}`, { ticker: TICKER, address: address('alice'), ...body }),
  );
  await sendPlan(fork, 'alice', plan);
  return plan;
}

async function jobsWhen(holds: (jobs: Jobs) => boolean, query = ''): Promise<Jobs> {
  const { body } = await api.until(
    `/v1/jobs${query}`,
    ({ status, body }) => status === 200 && holds(body as unknown as Jobs),
  );
  return body as unknown as Jobs;
}

const jobsOf = async (count: number, query = '') =>
  (await jobsWhen(({ jobs }) => jobs.length === count, query)).jobs;

/** A stranger sends it as listed. What its order says it paid, and to whom. */
async function execute(job: JobRow | undefined) {
  if (job === undefined) throw new Error('not listed');
  expect(job.tx).toMatchObject({ to: job.contract, value: '0' });
  const receipt = await sendCall(fork, 'keeper', job.tx.to, job.tx.data);
  expect(receipt.status).toBe('success');
  const logs = parseEventLogs({ abi: exitEscrowAbi, eventName: 'OrderFilled', logs: receipt.logs });
  expect(logs.map(({ args }) => args.id)).toEqual([job.id]);
  return logs[0]?.args;
}

describe('every type of job', () => {
  test('pays the executor that it was asked for', async () => {
    const { minShares } = await build('buy', { amountUsdg: 300 });
    const nav = Number((await api.get(`/v1/baskets/${TICKER}`)).body.nav);
    const shares = (BigInt(minShares) / 3n).toString();
    await build('exit', { shares, stopNav: nav * 1.1 });
    await build('exit', { shares, tpNav: nav * 0.9 });
    await build('exit', { shares, stopNav: nav * 1.1, tpNav: nav * 1.5 });
    await build('limit', { amountUsdg: 100, triggerNav: nav * 1.1 });
    await build('schedule', { amountUsdg: 50, buys: 1, everyHours: 1 });
    const jobs = await jobsOf(5, `?executor=${address('bob')}`);
    // Oldest first.
    expect(jobs.map(({ type, slot }) => [type, slot])).toEqual([
      ['sell', null],
      ['sell', null],
      ['sell', null],
      ['limit', null],
      ['schedule', 0],
    ]);
    for (const job of jobs) {
      expect(job.feeUsdg).toBe(LEAST_FEE);
      const before = await usdgOf('bob');
      const filled = await execute(job);
      expect(filled?.executor).toBe(address('bob'));
      expect(((await usdgOf('bob')) - before).toString()).toBe(LEAST_FEE);
    }
    await jobsOf(0);
  });

  test('a schedule offers each slot once, when it is due, and pays the sender where nobody is named', async () => {
    await build('schedule', { amountUsdg: 50, buys: 3, everyHours: 1 });
    const start = await fork.now();
    const [first] = await jobsOf(1);
    expect(first).toMatchObject({
      type: 'schedule',
      contract: fork.deployment.scheduleEscrow,
      slot: 0,
    });
    const before = await usdgOf('keeper');
    expect((await execute(first))?.executor).toBe(address('keeper'));
    expect(((await usdgOf('keeper')) - before).toString()).toBe(first?.feeUsdg);
    await jobsOf(0);
    await fork.warp(start + HOUR - 10 - (await fork.now()));
    await api.marksSettled();
    await jobsOf(0);

    // The second slot passes unfilled: it is skipped, never made up for.
    await fork.warp(20);
    expect((await jobsOf(1))[0]?.slot).toBe(1);
    await fork.warp(HOUR);
    const [third] = (await jobsWhen(({ jobs }) => jobs[0]?.slot === 2)).jobs;
    await execute(third);
    await jobsOf(0);
    await fork.warp(HOUR);
    await api.marksSettled();
    expect((await jobsOf(0)).length).toBe(0);
  });

  test('a schedule that nobody ends is told of as over', async () => {
    await build('schedule', { amountUsdg: 50, buys: 1, everyHours: 1 });
    const [job] = await jobsOf(1);
    await fork.warp(HOUR);
    const { jobs, skipped } = await jobsWhen((all) =>
      all.skipped.some(({ reason }) => reason.startsWith('expired')),
    );
    expect(jobs).toEqual([]);
    expect(skipped.map(({ type, id }) => [type, id])).toEqual([['schedule', job?.id]]);
  });
});

describe('an order that can never be filled', () => {
  /** Older than any real one, triggered at any NAV, and unknown to the chain. */
  async function writeDead(count: number): Promise<void> {
    const store = await openStore<ApiTables>({
      url: `file:${join(folder, 'api.sqlite')}`,
      migrations: apiMigrations,
    });
    const rows = Array.from(
      { length: count },
      (_, index): OrderRow => ({
        id: keccak256(toHex(`dead ${index}`)),
        escrow: fork.deployment.exitEscrow,
        kind: 'exit',
        owner: address('alice'),
        vault: fork.vault(TICKER),
        amount: '1000000',
        stop_nav: (10n ** 30n).toString(),
        tp_nav: '0',
        trigger_nav: '0',
        deadline: 4_000_000_000,
        opened_block: fork.deployment.startBlock,
        opened_log: 1_000 + index,
        closed_block: null,
        closed_as: null,
      }),
    );
    await store.db.insertInto('order_index').values(rows).execute();
    await store.close();
  }

  test('does not hide those behind it, however many there are', async () => {
    await writeDead(205);
    await build('limit', { amountUsdg: 100 });
    // More than one scan examines: those who wait are told of, and their turn comes.
    const told = await jobsWhen(({ skipped }) =>
      skipped.some(({ reason }) => reason.startsWith('more are due')),
    );
    expect(told.skipped.some(({ reason }) => reason === 'not triggered at this block')).toBe(true);
    const { jobs } = await jobsWhen((all) => all.jobs.length === 1);
    expect(jobs[0]?.type).toBe('limit');
    await execute(jobs[0]);
  });
});

describe('other jobs', () => {
  type Changes = { status: number; body: { tag?: string } };
  const changes = (query = ''): Promise<Changes> => api.get(`/v1/jobs/changes${query}`);

  test('are told of when they are due, and not before; the tag stays while the same are', async () => {
    await api.settled();
    const { tag: none = '' } = (await changes()).body;
    expect((await changes(`?unless=${none}&waitMs=300`)).body.tag).toBe(none);
    let answered = false;
    const waiting = changes(`?unless=${none}&waitMs=30000`).finally(() => {
      answered = true;
    });
    const nav = Number((await api.get(`/v1/baskets/${TICKER}`)).body.nav);
    // Open, and not due.
    await build('limit', { amountUsdg: 100, triggerNav: nav * 0.5 });
    await api.marksSettled();
    expect(answered).toBe(false);
    await build('limit', { amountUsdg: 100, triggerNav: nav * 1.1 });
    const { tag: one = '' } = (await waiting).body;
    expect(one).not.toBe(none);
    const [job] = await jobsOf(1);
    await fork.client.mine({ blocks: 1 });
    await api.marksSettled();
    expect((await changes(`?unless=${one}`)).body.tag).toBe(one);
    const another = changes(`?unless=${one}&waitMs=30000`);
    await execute(job);
    // Gone: no news to who waits for what is due, though the tag is another now.
    const before = one.split('.')[0];
    await api.until('/v1/jobs/changes', ({ text }) => !text.includes(before ?? ''));
    await build('limit', { amountUsdg: 100, triggerNav: nav * 1.1 });
    const { tag: two } = (await another).body;
    expect([none, one]).not.toContain(two);
    const [next] = await jobsOf(1);
    await execute(next);
  });

  test('are not waited for where nothing is known, or by a process that stops', async () => {
    await api.settled();
    const { tag = '' } = (await changes('?waitMs=30000')).body;
    const held = changes(`?unless=${tag}&waitMs=30000`);
    await vi.waitFor(async () => {
      expect((await api.get('/health')).status).toBe(200);
    });
    await api.stop();
    expect((await held).body.tag).toBe(tag);
  });

  test('are waited for by as many as there are places, and nobody who has gone has one', async () => {
    await api.settled();
    const { tag = '' } = (await changes()).body;
    const query = `?unless=${tag}&waitMs=30000`;
    const gone = new AbortController();
    let answered = 0;
    const held = Array.from({ length: 300 }, async () => {
      await fetch(`${api.url}/v1/jobs/changes${query}`, { signal: gone.signal });
      answered += 1;
    });
    const ended = Promise.allSettled(held);
    const waiting = (count: number) =>
      api.until(
        '/metrics',
        ({ text }) => text.includes(`basket_api_jobs_waiting ${count}\n`),
        20_000,
      );
    await waiting(256);
    expect(answered).toBeGreaterThanOrEqual(300 - 256);
    gone.abort();
    await ended;
    await waiting(0);
  });

  test.each(['?waitMs=soon', '?waitMs=-1', '?waitMs=30001', `?unless=${'x'.repeat(65)}`])(
    'are not waited for as %s',
    async (query) => {
      const { status, body } = await api.get(`/v1/jobs/changes${query}`);
      expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    },
  );
});
