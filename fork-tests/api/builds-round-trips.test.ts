/** What a build asks of the chain: one aggregated read, then one dry run, and nothing after that. */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useFork } from '../harness/fork.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { balanceOf, planOf, sendApproval, sendPlan } from './send-plan.ts';
import { type Answer, type ApiUnderTest, launchApi } from './use-api.ts';

const fork = useFork();
let proxy: Proxy;
let api: ApiUnderTest & { folder: string };

const alice = () => fork.accounts.alice.account.address;
const build = (route: string, body: object) =>
  api.post(`/v1/tx/${route}`, { ticker: 'CORE', address: alice(), ...body });

beforeAll(async () => {
  proxy = await startProxy(fork.url);
  // Background work once at the start, and then not for the length of this file.
  api = await launchApi(proxy.url, fork.deployment, {
    MARKS_INTERVAL_MS: '60000',
    INDEX_INTERVAL_MS: '100',
    COST_INTERVAL_MS: '3600000',
    CATALOG_INTERVAL_MS: '86400000',
  });
});
afterAll(async () => {
  await api.stop();
  rmSync(api.folder, { recursive: true, force: true });
  await proxy.stop();
});

/** No answer comes sooner, so what begins within as much of a trip's first call has not waited for it. */
const ANSWER_MS = 250;

/** The calls that know the wallet, by round trip. */
async function tripsOf(work: () => Promise<Answer>): Promise<string[][]> {
  const trips: { methods: string[]; beganAt: number }[] = [];
  const knowsWallet = (params: unknown[]) =>
    JSON.stringify(params).toLowerCase().includes(alice().slice(2).toLowerCase());
  const methods = ['eth_call', 'eth_estimateGas', 'eth_simulateV1', 'eth_blockNumber'];
  const rules = methods.map((method) =>
    proxy.on(
      method,
      {
        where: (params) => {
          if (!knowsWallet(params)) return false;
          const now = performance.now();
          const last = trips.at(-1);
          if (last !== undefined && now - last.beganAt < ANSWER_MS) last.methods.push(method);
          else trips.push({ methods: [method], beganAt: now });
          return true;
        },
      },
      { fault: 'delay', ms: ANSWER_MS },
    ),
  );
  planOf(await work());
  for (const rule of rules) rule.remove();
  return trips.map((trip) => trip.methods.toSorted());
}

/** One look at the logs ends before the next begins: what was mined before is in the index after two heads. */
async function indexed(): Promise<void> {
  for (let look = 0; look < 2; look += 1) {
    await fork.warp(1);
    const head = `basket_api_head_block ${await fork.client.getBlockNumber()}\n`;
    await api.until('/metrics', ({ text }) => text.includes(head));
  }
}

const READ = ['eth_call'];
const DRY_RUN = ['eth_call', 'eth_estimateGas'];
const AFTER_APPROVAL = ['eth_simulateV1'];

test('one read and one dry run, of every build', async () => {
  await api.until('/v1/markets', ({ status }) => status === 200);
  const buy = { amountUsdg: 1_000 };
  expect(await tripsOf(() => build('buy', buy))).toEqual([READ, AFTER_APPROVAL]);
  await sendApproval(fork, 'alice', planOf(await build('buy', buy)));
  expect(await tripsOf(() => build('buy', buy))).toEqual([READ, DRY_RUN]);
  expect(await tripsOf(() => build('buy', { ...buy, simulate: false }))).toEqual([READ]);
  await sendPlan(fork, 'alice', planOf(await build('buy', buy)));
  const shares = (await balanceOf(fork, fork.vault('CORE'), alice())).toString();
  // "max" of a balance that no request has asked for: the index has seen it arrive.
  await indexed();
  expect(await tripsOf(() => build('sell', { shares: 'max' }))).toEqual([READ, AFTER_APPROVAL]);
  expect(await tripsOf(() => build('sell', { shares }))).toEqual([READ, AFTER_APPROVAL]);
  expect(await tripsOf(() => build('exit', { shares, stopNav: 1 }))).toEqual([
    READ,
    AFTER_APPROVAL,
  ]);
  expect(await tripsOf(() => build('redeem', { shares }))).toEqual([READ, DRY_RUN]);
  expect(await tripsOf(() => build('limit', { amountUsdg: 10 }))).toEqual([READ, AFTER_APPROVAL]);
  const series = { amountUsdg: 10, buys: 2, everyHours: 1 };
  expect(await tripsOf(() => build('schedule', series))).toEqual([READ, AFTER_APPROVAL]);
});

test('a node without eth_simulateV1 costs the answer, not the build', async () => {
  await api.until('/v1/markets', ({ status }) => status === 200);
  const unknown = proxy.on(
    'eth_simulateV1',
    {},
    { fault: 'error', code: -32_601, message: 'the method does not exist', forwarded: false },
  );
  const skipped = { ok: null, skipped: expect.stringMatching(/does not offer/) };
  const build10 = () => build('limit', { amountUsdg: 10 });
  for (let round = 0; round < 2; round += 1) {
    expect(planOf(await build10()).simulation).toEqual({
      ok: null,
      skipped: expect.stringMatching(/approval/),
      afterApproval: skipped,
    });
  }
  // It is not asked for again at once.
  expect(unknown.hits).toBe(1);
});
