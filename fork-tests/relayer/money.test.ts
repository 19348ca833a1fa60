/** The relayer's own money on a real chain: top-ups by the treasury within their bounds, sweeps of the fees. */
import { type Address, erc20Abi, parseAbiItem } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { runSweep } from '../../relayer/cli/sweep.ts';
import { readStatement } from '../../relayer/money/statement.ts';
import { besideRelayer, type StoreTables, storeMigrations } from '../../relayer/store.ts';
import { createLogger } from '../../runtime/logger.ts';
import { createMoves } from '../../runtime/money/moves.ts';
import { openStore } from '../../runtime/store/store.ts';
import { useFork } from '../harness/fork.ts';
import { mined } from '../harness/mined.ts';
import { usePostgres } from '../harness/postgres.ts';
import { buyAction, openAgent, signedBody, usdgOf } from './agent.ts';
import {
  type DataFolder,
  dataFolder,
  relayerEnv,
  startTestRelayer,
  type TestRelayer,
  until,
} from './relayer.ts';

const fork = useFork();
const postgres = usePostgres();
const COLD: Address = '0x000000000000000000000000000000000000c01d';
const ETH = 10n ** 18n;
/** By the clock never: the tests say when. */
const BY_HAND = { RELAY_BALANCE_CRON: '0 0 29 2 *', RELAY_SWEEP_CRON: '0 0 29 2 *' };

let data: DataFolder;
let relayer: TestRelayer | null;

beforeEach(() => {
  data = dataFolder();
  relayer = null;
});
afterEach(async () => {
  await fork.client.setAutomine(true);
  await relayer?.stop();
  data.remove();
});

const wallet = (): Address => fork.accounts.relayer.account.address;
const treasury = (): Address => fork.accounts.carol.account.address;

const funding = (): Record<string, string> => ({
  ...BY_HAND,
  // A test that waits posts the same action again and again.
  RELAY_KEY_REQUESTS_PER_MINUTE: '100000',
  RELAY_TREASURY_PRIVATE_KEY: fork.accounts.carol.privateKey,
  RELAY_WALLET_LOW_ETH: '0.5',
  RELAY_WALLET_TARGET_ETH: '1',
  RELAY_TREASURY_DAILY_ETH: '1.5',
});

async function start(env: Record<string, string>): Promise<TestRelayer> {
  relayer = await startTestRelayer(fork, data, env);
  return relayer;
}

const ethOf = (address: Address): Promise<bigint> => fork.client.getBalance({ address });
const pendingOf = (address: Address): Promise<number> =>
  fork.client.getTransactionCount({ address, blockTag: 'pending' });

