import { erc20Abi } from 'viem';
import { describe, expect, test } from 'vitest';
import { navOracleAbi } from '../../contracts-abi/generated/index.ts';
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
    expect(Math.abs((await fork.now()) - Date.now() / 1_000)).toBeLessThan(5);
  });

  test('a pushed price moves the average within ten minutes', async () => {
    const before = await nav('CHIP');
    await fork.pushPrice('NVDA', 0.95);
    await fork.warp(600);
    const after = await nav('CHIP');
    expect(after.reason).toBe(0);
    // NVDA is 35% of CHIP at the start and drifts.
    expect(after.reference / before.reference).toBeGreaterThan(0.97);
    expect(after.reference / before.reference).toBeLessThan(0.99);
  });

  test('a push through WETH pools lands on the dollar price asked for', async () => {
    const before = await nav('CRYP');
    await fork.pushPrice('COIN', 1.04);
    await fork.warp(600);
    const after = await nav('CRYP');
    expect(after.reason).toBe(0);
    expect(after.reference / before.reference).toBeGreaterThan(1.005);
    expect(after.reference / before.reference).toBeLessThan(1.015);
  });

  test('a push beyond the calm bound leaves no reference until the window has passed', async () => {
    await fork.pushPrice('NVDA', 0.8);
    await fork.warp(250);
    expect((await nav('CHIP')).reason).toBe(5);
    await fork.warp(400);
    expect((await nav('CHIP')).reason).toBe(0);
  });
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
      await fork.client.waitForTransactionReceipt({ hash });
      expect(await usdgOf('bob')).toBe(start + 1_000_000n);
      await fork.warp(3_600);
    },
  );

  test('time comes back too', async () => {
    expect(Math.abs((await fork.now()) - Date.now() / 1_000)).toBeLessThan(5);
  });
});
