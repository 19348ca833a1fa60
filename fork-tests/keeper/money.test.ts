/** The keeper's money on a real chain: books that equal the balances, sweeps, top-ups, and the doctor. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Address, erc20Abi, parseAbiItem } from 'viem';
import { afterEach, describe, expect, test } from 'vitest';
import { runDoctor } from '../../keeper/cli/doctor.ts';
import { runStatement } from '../../keeper/cli/statement.ts';
import { keeperConfigSchema } from '../../keeper/config.ts';
import { type StoreTables, storeMigrations } from '../../keeper/journal/migrations.ts';
import { createMoves } from '../../runtime/money/moves.ts';
import { createKeeper, type Keeper } from '../../keeper/keeper.ts';
import { readStatement, type Statement, totalOf } from '../../keeper/money/statement.ts';
import { loadConfig } from '../../runtime/config.ts';
import { createLogger } from '../../runtime/logger.ts';
import { openStore } from '../../runtime/store/store.ts';
import { useFork } from '../harness/fork.ts';
import { mined } from '../harness/mined.ts';
import { useDueOrders } from './due-orders.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { balanceOf, cancelFirst } from './orders.ts';
import { keeperEnv, launchKeeper, metricOf, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const due = useDueOrders(fork, 3);
const COLD: Address = '0x000000000000000000000000000000000000c01d';
const wallet = (): Address => fork.accounts.keeper.account.address;

const folders: string[] = [];
afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'basket-keeper-money-'));
  folders.push(made);
  return made;
}

/** A keeper on an environment that outlives it: the next one opens the same journal. */
async function keeperOn(env: Record<string, string>): Promise<Keeper> {
  const config = loadConfig(keeperConfigSchema, env);
  return createKeeper(config, createLogger('keeper', config.LOG_LEVEL), {
    dryRun: false,
    serve: true,
  });
}

async function earned(dollars: number): Promise<void> {
  await mined(
    fork,
    fork.userClient('alice').writeContract({
      address: fork.deployment.usdg,
      abi: erc20Abi,
      functionName: 'transfer',
      args: [wallet(), BigInt(Math.round(dollars * 1e6))],
    }),
  );
}

async function statementOf(env: Record<string, string>): Promise<Statement> {
  const url = env.DATABASE_URL ?? '';
  const store = await openStore<StoreTables>({ url, migrations: storeMigrations });
  try {
    return await readStatement(store.db, 0);
  } finally {
    await store.close();
  }
}

async function sweptTo(to: Address): Promise<bigint[]> {
  const logs = await fork.client.getLogs({
    address: fork.deployment.usdg,
    event: parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)'),
    args: { from: wallet(), to },
    fromBlock: BigInt(fork.deployment.startBlock),
  });
  return logs.map(({ args }) => args.value ?? 0n);
}

const allowance = (): Promise<bigint> =>
  fork.client.readContract({
    address: fork.deployment.usdg,
    abi: erc20Abi,
    functionName: 'allowance',
    args: [wallet(), fork.deployment.swapRouter02],
  });

