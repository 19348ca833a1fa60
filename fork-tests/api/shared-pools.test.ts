/**
 * Promises of legs that share a WETH pool, or that cross several ticks: no slippage at all is allowed for, and the
 * transaction goes through in the state that was quoted. Against Uniswap's own bytecode.
 */
import type { Address } from 'viem';
import { describe, expect, onTestFinished, test } from 'vitest';
import { marketMakerAbi, uniswapV3PoolAbi } from '../../contracts-abi/generated/index.ts';
import { write } from '../chain/client.ts';
import { pushPrice } from '../chain/market/push.ts';
import { tokenOf } from '../chain/seed/manifest.ts';
import { useFork } from '../harness/fork.ts';
import { legsOf } from './plan-legs.ts';
import { balanceOf, planOf, sendApproval, sendPlan } from './send-plan.ts';
import { useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const alice = () => fork.accounts.alice.account.address;
const maker = () => fork.accounts.maker.account;

async function buy(ticker: string, amountUsdg: number, slippageBps = 0) {
  const body = { ticker, amountUsdg, address: alice(), slippageBps };
  return planOf(await api.post('/v1/tx/buy', body));
}

/** The dry run of each buy, which may not get a base unit less than the plan promised. */
async function expectKept(ticker: string, amounts: readonly number[]): Promise<void> {
  for (const amountUsdg of amounts) {
    const { simulation } = await buy(ticker, amountUsdg);
    const run = simulation.afterApproval ?? simulation;
    expect({ ticker, amountUsdg, ok: run.ok, reason: run.reason }).toEqual({
      ticker,
      amountUsdg,
      ok: true,
      reason: undefined,
    });
  }
}

/** Adds as much liquidity again and more, from so many tick spacings below the price to as many above. */
async function thicken(pool: Address, spacings: number, times: bigint): Promise<void> {
  const read = { address: pool, abi: uniswapV3PoolAbi } as const;
  const [slot0, spacing, liquidity] = await Promise.all([
    fork.client.readContract({ ...read, functionName: 'slot0' }),
    fork.client.readContract({ ...read, functionName: 'tickSpacing' }),
    fork.client.readContract({ ...read, functionName: 'liquidity' }),
  ]);
  const lower = Math.floor(slot0[1] / spacing) * spacing;
  await write(fork.client, maker(), {
    address: fork.manifest.maker,
    abi: marketMakerAbi,
    functionName: 'provide',
    args: [pool, lower - spacings * spacing, lower + (spacings + 1) * spacing, liquidity * times],
  });
}

/** The management fee of a second is a base unit of a large trade: none passes between plan and block. */
async function noTimePasses(): Promise<void> {
  await fork.client.setBlockTimestampInterval({ interval: 0 });
  onTestFinished(() => fork.client.removeBlockTimestampInterval());
}

const poolOf = (symbol: string, index = 0): Address => {
  const pool = tokenOf(fork.manifest, symbol).pools[index];
  if (pool === undefined) throw new Error(`${symbol} has no pool ${index}`);
  return pool.address;
};

describe('promises', () => {
  test('of legs that take another route at another size', async () => {
    // Only one of the two pools of a token moves, so that both cost about the same.
    const tokens = fork.manifest.tokens.map((token) =>
      token.symbol === 'HOOD' ? { ...token, pools: token.pools.slice(1, 2) } : token,
    );
    await pushPrice(fork.client, maker(), { ...fork.manifest, tokens }, 'HOOD', 0.99);
    await api.marksSettled();
    const token = tokenOf(fork.manifest, 'HOOD').address;
    const hopsAt = async (amountUsdg: number) => {
      const plan = await buy('CRYP', amountUsdg);
      const leg = legsOf(plan.tx.data).find(
        ({ hops }) => BigInt(hops.at(-1)?.tokenOut ?? '0x0') === BigInt(token),
      );
      return leg?.hops.length;
    };
    let [small, large] = [300, 100_000];
    const [few, many] = [await hopsAt(small), await hopsAt(large)];
    expect(few).not.toBe(many);
    while (large / small > 1.001) {
      const middle = Math.sqrt(small * large);
      if ((await hopsAt(middle)) === few) small = middle;
      else large = middle;
    }
    const around = Array.from({ length: 24 }, (_none, step) => 0.97 + step * 0.0025);
    await expectKept(
      'CRYP',
      around.map((factor) => Number((small * factor).toFixed(6))),
    );
  });

  test('over a WETH pool whose liquidity is concentrated', async () => {
    await thicken(poolOf('WETH'), 0, 2n);
    await api.marksSettled();
    await expectKept('CRYP', [250, 10_000, 33_432.678456, 59_080.612779, 92_502.097481]);
    await expectKept('FIN', [1_000, 55_548.005249, 75_332.562094, 99_187.188927]);
    await expectKept('RETAIL', [5_000, 63_187.029699, 84_503.847577]);
    await expectKept('FRESH', [500, 48_509.820198, 94_134]);
    // As tight as it can be without knowing where the ticks lie.
    const plan = await buy('CRYP', 90_000);
    await noTimePasses();
    await sendPlan(fork, 'alice', plan);
    const minted = await balanceOf(fork, fork.vault('CRYP'), alice());
    expect(minted).toBeGreaterThanOrEqual(BigInt(plan.minShares));
    expect(Number(minted) / Number(plan.minShares)).toBeLessThan(1.001);
  });

  test('of sales over such a pool', async () => {
    await sendPlan(fork, 'alice', await buy('CRYP', 90_000, 100));
    await thicken(poolOf('WETH'), 0, 2n);
    await api.marksSettled();
    const held = await balanceOf(fork, fork.vault('CRYP'), alice());
    const body = { ticker: 'CRYP', address: alice(), slippageBps: 0 };
    await sendApproval(
      fork,
      'alice',
      planOf(await api.post('/v1/tx/sell', { ...body, shares: 'max' })),
    );
    for (const percent of [100n, 77n, 50n, 13n, 1n]) {
      const shares = ((held * percent) / 100n).toString();
      const plan = planOf(await api.post('/v1/tx/sell', { ...body, shares }));
      expect({ percent, ...plan.simulation }).toMatchObject({ percent, ok: true });
    }
    await noTimePasses();
    const plan = planOf(await api.post('/v1/tx/sell', { ...body, shares: 'max' }));
    const before = await balanceOf(fork, fork.deployment.usdg, alice());
    await sendPlan(fork, 'alice', plan);
    const got = (await balanceOf(fork, fork.deployment.usdg, alice())) - before;
    expect(got).toBeGreaterThanOrEqual(BigInt(plan.expectedUsdg));
    expect(Number(got) / Number(plan.expectedUsdg)).toBeLessThan(1.0005);
  });

  test('of legs that cross several ticks, of a token whose base unit is worth a third of a cent', async () => {
    for (const symbol of ['XAU', 'CBTC', 'XOM']) {
      for (const spacings of [0, 1, 2]) await thicken(poolOf(symbol), spacings, 1n);
    }
    await api.marksSettled();
    await expectKept(
      'HARD',
      Array.from({ length: 40 }, (_none, step) => 12_600 + step * 11),
    );
  });
});
