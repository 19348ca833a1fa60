import { erc20Abi } from 'viem';
import { beforeAll, describe, expect, test } from 'vitest';
import { navOracleAbi } from '../../contracts-abi/generated/index.ts';
import { receiptOf } from '../chain/client.ts';
import { useFork } from './fork.ts';

const fork = useFork();

const nav = async (ticker: string) => {
  const [reference, reason] = await fork.client.readContract({
    address: fork.deployment.oracle,
    abi: navOracleAbi,
    functionName: 'tryReferenceNav',
    args: [fork.vault(ticker)],
  });
  return { reference: Number(reference) / 1e18, reason };
};

const usdgOf = (role: 'alice' | 'bob') =>
  fork.client.readContract({
    address: fork.deployment.usdg,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [fork.accounts[role].account.address],
  });

describe('a fork per file', () => {
  test('serves chain 4663 at the present time', async () => {
    expect(await fork.client.getChainId()).toBe(4663);
    // Never behind the clock; a fork of the live chain may be ahead by what ageing its pools took.
    expect(await fork.now()).toBeGreaterThan(Date.now() / 1_000 - 5);
  });

  test('a pushed price moves the average within ten minutes', async () => {
    const before = await nav('MAG7');
    await fork.pushPrice('NVDA', 0.95);
    await fork.warp(600);
    const after = await nav('MAG7');
    expect(after.reason).toBe(0);
    // NVDA is 15% of MAG7 at the start and drifts.
    expect(after.reference / before.reference).toBeGreaterThan(0.985);
    expect(after.reference / before.reference).toBeLessThan(0.996);
  });

  test('a push through WETH pools lands on the dollar price asked for', async () => {
    const before = await nav('RETAIL');
    await fork.pushPrice('PLTR', 1.04);
    await fork.warp(600);
    const after = await nav('RETAIL');
    expect(after.reason).toBe(0);
    expect(after.reference / before.reference).toBeGreaterThan(1.003);
    expect(after.reference / before.reference).toBeLessThan(1.014);
  });

  test('a push beyond the calm bound leaves no reference until the window has passed', async () => {
    await fork.pushPrice('NVDA', 0.8);
    await fork.warp(250);
    expect((await nav('MAG7')).reason).toBe(5);
    await fork.warp(400);
    expect((await nav('MAG7')).reason).toBe(0);
  });
});

let startedAt = 0;

beforeAll(async () => {
  startedAt = await fork.now();
});

describe('each test starts from the same state', () => {
  const start = 100_000_000_000n;

  test.for(Array.from({ length: 20 }, (_, i) => i))(
    'spends and is reverted, round %i',
    async () => {
      expect(await usdgOf('alice')).toBe(start);
      const alice = fork.userClient('alice');
      const hash = await alice.writeContract({
        address: fork.deployment.usdg,
        abi: erc20Abi,
        functionName: 'transfer',
        args: [fork.accounts.bob.account.address, 1_000_000n],
      });
      await receiptOf(fork.client, hash, 60_000);
      expect(await usdgOf('bob')).toBe(start + 1_000_000n);
      await fork.warp(3_600);
    },
  );

  test('time comes back too, after twenty hours of warping', async () => {
    expect((await fork.now()) - startedAt).toBeLessThan(3_600);
  });
});