describe('the books', () => {
  test('equal the balances to the base unit: fills, a lost race, a sweep and a top-up', async () => {
    const { usdg } = fork.deployment;
    await earned(30);
    await fork.client.setBalance({ address: wallet(), value: 10n ** 17n });
    const usdgBefore = await balanceOf(fork, usdg, wallet());
    const weiBefore = await fork.client.getBalance({ address: wallet() });
    const source = await startJobServer();
    const [lost, ...others] = due.jobs;
    source.jobs(others);
    const keeper = await launchKeeper(fork, [source.url], {
      env: {
        KEEPER_SWEEP_TO: COLD,
        KEEPER_FLOAT_USDG: '20',
        KEEPER_SWEEP_LEAST_USDG: '0.01',
        KEEPER_LOW_ETH_TRANSACTIONS: '100000',
        KEEPER_TOPUP_DAILY_USDG: '4',
        KEEPER_TOPUP_USDG: '4',
      },
    });
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);

    source.jobs([lost]);
    await fork.client.setAutomine(false);
    try {
      await keeper.tick();
      const id = due.ids.find((one) => one === lost?.id);
      if (id === undefined) throw new Error('no such order');
      // Its owner is faster within the block.
      await cancelFirst(fork, id);
      await fork.client.mine({ blocks: 1 });
    } finally {
      await fork.client.setAutomine(true);
    }
    await keeper.housekeep('balances');
    await keeper.housekeep('sweep');
    await fork.client.mine({ blocks: 2 });
    await until('the books are closed', async () => {
      await keeper.tick();
      return (await keeper.journal.unsettled(10)).length === 0;
    });
    await keeper.housekeep('balances');

    const statement = await statementOf(keeper.env);
    const total = totalOf(statement.earnings);
    const moved = statement.moves.reduce((sum, { movedUsdg }) => sum + movedUsdg, 0n);
    const received = statement.moves.reduce((sum, { receivedWei }) => sum + receivedWei, 0n);
    const movesGas = statement.moves.reduce((sum, { gasWei }) => sum + gasWei, 0n);
    expect(statement.open).toBe(0);
    expect(total).toMatchObject({ executed: 2, reverted: 1, unpriced: 0 });
    expect(total.feesUsdg).toBeGreaterThanOrEqual(500_000n);
    expect(statement.moves.map(({ kind, executed }) => [kind, executed])).toEqual([
      ['approve', 1],
      ['sweep', 1],
      ['topup', 1],
    ]);
    expect(received).toBeGreaterThan(0n);
    expect(await balanceOf(fork, usdg, wallet())).toBe(usdgBefore + total.feesUsdg - moved);
    expect(await balanceOf(fork, usdg, wallet())).toBe(20_000_000n);
    expect(await balanceOf(fork, usdg, COLD)).toBe(moved - 4_000_000n);
    expect(await fork.client.getBalance({ address: wallet() })).toBe(
      weiBefore + received - total.gasWei - movesGas,
    );

    // What an operator reads, while the keeper holds its journal.
    let text = '';
    const write = (part: string) => {
      text += part;
    };
    const order = { since: '1d', csv: false, by: 'type' as const };
    expect(await runStatement(order, keeper.env, write)).toBe(0);
    expect(text).toMatch(/^sell +2 +1 +\d+\.\d{6} +/m);
    expect(text).toMatch(/^total +2 +1 +/m);
    text = '';
    expect(await runStatement({ ...order, csv: true, by: 'all' }, keeper.env, write)).toBe(0);
    const rows = text
      .trimEnd()
      .split('\r\n')
      .map((row) => row.split(','));
    const gasColumn = rows[0]?.indexOf('gas_wei') ?? -1;
    const gas = rows.slice(1).reduce((sum, row) => sum + BigInt(row[gasColumn] ?? '0'), 0n);
    expect(gas).toBe(total.gasWei + movesGas);
  });
});

