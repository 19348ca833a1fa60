import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { runOnce } from '../../keeper/cli/once.ts';
import { runWhy } from '../../keeper/cli/why.ts';
import { keeperConfigSchema } from '../../keeper/config.ts';
import { loadConfig } from '../../runtime/config.ts';
import { createLogger } from '../../runtime/logger.ts';
import { useApi } from '../api/use-api.ts';
import { useFork } from '../harness/fork.ts';
import {
  balanceOf,
  buyShares,
  fillsOf,
  moveHealth,
  placeLimit,
  placeStop,
  stateOf,
} from './orders.ts';
import { keeperEnv, launchKeeper, metricOf, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const api = useApi(fork);

afterEach(stopKeepers);

describe('a keeper with one api', () => {
  test('fills a stop once its average crosses; the fee arrives and exceeds the gas', async () => {
    const { exitEscrow, usdg } = fork.deployment;
    const alice = fork.accounts.alice.account.address;
    const shares = await buyShares(fork, api, 'alice', 'HEALTH', 200);
    const id = await placeStop(fork, api, 'alice', 'HEALTH', shares, 0.97);
    const keeper = await launchKeeper(fork, [api.url]);
    await keeper.tick();
    expect(await stateOf(fork, exitEscrow, id)).toBe(1);

    await moveHealth(fork, 0.95);
    await api.settled();
    const ownerBefore = await balanceOf(fork, usdg, alice);
    const keeperBefore = await balanceOf(fork, usdg, keeper.executor);
    const etherBefore = await fork.client.getBalance({ address: keeper.executor });
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);

    const fills = await fillsOf(fork, exitEscrow, id);
    expect(fills).toHaveLength(1);
    const { net, executorFee, executor } = fills[0]?.args ?? {};
    expect(executor).toBe(keeper.executor);
    expect((await balanceOf(fork, usdg, alice)) - ownerBefore).toBe(net);
    expect(net).toBeGreaterThan(180_000_000n);
    expect((await balanceOf(fork, usdg, keeper.executor)) - keeperBefore).toBe(executorFee);
    expect(executorFee).toBeGreaterThanOrEqual(250_000n);

    await until('the fill is settled', async () => {
      await keeper.tick();
      return (await keeper.journal.unsettled(10)).length === 0;
    });
    const [timeline] = await keeper.journal.timeline(id);
    const [attempt] = timeline?.attempts ?? [];
    expect(attempt).toMatchObject({ kind: 'fill', attempt: 1, outcome: 'mined', settled: 1 });
    expect(attempt?.fee_usdg).toBe(String(executorFee));
    const spentWei = etherBefore - (await fork.client.getBalance({ address: keeper.executor }));
    expect(BigInt(attempt?.gas_used ?? 0) * BigInt(attempt?.gas_price_wei ?? 0)).toBe(spentWei);
    expect(BigInt(attempt?.cost_usdg ?? 0)).toBeGreaterThan(0n);
    expect(BigInt(attempt?.cost_usdg ?? 0)).toBeLessThan(executorFee ?? 0n);
    expect(timeline?.decisions.map(({ decision }) => decision)).toEqual(['sent', 'executed']);
    const told: string[] = [];
    // From another connection, while the keeper holds its own.
    expect(await runWhy(id, keeper.env, (line) => told.push(line))).toBe(0);
    expect(told.join('\n')).toMatch(/executed: fill, fee \$0\.\d+ received/);
    expect(await metricOf(keeper, 'fees_received_usdg_total')).toBeCloseTo(
      Number(executorFee) / 1e6,
      6,
    );
  });

  test('hears from the api that an order is due, long before it would look again', async () => {
    const { exitEscrow } = fork.deployment;
    const shares = await buyShares(fork, api, 'alice', 'HEALTH', 200);
    const id = await placeStop(fork, api, 'alice', 'HEALTH', shares, 0.97);
    await api.settled();
    const keeper = await launchKeeper(fork, [api.url], { env: { KEEPER_POLL_MS: '60000' } });
    keeper.run();
    await until('it has looked', async () => (await metricOf(keeper, 'ticks_total')) > 0);
    await moveHealth(fork, 0.95);
    await until('it is filled', async () => (await fillsOf(fork, exitEscrow, id)).length === 1);
    expect(await metricOf(keeper, 'ticks_total')).toBeLessThan(10);
  });

  test('fills a limit buy: the owner has the shares, the keeper its fee', async () => {
    const { limitEscrow, usdg } = fork.deployment;
    const bob = fork.accounts.bob.account.address;
    const id = await placeLimit(fork, api, 'bob', 'HEALTH', 150, 0.97);
    await moveHealth(fork, 0.95);
    await api.settled();
    const keeper = await launchKeeper(fork, [api.url]);
    const before = await balanceOf(fork, usdg, keeper.executor);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    const fills = await fillsOf(fork, limitEscrow, id);
    expect(fills).toHaveLength(1);
    expect(await balanceOf(fork, fork.vault('HEALTH'), bob)).toBe(fills[0]?.args.shares);
    expect((await balanceOf(fork, usdg, keeper.executor)) - before).toBe(
      fills[0]?.args.executorFee,
    );
  });

  test('run once in a dry run says what it would do and sends nothing; run once for real fills', async () => {
    const id = await placeLimit(fork, api, 'bob', 'HEALTH', 150, 0.97);
    await moveHealth(fork, 0.95);
    await api.settled();
    const folder = mkdtempSync(join(tmpdir(), 'basket-keeper-'));
    try {
      const config = loadConfig(keeperConfigSchema, keeperEnv(fork, [api.url], folder));
      const logger = createLogger('keeper', 'fatal');
      const executor = fork.accounts.keeper.account.address;
      const dry: string[] = [];
      expect(await runOnce(config, logger, true, (line) => dry.push(line))).toBe(0);
      expect(dry.join('\n')).toMatch(/would_send {2}fill, expects \$0\.\d+ after \$0\.\d+ of gas/);
      const total = /would have sent 1 and earned \$(0\.\d+) after gas/.exec(dry.join('\n'));
      expect(dry.join('\n')).toContain(`expects $${total?.[1] ?? '?'} after`);
      expect(await fork.client.getTransactionCount({ address: executor })).toBe(0);

      const real: string[] = [];
      expect(await runOnce(config, logger, false, (line) => real.push(line))).toBe(0);
      expect(real.join('\n')).toMatch(/executed {2}fill, fee \$0\.\d+ received/);
      expect(await fillsOf(fork, fork.deployment.limitEscrow, id)).toHaveLength(1);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('the price auction', () => {
  test('a fill that misses its floor is armed, then filled as the tolerance widens', async () => {
    const shares = await buyShares(fork, api, 'alice', 'HEALTH', 400);
    const id = await placeStop(fork, api, 'alice', 'HEALTH', shares, 0.97);
    const { exitEscrow } = fork.deployment;
    await moveHealth(fork, 0.95);
    // Falling on: spot is now far below the average, and the floor is bound to the higher of the two.
    await moveHealth(fork, 0.97, 0);
    await api.settled();
    const keeper = await launchKeeper(fork, [api.url]);
    await keeper.tick();
    expect(await keeper.settle(10_000)).toBe(true);
    const armedAt = await fork.client.readContract({
      address: exitEscrow,
      abi: exitEscrowAbi,
      functionName: 'armedAt',
      args: [id],
    });
    expect(armedAt).toBeGreaterThan(0);
    expect(await stateOf(fork, exitEscrow, id)).toBe(1);

    keeper.run();
    // The average follows and the tolerance widens: the two meet.
    for (
      let minutes = 0;
      minutes < 20 && (await stateOf(fork, exitEscrow, id)) === 1;
      minutes += 2
    ) {
      await fork.warp(120);
      await api.settled();
      await until('the keeper has looked', async () => {
        const before = keeper.status().lastTickMs ?? 0;
        await until('a tick', async () => (keeper.status().lastTickMs ?? 0) > before);
        return true;
      });
    }
    await until('it is filled', async () => (await stateOf(fork, exitEscrow, id)) === 2, 30_000);
    await until('both are in the journal', async () => {
      const [timeline] = await keeper.journal.timeline(id);
      return timeline?.decisions.at(-1)?.decision === 'executed';
    });
    const [timeline] = await keeper.journal.timeline(id);
    expect(timeline?.attempts.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ['arm', 'mined'],
      ['fill', 'mined'],
    ]);
    const spent = (timeline?.attempts ?? []).reduce(
      (sum, { cost_usdg }) => sum + BigInt(cost_usdg ?? 0),
      0n,
    );
    expect(BigInt(timeline?.attempts[1]?.fee_usdg ?? 0)).toBeGreaterThan(spent);
    expect(await metricOf(keeper, 'decisions_total', 'armed')).toBe(1);
  });
});