async function earned(dollars: bigint): Promise<void> {
  await mined(
    fork,
    fork.userClient('alice').writeContract({
      address: fork.deployment.usdg,
      abi: erc20Abi,
      functionName: 'transfer',
      args: [wallet(), dollars * USD],
    }),
  );
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

const movesIn = (env: Record<string, string>) =>
  besideRelayer(env, true, async ({ db }) => (await readStatement(db, 0)).moves);

describe('the treasury', () => {
  test('lifts a wallet that runs low to the target, and never sends more than the day allows', async () => {
    const running = await start(funding());
    const before = await ethOf(treasury());
    await fork.client.setBalance({ address: wallet(), value: ETH / 10n });
    await running.money.runNow('balances');
    expect(await ethOf(wallet())).toBe(ETH);
    await running.money.runNow('balances');
    expect(await ethOf(wallet())).toBe(ETH);

    await fork.client.setBalance({ address: wallet(), value: 0n });
    await running.money.runNow('balances');
    expect(await ethOf(wallet())).toBe((ETH * 6n) / 10n);
    await fork.client.setBalance({ address: wallet(), value: 1n });
    await running.money.runNow('balances');
    expect(await ethOf(wallet())).toBe(1n);
    expect(running.money.warning()).toContain('RELAY_TREASURY_DAILY_ETH');
    const metrics = await (await fetch(`${running.url}/metrics`)).text();
    expect(metrics).toContain('basket_relayer_wallets_low 1');

    const moves = await movesIn(relayerEnv(fork, data));
    expect(moves).toMatchObject([{ kind: 'fund', executed: 2, fundedWei: (ETH * 15n) / 10n }]);
    const gasWei = moves[0]?.gasWei ?? 0n;
    expect(await ethOf(treasury())).toBe(before - (ETH * 15n) / 10n - gasWei);
  });

  test('sends no action: the wallets do, and a wallet without ETH is told until it is topped up', async () => {
    await fork.client.setBalance({ address: wallet(), value: 0n });
    const running = await start(funding());
    const agent = await openAgent(fork, 'alice');
    const action = await buyAction(fork, agent, 50n * USD);
    expect(await running.post(await signedBody(fork, agent, action))).toMatchObject({
      status: 503,
    });
    await running.money.runNow('balances');
    const asked = await until('the wallet sends again', async () => {
      const reply = await running.post(await signedBody(fork, agent, action));
      return reply.status === 402 ? reply : null;
    });
    const count = await pendingOf(treasury());
    const paid = { ...action, fee: BigInt(String(asked.body.requiredFee)) };
    expect(await running.post(await signedBody(fork, agent, paid))).toMatchObject({ status: 200 });
    expect(await pendingOf(treasury())).toBe(count);
    expect(await usdgOf(fork, wallet())).toBeGreaterThanOrEqual(paid.fee);
  });

  test('sends once, though the process ended while it was out', async () => {
    const first = await start(funding());
    await fork.client.setBalance({ address: wallet(), value: ETH / 10n });
    const before = await pendingOf(treasury());
    await fork.client.setAutomine(false);
    const looking = first.money.runNow('balances');
    await until('it is out', async () =>
      (await pendingOf(treasury())) === before + 1 ? true : null,
    );
    await Promise.all([first.stop(), looking]);
    const second = await start(funding());
    await second.money.runNow('balances');
    await second.money.runNow('balances');
    expect(await pendingOf(treasury())).toBe(before + 1);
    await fork.client.setAutomine(true);
    await fork.client.mine({ blocks: 1 });
    await until('it is in the books', async () => {
      await second.money.runNow('balances');
      return (await movesIn(relayerEnv(fork, data))).length === 1 ? true : null;
    });
    expect(await ethOf(wallet())).toBe(ETH);
    expect(await pendingOf(treasury())).toBe(before + 1);
  });

  test('that is a wallet, or a target below the threshold, stops the start', async () => {
    const { privateKey } = fork.accounts.relayer;
    await expect(start({ RELAY_TREASURY_PRIVATE_KEY: privateKey })).rejects.toThrow(
      'is one of the wallets',
    );
    await expect(start({ RELAY_WALLET_TARGET_ETH: '0.01' })).rejects.toThrow('must be above');
    await expect(start({ RELAY_TREASURY_PRIVATE_KEY: '0x12' })).rejects.toThrow(
      'RELAY_TREASURY_PRIVATE_KEY: key 1 of 1 is not a private key',
    );
  });
});

describe('a sweep', () => {
  const settings = {
    ...BY_HAND,
    RELAY_SWEEP_TO: COLD,
    RELAY_FLOAT_USDG: '5',
    RELAY_SWEEP_LEAST_USDG: '1',
  };
  const silent = createLogger('relayer', 'fatal');

  async function swept(env: Record<string, string>): Promise<string> {
    const lines: string[] = [];
    expect(await runSweep(env, silent, (line) => lines.push(line))).toBe(0);
    return lines.join('\n');
  }

  test('by the command takes what lies above the float, beside a running relayer and without one', async () => {
    const env = relayerEnv(fork, data, settings);
    await earned(25n);
    const held = await usdgOf(fork, wallet());
    const running = await start(settings);
    const text = await swept(env);
    expect(text).toMatch(/^a relayer runs/);
    expect(text).toMatch(/USDG of 0x\w{40} to 0x\w{40}: mined 0x[0-9a-f]{64}/);
    expect(await sweptTo(COLD)).toEqual([held - 5n * USD]);
    expect(await swept(env)).toContain('nothing to sweep');

    await running.stop();
    relayer = null;
    await earned(25n);
    expect(await swept(env)).toMatch(/^25\.000000 USDG of 0x\w{40}/);
    expect(await sweptTo(COLD)).toEqual([held - 5n * USD, 25n * USD]);
    expect(await usdgOf(fork, wallet())).toBe(5n * USD);
    const moved = held + 20n * USD;
    expect(await movesIn(env)).toMatchObject([{ kind: 'sweep', executed: 2, movedUsdg: moved }]);
  });

  test('on PostgreSQL is asked of the relayer that leads, and made by the command where none does', async () => {
    const url = await postgres.database('relay_sweep');
    const env = { ...relayerEnv(fork, data, settings), DATABASE_URL: url };
    await earned(25n);
    const held = await usdgOf(fork, wallet());
    expect(await swept(env)).toMatch(/^\d+\.000000 USDG of 0x\w{40} to 0x\w{40}: mined/);
    expect(await sweptTo(COLD)).toEqual([held - 5n * USD]);
    const running = await start({ ...settings, DATABASE_URL: url });
    await earned(25n);
    expect(await swept(env)).toMatch(/^a relayer runs/);
    expect(await sweptTo(COLD)).toEqual([held - 5n * USD, 25n * USD]);
    await running.stop();
    relayer = null;
  });

  test('by the clock waits for its period, and one whose row was written when the process was killed goes out once', async () => {
    const env = relayerEnv(fork, data, settings);
    const store = await openStore<StoreTables>({
      url: env.DATABASE_URL ?? '',
      migrations: storeMigrations,
    });
    await createMoves(store.db, { table: 'relay_moves', now: Date.now }).open({
      intentKey: `sweep:${wallet().toLowerCase()}:1`,
      kind: 'sweep',
      wallet: wallet(),
      number: 1,
      counterparty: COLD,
      amountUsdg: 1n,
      amountWei: 0n,
    });
    await store.close();
    await earned(25n);
    const running = await start(settings);
    await running.money.runNow('sweep');
    await running.money.runNow('sweep');
    expect(await sweptTo(COLD)).toHaveLength(1);
    expect(await usdgOf(fork, wallet())).toBe(5n * USD);
    await earned(25n);
    await running.money.runNow('sweep');
    expect(await sweptTo(COLD)).toHaveLength(1);
  });

  test('to a wallet of its own or a contract of the protocol is refused at the start', async () => {
    for (const [to, why] of [
      [wallet(), 'a wallet of this process'],
      [fork.deployment.usdg, '(usdg)'],
      [fork.deployment.sessionModule, '(sessionModule)'],
    ] as const) {
      await expect(start({ RELAY_SWEEP_TO: to })).rejects.toThrow(why);
    }
  });
});
