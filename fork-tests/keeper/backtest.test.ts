/**
 * A session is recorded on one chain and replayed on another Anvil that forks it: what the replay prints is compared
 * with the balances and events of both chains.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEventLogs } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { runBacktest } from '../../keeper/backtest/replay.ts';
import { differences } from '../../keeper/backtest/result.ts';
import { runBacktestCommand } from '../../keeper/cli/backtest.ts';
import { type KeeperConfig, keeperConfigSchema } from '../../keeper/config.ts';
import { loadConfig } from '../../runtime/config.ts';
import { createLogger } from '../../runtime/logger.ts';
import { type Anvil, rpc, startAnvil } from '../anvil.ts';
import { launchApi } from '../api/use-api.ts';
import { CHAIN_ARGUMENTS } from '../chain/arguments.ts';
import { connect } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { realJobs, startJobServer, stopJobServers, type WireJob } from './job-server.ts';
import { balanceOf, buyShares, fillsOf, moveHealth, placeStop } from './orders.ts';
import { type KeeperUnderTest, launchKeeper, stopKeepers, until } from './use-keeper.ts';

const fork = useFork({ whole: true });
const logger = createLogger('keeper', 'fatal');
const folder = mkdtempSync(join(tmpdir(), 'backtest-'));
const jobs: WireJob[] = [];
let scratch: Anvil;

// Two fills that pay the least fee, one that pays more.
beforeAll(async () => {
  const api = await launchApi(fork.url, fork.deployment);
  try {
    const shares = await buyShares(fork, api, 'alice', 'HEALTH', 1_000);
    for (const tenths of [1n, 1n, 6n]) {
      await placeStop(fork, api, 'alice', 'HEALTH', (shares * tenths) / 10n, 0.97);
    }
    await moveHealth(fork, 0.95);
    await api.settled();
    jobs.push(...(await realJobs(api.url)));
  } finally {
    await api.stop();
    rmSync(api.folder, { recursive: true, force: true });
  }
  scratch = await startAnvil({
    forkUrl: fork.url,
    // A question of Anvil's to its upstream is lost now and then: it asks again after this, not after 45 s.
    args: [...CHAIN_ARGUMENTS, '--no-rate-limit', '--no-storage-caching', '--timeout', '5000'],
  });
});
afterAll(async () => {
  await scratch.stop();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
});

const usdgOfKeeper = () =>
  balanceOf(fork, fork.deployment.usdg, fork.accounts.keeper.account.address);

/** What the last replay moved to the keeper on the scratch chain, past the block that it was forked at. */
async function earnedOnScratch(): Promise<bigint> {
  const client = connect(scratch.url);
  const info = await rpc<{ forkConfig: { forkBlockNumber: number } }>(
    scratch.url,
    'anvil_nodeInfo',
  );
  const forkedAt = BigInt(info.forkConfig.forkBlockNumber);
  // No block since: a question about the next one would be an error.
  if ((await client.getBlockNumber({ cacheTime: 0 })) === forkedAt) return 0n;
  const logs = await client.getLogs({
    address: fork.deployment.exitEscrow,
    fromBlock: forkedAt + 1n,
  });
  return parseEventLogs({ abi: exitEscrowAbi, eventName: 'OrderFilled', logs }).reduce(
    (sum, { args }) => sum + args.executorFee,
    0n,
  );
}

/** How many ticks of a recording had jobs to look at, until the first that had none. */
function ticksWithJobs(recording: string): number {
  const ticks = recording
    .split('\n')
    .filter((line) => line.includes('"t":"tick"'))
    .map((line) => JSON.parse(line) as { answers?: { jobs: unknown[] }[] });
  return ticks.findIndex(({ answers }) => answers?.every(({ jobs: told }) => told.length === 0));
}

/** A keeper that fills all three by itself, and the path of its recording. */
async function recordSession(env: Record<string, string>) {
  const source = await startJobServer();
  source.jobs(jobs);
  const keeper: KeeperUnderTest = await launchKeeper(fork, [source.url], {
    // One after the other, the dearest first, as in a replay: what a fill moves in the pools moves the next one's fee.
    env: { KEEPER_BATCH_MAX: '1', KEEPER_CONCURRENCY: '1', ...env },
  });
  return { keeper, source };
}

function configOf(keeper: KeeperUnderTest, env: Record<string, string> = {}) {
  return loadConfig(keeperConfigSchema, { ...keeper.env, ...env });
}

