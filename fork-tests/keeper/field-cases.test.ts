/**
 * What operators of comparable systems reported, case by case (the numbers are those of the design's list), and where
 * each is shown. What is not shown elsewhere is shown here, through the fault proxy.
 *
 * | case | what happens | shown by |
 * |---|---|---|
 * | 15 | a job reverts in the estimate | faults "one that reverts in simulation costs no nonce"; here "quarantined" |
 * | 16 | the api answers 500, then nothing, then jobs | faults "500, then an empty list, then garbage, then a job" |
 * | 17 | one malformed and nine good jobs | faults "one malformed and nine good jobs" |
 * | 18 | foreign contract, unknown selector, value, approval | faults "hostile jobs are refused"; lies, all of it |
 * | 19 | two keepers, one job | races "two keepers, one job", "two keepers at the same moment" |
 * | 20 | "not due yet", and due later | races "a job listed before it is due"; here "a node that answers from the past" |
 * | 21 | the fill misses its floor | fills "a fill that misses its floor is armed" |
 * | 22 | chain, head or api stand still | faults "the chain goes away"; here "an api that is gone" |
 * | 23 | 100 kB of revert data | faults "100 kB of revert data is capped" |
 * | 24 | gas above the fee | faults "gas above the fee waits and says why" |
 * | 25 | polled every second while mining takes long | races "polled every tenth of a second"; here "what a node does to a send" |
 */
import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { PATIENCE_RULES } from '../../keeper/policy/patience.ts';
import { useFork } from '../harness/fork.ts';
import { type Fault, type Proxy, startProxy } from '../proxy/proxy.ts';
import { revertingSwaps } from './bent-jobs.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { fillsOf, stateOf } from './orders.ts';
import { type KeeperUnderTest, launchKeeper, metricOf, stopKeepers, until } from './use-keeper.ts';

const MINUTE = 60_000;
const FILLED = 2;

const fork = useFork();
const due = useDueOrders(fork, 2, 60);
const proxies: Proxy[] = [];

