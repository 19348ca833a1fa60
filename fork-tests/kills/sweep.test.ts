/** A keeper that is killed while it sweeps moves its USDG once: no kill makes two sweeps of one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Address, erc20Abi, parseAbiItem } from 'viem';
import { afterEach, expect, test } from 'vitest';
import { keeperConfigSchema } from '../../keeper/config.ts';
import { createKeeper } from '../../keeper/keeper.ts';
import { loadConfig } from '../../runtime/config.ts';
import { createLogger } from '../../runtime/logger.ts';
import type { DurablePoint } from '../../runtime/sender/context.ts';
import { useFork } from '../harness/fork.ts';
import { startJobServer, stopJobServers } from '../keeper/job-server.ts';
import { balanceOf } from '../keeper/orders.ts';
import { keeperEnv, until } from '../keeper/use-keeper.ts';

const fork = useFork();
const ENTRY = join(import.meta.dirname, 'keeper-entry.ts');
const COLD: Address = '0x000000000000000000000000000000000000c01d';
const FLOAT = 5_000_000n;
const EARNED = 25_000_000n;

let folder = '';
afterEach(async () => {
  await stopJobServers();
  rmSync(folder, { recursive: true, force: true });
});

async function sweeps(from: Address): Promise<bigint[]> {
  const logs = await fork.client.getLogs({
    address: fork.deployment.usdg,
    event: parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)'),
    args: { from, to: COLD },
    fromBlock: BigInt(fork.deployment.startBlock),
  });
  return logs.map(({ args }) => args.value ?? 0n);
}

const POINTS: DurablePoint[] = [
  'inserted',
  'signed',
  'persisted',
  'sent',
  'broadcast_stored',
  'receipt_stored',
];

test.each(POINTS)('a keeper killed at "%s" sweeps once', async (point) => {
  const { usdg } = fork.deployment;
  const wallet = fork.accounts.keeper.account.address;
  await fork.userClient('alice').writeContract({
    address: usdg,
    abi: erc20Abi,
    functionName: 'transfer',
    args: [wallet, EARNED],
  });
  const source = await startJobServer();
  folder = mkdtempSync(join(tmpdir(), 'basket-sweep-'));
  const env = keeperEnv(fork, [source.url], folder, {
    env: { KEEPER_SWEEP_TO: COLD, KEEPER_FLOAT_USDG: '5', KEEPER_SWEEP_LEAST_USDG: '1' },
  });
  const child = spawn(process.execPath, ['--import', 'tsx', ENTRY], {
    // Its clock fires every second, so the sweep comes by itself.
    env: { ...process.env, ...env, KEEPER_SWEEP_CRON: '* * * * * *', CRASH_AT: point },
    stdio: 'ignore',
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');

  const config = loadConfig(keeperConfigSchema, env);
  const keeper = await createKeeper(config, createLogger('keeper', config.LOG_LEVEL), {
    dryRun: false,
    serve: true,
  });
  try {
    await until('it is swept', async () => {
      await keeper.housekeep('sweep');
      return (await sweeps(wallet)).length > 0;
    });
    await keeper.housekeep('sweep');
    expect(await sweeps(wallet)).toEqual([EARNED - FLOAT]);
    expect(await balanceOf(fork, usdg, wallet)).toBe(FLOAT);
  } finally {
    await keeper.stop();
  }
});