const replayOf = (file: string, config: KeeperConfig, asRecorded = false) =>
  runBacktest({ file, anvilUrl: scratch.url, config, foreign: new Map(), asRecorded, logger });

/** "-$0.123" as base units. */
function baseUnits(text: string): bigint {
  const [, sign, whole = '0', fraction = ''] = /^(-?)\$(\d+)(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  const units = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
  return sign === '-' ? -units : units;
}

describe('a recorded session, replayed', () => {
  test('under another policy differs by what that policy leaves out, to the base unit', async () => {
    const file = join(mkdtempSync(join(folder, '-')), 'recording.ndjson');
    const { keeper, source } = await recordSession({ KEEPER_RECORD_FILE: file });
    const before = await usdgOfKeeper();
    // Usually one tick; what a busy node did not answer in time comes in the next.
    await until('all are filled', async () => {
      await keeper.tick();
      expect(await keeper.settle(10_000)).toBe(true);
      const fills = await Promise.all(
        jobs.map(({ id, contract }) =>
          fillsOf(fork, contract as `0x${string}`, id as `0x${string}`),
        ),
      );
      return fills.every(({ length }) => length === 1);
    });
    source.jobs([]);
    await until('all is settled', async () => {
      await fork.client.mine({ blocks: 1 });
      await keeper.tick();
      return (await keeper.journal.unsettled(10)).length === 0;
    });
    const earned = (await usdgOfKeeper()) - before;
    await keeper.stop();
    const text = readFileSync(file, 'utf8');
    const { privateKey } = fork.accounts.keeper;
    expect(text).not.toContain(privateKey.slice(2));
    expect(text).not.toContain('http');

    // Between the least fee and the larger one.
    const env = { KEEPER_MIN_PROFIT_USDG: '0.4' };
    const config = configOf(keeper, env);
    const backtest = await replayOf(file, config);
    const { recorded, replayed } = backtest;
    expect(backtest.torn).toBe(0);
    expect(recorded.executed).toBe(3);
    expect(recorded.feesUsdg).toBe(earned);
    expect(replayed.executed).toBe(1);
    expect([...replayed.skipped]).toEqual([['does_not_pay', 2]]);

    const fees = await Promise.all(
      jobs.map(async ({ id, contract }) => {
        const [fill] = await fillsOf(fork, contract as `0x${string}`, id as `0x${string}`);
        return { key: `${contract.toLowerCase()}:${id}`, fee: fill?.args.executorFee ?? 0n };
      }),
    );
    const largest = fees.reduce((most, each) => (each.fee > most.fee ? each : most));
    expect(replayed.feesUsdg).toBe(largest.fee);
    // The dearest is filled in the first tick; a replay stands anew at the block of each tick that had jobs.
    const ticks = ticksWithJobs(text);
    expect(ticks).toBeGreaterThan(0);
    expect(await earnedOnScratch()).toBe(ticks === 1 ? replayed.feesUsdg : 0n);
    expect([...replayed.jobs.keys()]).toEqual([largest.key]);

    const byJob = differences(recorded, replayed);
    const sum = [...byJob.values()].reduce((total, { netUsdg }) => total + netUsdg, 0n);
    expect(replayed.netUsdg - recorded.netUsdg).toBe(sum);
    const left = fees.filter(({ key }) => key !== largest.key);
    for (const { key, fee } of left) {
      const job = recorded.jobs.get(key);
      expect(job?.feesUsdg).toBe(fee);
      expect(byJob.get(key)?.netUsdg).toBe(-(fee - (job?.costUsdg ?? 0n)));
    }

    // What is printed says the same.
    const lines: string[] = [];
    const command = { file, anvil: scratch.url, asRecorded: false };
    expect(await runBacktestCommand(command, config, logger, (line) => lines.push(line))).toBe(0);
    const printed = lines
      .find((line) => line.startsWith('net'))
      ?.trim()
      .split(/\s+/)
      .at(-1);
    expect(baseUnits(printed ?? '')).toBe(sum);

    // Under the policy that was recorded, all three: what differs then is the replay's own error, gas alone.
    const again = await replayOf(file, config, true);
    expect(again.replayed.executed).toBe(3);
    expect(again.replayed.feesUsdg).toBe(earned);
    // The chain that was recorded has noticed nothing of it all.
    expect((await usdgOfKeeper()) - before).toBe(earned);
  });

  test('that ended before its fills were final differs in nothing from itself; one that was killed leaves them out', async () => {
    const file = join(mkdtempSync(join(folder, '-')), 'recording.ndjson');
    const { keeper } = await recordSession({
      KEEPER_RECORD_FILE: file,
      SENDER_CONFIRMATIONS: '1000',
    });
    await until('all are filled', async () => {
      await keeper.tick();
      expect(await keeper.settle(10_000)).toBe(true);
      const open = await keeper.journal.unsettled(10);
      return open.filter(({ outcome }) => outcome === 'mined').length === 3;
    });
    await keeper.stop();
    const ended = await replayOf(file, configOf(keeper), true);
    expect(ended.recorded).toMatchObject({ executed: 3, reverted: 0 });
    expect(ended.recorded.open.size).toBe(0);
    expect(ended.replayed.feesUsdg).toBe(ended.recorded.feesUsdg);

    const killed = `${file}.killed`;
    const lines = readFileSync(file, 'utf8').split('\n');
    writeFileSync(killed, lines.filter((line) => !line.includes('"t":"outcome"')).join('\n'));
    const told: string[] = [];
    const command = { file: killed, anvil: scratch.url, asRecorded: true };
    expect(
      await runBacktestCommand(command, configOf(keeper), logger, (line) => told.push(line)),
    ).toBe(0);
    expect(told.join('\n')).toContain('3 jobs were not settled when the recording ended');
    expect(told.find((line) => line.startsWith('net'))).toMatch(/\$0 +\$0 +\$0$/);
    expect(told.join('\n')).not.toContain('skipped, recorded');
  });

  test('under a policy that takes what was left: each job once, though later ticks list it as still open', async () => {
    const file = join(mkdtempSync(join(folder, '-')), 'recording.ndjson');
    const env = { KEEPER_RECORD_FILE: file, KEEPER_MIN_PROFIT_USDG: '5' };
    const { keeper, source } = await recordSession(env);
    await keeper.tick();
    await fork.client.mine({ blocks: 3 });
    source.jobs(jobs.slice(1));
    await keeper.tick();
    await fork.client.mine({ blocks: 1 });
    await keeper.tick();
    await keeper.stop();
    appendFileSync(file, '{"t":"tick","at":1');

    const config = configOf(keeper, { KEEPER_MIN_PROFIT_USDG: '0.01' });
    const backtest = await replayOf(file, config);
    const { recorded, replayed } = backtest;
    expect(backtest).toMatchObject({ ticks: 3, idleTicks: 1, torn: 1 });
    expect(recorded).toMatchObject({ executed: 0, feesUsdg: 0n, netUsdg: 0n });
    expect([...recorded.skipped]).toEqual([['does_not_pay', 3]]);
    expect(replayed).toMatchObject({ executed: 3, reverted: 0 });
    expect([...replayed.jobs.values()].map(({ executed }) => executed)).toEqual([1, 1, 1]);
    expect(replayed.skipped.size).toBe(0);
    expect(replayed.netUsdg).toBe(replayed.feesUsdg - replayed.costUsdg);
    expect(replayed.netUsdg).toBeGreaterThan(0n);
  });
});

describe('a replay is refused', () => {
  const refusalOf = async (anvil: string, rpcUrls: string): Promise<string> => {
    const file = join(mkdtempSync(join(folder, '-')), 'recording.ndjson');
    const { keeper } = await recordSession({ KEEPER_RECORD_FILE: file });
    await keeper.tick();
    await keeper.stop();
    const config = configOf(keeper, { RPC_URLS: rpcUrls });
    const lines: string[] = [];
    const command = { file, anvil, asRecorded: false };
    expect(await runBacktestCommand(command, config, logger, (line) => lines.push(line))).toBe(1);
    return lines.join('\n');
  };

  test('on the chain that the keeper works on, on what is no Anvil, on an Anvil that is no fork', async () => {
    const head = await fork.client.getBlock();
    const other = fork.url.replace('127.0.0.1', 'localhost');
    expect(await refusalOf(other, fork.url)).toMatch(/is the chain of RPC_URLS/);
    const after = await fork.client.getBlock({ blockNumber: head.number });
    expect(after.hash).toBe(head.hash);
    const source = await startJobServer();
    expect(await refusalOf(source.url, fork.url)).toMatch(/Anvil/);
    const bare = await startAnvil({ args: CHAIN_ARGUMENTS });
    try {
      expect(await refusalOf(bare.url, fork.url)).toMatch(/is no fork/);
    } finally {
      await bare.stop();
    }
  });
});