afterEach(async () => {
  await stopKeepers();
  vi.restoreAllMocks();
  await stopJobServers();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

async function proxied(): Promise<Proxy> {
  const proxy = await startProxy(fork.url);
  proxies.push(proxy);
  return proxy;
}

/** The keeper's clock, ahead of the machine's by what was let pass. */
function useClock(): { pass(ms: number): void } {
  const real = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead);
  return {
    pass: (ms) => {
      ahead += ms;
    },
  };
}

const timelineOf = async (keeper: KeeperUnderTest, id: string) =>
  (await keeper.journal.timeline(id))[0];
const sentBy = (keeper: KeeperUnderTest) =>
  fork.client.getTransactionCount({ address: keeper.executor });
const fills = () => fillsOf(fork, fork.deployment.exitEscrow, due.first().id);

describe('a job that goes on failing', () => {
  test('is quarantined with its reason, costs nothing there, and comes back when its terms change', async () => {
    const { job, id } = due.first();
    const other = due.jobs.find((candidate) => candidate.id !== id);
    const proxy = await proxied();
    const source = await startJobServer();
    source.jobs([revertingSwaps(job), other]);
    const clock = useClock();
    const keeper = await launchKeeper(fork, [source.url], { rpcUrl: proxy.url });
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    // The good one took the first nonce, whatever became of the bad one.
    expect(await sentBy(keeper)).toBe(1);

    source.jobs([revertingSwaps(job)]);
    await until('it is in quarantine', async () => {
      clock.pass(6 * MINUTE);
      await keeper.tick();
      return (await timelineOf(keeper, id))?.decisions.at(-1)?.decision === 'quarantined';
    });
    const timeline = await timelineOf(keeper, id);
    expect(timeline?.decisions).toMatchObject([
      { decision: 'failed', repeats: PATIENCE_RULES.failuresUntilQuarantine },
      { decision: 'quarantined', detail: timeline?.decisions[0]?.detail },
    ]);
    const { eth_simulateV1: before } = proxy.counts();
    clock.pass(6 * MINUTE);
    await keeper.tick();
    expect(proxy.counts().eth_simulateV1).toBe(before);
    expect(await sentBy(keeper)).toBe(1);

    source.jobs([job]);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    expect(await fills()).toHaveLength(1);
    expect(await sentBy(keeper)).toBe(2);
  });
});

describe('a node that answers from the past', () => {
  test('makes a due job look not due: nothing is sent, and it is filled under the same id once the node is current', async () => {
    const { job, id } = due.first();
    const proxy = await proxied();
    // From before the average had followed.
    const past = proxy.on('*', {}, { fault: 'stale', blocks: await blocksSinceNotDue() });
    const source = await startJobServer();
    source.jobs([job]);
    const keeper = await launchKeeper(fork, [source.url], { rpcUrl: proxy.url });
    await keeper.tick();
    expect((await timelineOf(keeper, id))?.decisions.map(({ decision }) => decision)).toEqual([
      'not_due',
    ]);
    expect(await sentBy(keeper)).toBe(0);
    past.remove();
    await until('it is filled', async () => {
      await keeper.tick();
      return (await stateOf(fork, fork.deployment.exitEscrow, id)) === FILLED;
    });
    expect(await keeper.settle(10_000)).toBe(true);
    expect((await timelineOf(keeper, id))?.attempts).toMatchObject([{ attempt: 1 }]);
  });

  /** The block of the warp made it due; a block at the present may have come since. */
  async function blocksSinceNotDue(): Promise<number> {
    const head = await fork.client.getBlock();
    for (let back = 1n; back < 10n; back += 1n) {
      const block = await fork.client.getBlock({ blockNumber: head.number - back });
      const next = await fork.client.getBlock({ blockNumber: head.number - back + 1n });
      if (next.timestamp - block.timestamp >= 600n) return Number(back);
    }
    throw new Error('no block of before the warp');
  }
});

describe('an api that is gone', () => {
  test('is told by /ready, and what it lists on its return is executed', async () => {
    const { job, id } = due.first();
    const source = await startJobServer();
    const clock = useClock();
    const keeper = await launchKeeper(fork, [source.url]);
    keeper.run();
    const readiness = async () => await (await fetch(`${keeper.url}/ready`)).text();
    await until('it is ready', async () => (await readiness()).includes('"name":"jobs","ok":true'));
    await source.pause();
    // An answer that it had already would be as of after the minute.
    await until(
      'it has asked in vain',
      async () => (await metricOf(keeper, 'source_polls_total', '"failed"')) > 0,
    );
    clock.pass(MINUTE);
    await until('the missing api is told', async () =>
      /no job source has answered for \d+ s: source 0: ECONNREFUSED/.test(await readiness()),
    );
    source.jobs([job]);
    await source.resume();
    await until(
      'it is filled',
      async () => (await stateOf(fork, fork.deployment.exitEscrow, id)) === FILLED,
    );
    await until('it is ready again', async () =>
      (await readiness()).includes('"name":"jobs","ok":true'),
    );
    expect(await fills()).toHaveLength(1);
  });
});

describe('what a node does to a send', () => {
  const error: Fault = { fault: 'error', code: -32_000, message: 'internal', forwarded: true };
  const SENDS: [string, string, Fault, number][] = [
    ['mined, and answered with an error', 'eth_sendRawTransaction', error, 1],
    [
      'mined, and the connection drops',
      'eth_sendRawTransaction',
      { fault: 'drop', forwarded: true },
      1,
    ],
    ['refused with 429, three times', 'eth_sendRawTransaction', { fault: 'http', status: 429 }, 3],
    ['forwarded twice', 'eth_sendRawTransaction', { fault: 'replay', times: 1 }, 2],
    [
      'mined, and its receipt is not found for a while',
      'eth_getTransactionReceipt',
      { fault: 'result', result: null },
      15,
    ],
  ];

  test.each(SENDS)(
    '%s: one transaction, one fill, booked once',
    async (_, method, fault, times) => {
      const { job, id } = due.first();
      const proxy = await proxied();
      const rule = proxy.on(method, { times }, fault);
      const source = await startJobServer();
      source.jobs([job]);
      const keeper = await launchKeeper(fork, [source.url], { rpcUrl: proxy.url });
      keeper.run();
      await until('it is settled', async () => {
        const timeline = await timelineOf(keeper, id);
        return timeline?.attempts[0]?.settled === 1;
      });
      expect(rule.hits).toBeGreaterThan(0);
      expect(await sentBy(keeper)).toBe(1);
      const [fill] = await fills();
      expect((await timelineOf(keeper, id))?.attempts).toMatchObject([
        {
          attempt: 1,
          outcome: 'mined',
          tx_hash: fill?.transactionHash,
          fee_usdg: String(fill?.args.executorFee),
        },
      ]);
    },
  );
});
