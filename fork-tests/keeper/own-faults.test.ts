/** The keeper's own surroundings fail: its store takes no writes, its machine's time is set back. No order pays for it. */
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { writeFromOutside } from '../harness/outside.ts';
import { useFork } from '../harness/fork.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { fillsOf, stateOf } from './orders.ts';
import { launchKeeper, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const due = useDueOrders(fork);

afterEach(async () => {
  vi.restoreAllMocks();
  await stopKeepers();
  await stopJobServers();
});

const FILLED = 2;
const isFilled = async (): Promise<boolean> =>
  (await stateOf(fork, fork.deployment.exitEscrow, due.first().id)) === FILLED;

/** As a full disk does it: every write of these tables fails until `mend`. */
async function breakStore(
  folder: string,
  tables: readonly string[],
): Promise<{ mend(): Promise<void> }> {
  const file = join(folder, 'keeper.sqlite');
  const names: string[] = [];
  for (const table of tables) {
    for (const event of ['INSERT', 'UPDATE']) {
      const name = `broken_${table}_${event}`;
      await writeFromOutside(
        file,
        `CREATE TRIGGER ${name} BEFORE ${event} ON ${table} BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`,
      );
      names.push(name);
    }
  }
  return {
    mend: async () => {
      for (const name of names) await writeFromOutside(file, `DROP TRIGGER ${name}`);
    },
  };
}

describe('a store that takes no writes', () => {
  test.each([
    ['anywhere', ['keeper_jobs', 'keeper_attempts', 'keeper_decisions', 'sender_intent']],
    ['of attempts', ['keeper_attempts']],
    ['of the sender', ['sender_intent']],
    ['of decisions', ['keeper_decisions']],
  ])(
    '%s: told by /ready, blamed on no order, and the order is filled once afterwards',
    async (_, tables) => {
      const source = await startJobServer();
      source.jobs([due.first().job]);
      const keeper = await launchKeeper(fork, [source.url]);
      const broken = await breakStore(keeper.folder, tables);
      keeper.run();
      await until('the store is told', async () => keeper.status().storeFault !== null);
      const told = await (await fetch(`${keeper.url}/ready`)).text();
      expect(told).toContain('"name":"store","ok":false');
      // Long enough for what blames an order to have blamed it often.
      const from = source.polls();
      await until('twenty polls have passed', async () => source.polls() >= from + 20);
      await broken.mend();
      await until('it is filled', isFilled, 20_000);
      await until('the store is well', async () => keeper.status().storeFault === null);
      expect(await fillsOf(fork, fork.deployment.exitEscrow, due.first().id)).toHaveLength(1);
      expect(await fork.client.getTransactionCount({ address: keeper.executor })).toBe(1);
    },
  );
});

describe('a machine whose time is set back by an hour', () => {
  test('waits no hour before it looks again', async () => {
    const real = Date.now.bind(Date);
    let back = 0;
    vi.spyOn(Date, 'now').mockImplementation(() => real() - back);
    const source = await startJobServer();
    // Not due under this name: it waits for seconds before another look.
    source.jobs([{ ...due.first().job, feeUsdg: '90000000' }]);
    const keeper = await launchKeeper(fork, [source.url]);
    keeper.run();
    const timeline = async () => keeper.journal.timeline(due.first().id);
    await until('it was looked at', async () => (await timeline()).length > 0);
    back = 3_600_000;
    source.jobs([due.first().job]);
    await until('it is filled', isFilled, 30_000);
  });
});