describe('a sweep', () => {
  const settings = {
    KEEPER_SWEEP_TO: COLD,
    KEEPER_FLOAT_USDG: '5',
    KEEPER_SWEEP_LEAST_USDG: '1',
  };

  test('is one, though the keeper ended while it was out, and the next waits for its period', async () => {
    await earned(25);
    const held = await balanceOf(fork, fork.deployment.usdg, wallet());
    const source = await startJobServer();
    const env = keeperEnv(fork, [source.url], folder(), {
      env: { ...settings, KEEPER_DRAIN_MS: '0' },
    });
    const first = await keeperOn(env);
    await fork.client.setAutomine(false);
    let second: Keeper | null = null;
    try {
      const sweeping = first.housekeep('sweep');
      const pending = { address: wallet(), blockTag: 'pending' as const };
      await until('it is out', async () => (await fork.client.getTransactionCount(pending)) === 1);
      await first.stop();
      await sweeping;
      second = await keeperOn(env);
      await second.housekeep('sweep');
      expect(await fork.client.getTransactionCount(pending)).toBe(1);
    } finally {
      await fork.client.setAutomine(true);
      await fork.client.mine({ blocks: 1 });
    }
    try {
      await until('it is in the books', async () => {
        await second?.housekeep('sweep');
        return (await statementOf(env)).moves.length === 1;
      });
      expect(await sweptTo(COLD)).toEqual([held - 5_000_000n]);
      await earned(25);
      await second.housekeep('sweep');
      expect(await sweptTo(COLD)).toHaveLength(1);
    } finally {
      await second.stop();
    }
  });

  test('whose row was written when the process was killed goes out once, under the same number', async () => {
    await earned(25);
    const source = await startJobServer();
    const env = keeperEnv(fork, [source.url], folder(), { env: settings });
    const store = await openStore<StoreTables>({
      url: env.DATABASE_URL ?? '',
      migrations: storeMigrations,
    });
    const intentKey = `sweep:${wallet().toLowerCase()}:1`;
    const stale = { kind: 'sweep', wallet: wallet(), number: 1, counterparty: COLD } as const;
    await createMoves(store.db, { table: 'keeper_moves', now: Date.now }).open({
      ...stale,
      intentKey,
      amountUsdg: 1n,
      amountWei: 0n,
    });
    await store.close();
    const keeper = await keeperOn(env);
    try {
      await keeper.housekeep('sweep');
      await keeper.housekeep('sweep');
      const swept = await sweptTo(COLD);
      expect(swept).toHaveLength(1);
      expect(await balanceOf(fork, fork.deployment.usdg, wallet())).toBe(5_000_000n);
      const { moves } = await statementOf(env);
      expect(moves).toMatchObject([{ kind: 'sweep', executed: 1, movedUsdg: swept[0] }]);
    } finally {
      await keeper.stop();
    }
  });

  test('to a wallet of its own or a contract of the protocol is refused at the start', async () => {
    const source = await startJobServer();
    for (const [to, why] of [
      [wallet(), 'a wallet of this process'],
      [fork.deployment.usdg, '(usdg)'],
      [fork.vault('HEALTH'), 'the vault of HEALTH'],
      ['0x0000000000000000000000000000000000000000', 'the zero address'],
    ] as const) {
      const launched = launchKeeper(fork, [source.url], { env: { KEEPER_SWEEP_TO: to } });
      await expect(launched).rejects.toThrow(why);
    }
  });
});

describe('ETH that runs out', () => {
  test('is warned of, and topped up within the bounds of a day', async () => {
    const source = await startJobServer();
    await earned(50);
    await fork.client.setBalance({ address: wallet(), value: 5n * 10n ** 16n });
    const held = await balanceOf(fork, fork.deployment.usdg, wallet());
    const keeper = await launchKeeper(fork, [source.url], {
      env: {
        KEEPER_LOW_ETH_TRANSACTIONS: '10000',
        KEEPER_TOPUP_DAILY_USDG: '3',
        KEEPER_TOPUP_USDG: '2',
      },
    });
    const spent = async () => held - (await balanceOf(fork, fork.deployment.usdg, wallet()));
    await keeper.housekeep('balances');
    expect(await spent()).toBe(2_000_000n);
    expect(await allowance()).toBe(0n);
    await keeper.housekeep('balances');
    expect(await spent()).toBe(3_000_000n);
    await keeper.housekeep('balances');
    expect(await spent()).toBe(3_000_000n);
    expect(await allowance()).toBe(0n);

    const { moves } = await statementOf(keeper.env);
    const received = moves.reduce((sum, { receivedWei }) => sum + receivedWei, 0n);
    const gas = moves.reduce((sum, { gasWei }) => sum + gasWei, 0n);
    expect(await fork.client.getBalance({ address: wallet() })).toBe(
      5n * 10n ** 16n + received - gas,
    );
    const ready = (await (await fetch(`${keeper.url}/ready`)).json()) as {
      checks: { name: string; ok: boolean; note?: string }[];
    };
    const wallets = ready.checks.find(({ name }) => name === 'wallets');
    expect(wallets).toMatchObject({ ok: true });
    expect(wallets?.note).toMatch(/has ETH for \d+ transactions/);
    expect(await metricOf(keeper, 'transactions_left', wallet())).toBeLessThan(10_000);
  });

  test('is not bought where the pool is pushed away from the average', async () => {
    const source = await startJobServer();
    await earned(50);
    await fork.client.setBalance({ address: wallet(), value: 5n * 10n ** 16n });
    const held = await balanceOf(fork, fork.deployment.usdg, wallet());
    const keeper = await launchKeeper(fork, [source.url], {
      env: { KEEPER_LOW_ETH_TRANSACTIONS: '10000', KEEPER_TOPUP_DAILY_USDG: '3' },
    });
    await fork.pushPrice('WETH', 1.05);
    await keeper.housekeep('balances');
    expect(await balanceOf(fork, fork.deployment.usdg, wallet())).toBe(held);
    expect(await allowance()).toBe(0n);
    expect(await fork.client.getTransactionCount({ address: wallet() })).toBe(0);
  });
});

