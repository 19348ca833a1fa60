/** Sell routes: the swaps that are listed sell the shares, and yield what they say. */
import { type Address, encodeFunctionData, type Hex } from 'viem';
import { describe, expect, test } from 'vitest';
import { basketVaultAbi, basketZapperAbi } from '../../contracts-abi/generated/index.ts';
import { useFork } from '../harness/fork.ts';
import { balanceOf, planOf, sendCall, sendPlan } from './send-plan.ts';
import { expectError, expectOk, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork, { per: 'file' });

const alice = () => fork.accounts.alice.account.address;
const routes = (vault: string, shares: string) =>
  api.get(`/v1/leverage/sell-routes?vault=${vault}&shares=${shares}`);

type Routes = {
  zapper: Address;
  router: Address;
  swaps: {
    router: Address;
    tokenIn: Address;
    tokenOut: Address;
    amountIn: string;
    callData: Hex;
  }[];
  legs: { symbol: string; token: Address; amountIn: string; expectedUsdg: string }[];
  unrouted: Address[];
  grossUsdg: string;
  asOfBlock: number;
};

describe('GET /v1/leverage/sell-routes', () => {
  test('lists swaps that the zapper takes as they are', async () => {
    const buy = { ticker: 'CRYP', amountUsdg: 2_000, address: alice() };
    await sendPlan(fork, 'alice', planOf(await api.post('/v1/tx/buy', buy)));
    const vault = fork.vault('CRYP');
    const shares = await balanceOf(fork, vault, alice());
    const answer = await routes(vault.toLowerCase(), shares.toString());
    expectOk(answer);
    const listed = answer.body as unknown as Routes;
    expect(answer.body).toMatchObject({
      vault,
      shares: shares.toString(),
      zapper: fork.deployment.zapper,
      router: fork.deployment.swapRouter02,
      unrouted: [],
      note: expect.any(String),
      asOfBlock: Number(await fork.client.getBlockNumber()),
    });
    expect(listed.legs.map(({ symbol }) => symbol).toSorted()).toEqual(
      ['CBTC', 'COIN', 'HOOD', 'MSTR', 'WETH'].toSorted(),
    );
    expect(listed.swaps.map(({ tokenIn, amountIn }) => [tokenIn, amountIn])).toEqual(
      listed.legs.map(({ token, amountIn }) => [token, amountIn]),
    );

    const approve = encodeFunctionData({
      abi: basketVaultAbi,
      functionName: 'approve',
      args: [listed.zapper, shares],
    });
    await sendCall(fork, 'alice', vault, approve);
    const before = await balanceOf(fork, fork.deployment.usdg, alice());
    const least = BigInt(listed.grossUsdg) - BigInt(listed.grossUsdg) / 500n - 1n;
    const sell = encodeFunctionData({
      abi: basketZapperAbi,
      functionName: 'sell',
      args: [
        vault,
        shares,
        least,
        listed.swaps.map((swap) => ({ ...swap, amountIn: BigInt(swap.amountIn) })),
        alice(),
        alice(),
        BigInt((await fork.now()) + 600),
      ],
    });
    expect((await sendCall(fork, 'alice', listed.zapper, sell)).status).toBe('success');
    const received = (await balanceOf(fork, fork.deployment.usdg, alice())) - before;
    const total = listed.legs.reduce((sum, { expectedUsdg }) => sum + BigInt(expectedUsdg), 0n);
    expect(BigInt(listed.grossUsdg)).toBe(total);
    expect(received).toBeGreaterThanOrEqual(least);
    expect(Number(received)).toBeLessThan(Number(total) * 0.99801 + 10);
  });

  test('names what has no route instead of leaving it out', async () => {
    const answer = await routes(fork.vault('PREIPO'), '1000000000000000000');
    expectOk(answer);
    const { unrouted, legs, swaps } = answer.body as unknown as Routes;
    const detail = await api.get('/v1/baskets/PREIPO');
    const constituents = detail.body.constituents as unknown as {
      symbol: string;
      address: Address;
    }[];
    expect(unrouted).toEqual([constituents.find(({ symbol }) => symbol === 'SPCX')?.address]);
    expect(legs).toHaveLength(constituents.length - 1);
    expect(swaps).toHaveLength(legs.length);
  });

  test('refuses an unknown vault, and shares missing, malformed, none, or above the supply', async () => {
    const vault = fork.vault('CORE');
    const supply = await fork.client.readContract({
      address: vault,
      abi: basketVaultAbi,
      functionName: 'totalSupply',
    });
    expectOk(await routes(vault, supply.toString()));
    expectError(await routes(vault, (supply + 1n).toString()), 400, 'BAD_REQUEST', /in all/);
    expectError(await routes(vault, ((1n << 256n) - 1n).toString()), 400, 'BAD_REQUEST', /in all/);
    expectError(await routes(alice(), '1000'), 400, 'BAD_REQUEST', /vault/);
    for (const shares of ['0', '-1', '1.5', '1e18', 'max', '']) {
      expectError(await routes(vault, shares), 400, 'BAD_REQUEST', /shares/);
    }
    const path = '/v1/leverage/sell-routes';
    expectError(await api.get(`${path}?vault=${vault}`), 400, 'BAD_REQUEST', /shares/);
    expectError(await api.get(`${path}?shares=1000`), 400, 'BAD_REQUEST', /vault/);
    expectError(await routes('CORE', '1000'), 400, 'BAD_REQUEST', /vault/);
  });
});