describe('the doctor', () => {
  test('finds nothing to fix where all is well, beside a running keeper too', async () => {
    const source = await startJobServer();
    const keeper = await launchKeeper(fork, [source.url]);
    const lines: string[] = [];
    expect(await runDoctor(keeper.env, (line) => lines.push(line))).toBe(0);
    const text = lines.join('\n');
    expect(text).not.toContain('fail');
    // The chain's clock was set ahead when the orders were made due.
    expect(text).toMatch(/^(ok|warn) +rpc 1 +127\.0\.0\.1:\d+: chain 4663/m);
    expect(text).toMatch(/^ok +deployment +code at all/m);
    expect(text).toMatch(/^ok +executor/m);
    expect(text).toMatch(/^ok +wallet +0x\w+: \d+(\.\d+)? ETH for about \d+ transactions/m);
    expect(text).toMatch(/^ok +api 1 +127\.0\.0\.1:\d+: 0 jobs, 0 payouts/m);
    expect(text).toMatch(/^ok +store +sqlite, 0 attempts in the journal; a keeper has it/m);
  });

  test('says of each broken part what is wrong and what to do, and still looks at the others', async () => {
    const source = await startJobServer();
    source.answer(500, 'no');
    const gone = await startJobServer();
    await gone.stop();
    const closed = gone.url;
    const place = folder();
    const blocked = join(place, 'file');
    writeFileSync(blocked, '');
    const env = {
      ...keeperEnv(fork, [source.url, closed], place),
      RPC_URLS: `${closed}/secret-key,${fork.url}`,
      DATABASE_URL: `file:${join(blocked, 'keeper.sqlite')}`,
      WALLET_PRIVATE_KEYS: '0x12',
      KEEPER_ALLOW_LIST_FILE: join(place, 'missing.json'),
      KEEPER_SWEEP_TO: fork.deployment.zapper,
      KEEPER_POLL_MS: 'often',
    };
    const lines: string[] = [];
    expect(await runDoctor(env, (line) => lines.push(line))).toBe(1);
    const text = lines.join('\n');
    expect(text).toMatch(/^fail +settings +KEEPER_POLL_MS/m);
    expect(text).toMatch(/^fail +rpc 1 +127\.0\.0\.1:\d+: ECONNREFUSED/m);
    expect(text).toMatch(/^(ok|warn) +rpc 2 +127\.0\.0\.1:\d+: chain 4663/m);
    expect(text).toMatch(/^fail +keys/m);
    expect(text).toMatch(/^fail +api 1 +.*HTTP 500/m);
    expect(text).toMatch(/^fail +api 2 +/m);
    expect(text).toMatch(/^fail +store/m);
    expect(text).toMatch(/^fail +allow-list/m);
    expect(text).toMatch(/^fail +sweep/m);
    expect(text).toMatch(/^ok +deployment +code at all/m);
    expect(text).not.toContain('secret-key');
  });

  test('tells a deployment that is not of this chain, and a wallet without ETH', async () => {
    const source = await startJobServer();
    await fork.client.setBalance({ address: wallet(), value: 0n });
    const env = keeperEnv(fork, [source.url], folder());
    const other = { ...fork.deployment, zapper: '0x00000000000000000000000000000000000000aa' };
    writeFileSync(env.DEPLOYMENT_FILE ?? '', JSON.stringify(other));
    const lines: string[] = [];
    expect(await runDoctor(env, (line) => lines.push(line))).toBe(1);
    const text = lines.join('\n');
    expect(text).toMatch(/^fail +deployment +no code at zapper 0x/m);
    expect(text).toMatch(/^fail +wallet +.*0 ETH for about 0 transactions/m);
  });
});
