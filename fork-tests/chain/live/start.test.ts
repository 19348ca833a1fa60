import { erc20Abi } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { USD } from '../../../contracts-abi/constants.ts';
import {
  basketZapperAbi,
  coverMarketAbi,
  navOracleAbi,
  uniswapV3PoolAbi,
} from '../../../contracts-abi/generated/index.ts';
import { LIVE, LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import { bpsUp } from '../../../contracts-abi/rounding.ts';
import type { Anvil } from '../../anvil.ts';
import { buySwaps, sellSwaps } from '../../harness/trade.ts';
import { type ChainClient, connect, write } from '../client.ts';
import { type StepOutcome, startMarket } from '../market/market.ts';
import { pushPrice } from '../market/push.ts';
import { devAccount } from '../seed/accounts.ts';
import { openingProcess } from '../seed/history.ts';
import { type Manifest, tokenOf, vaultOf } from '../seed/manifest.ts';
import { type LocalChain, startLocalChain } from '../start.ts';
import { setTokenBalance } from './balances.ts';
import { SYNTHETIC_PRICES, startSyntheticLive } from './synthetic.ts';

let upstream: Anvil | undefined;
let chain: LocalChain | undefined;
let client: ChainClient;
let manifest: Manifest;

beforeAll(async () => {
  upstream = await startSyntheticLive();
  chain = await startLocalChain({ port: 0, forkUrl: upstream.url, market: false });
  manifest = chain.manifest;
  client = connect(chain.url);
}, 180_000);

afterAll(async () => {
  await chain?.stop();
  await upstream?.stop();
});

const referenceOf = (ticker: string) =>
  client.readContract({
    address: manifest.deployment.oracle,
    abi: navOracleAbi,
    functionName: 'tryReferenceNav',
    args: [vaultOf(manifest, ticker)],
  });

describe('a fork of the live chain', () => {
  test('stands on the live externals', () => {
    const { usdg, weth, uniswapV3Factory, swapRouter02, quoterV2, multicall3 } =
      manifest.deployment;
    expect({ usdg, weth, uniswapV3Factory, swapRouter02, quoterV2, multicall3 }).toEqual(LIVE);
  });

  test('holds only baskets whose tokens trade there', () => {
    const tickers = manifest.deployment.baskets.map(({ ticker }) => ticker);
    expect(tickers).toContain('MAG7');
    expect(tickers).toContain('CORE');
    expect(tickers).not.toContain('HEALTH');
    expect(manifest.tokens.map(({ symbol }) => symbol)).not.toContain('AMD');
  });

  test('takes the deepest pool as reference and leaves out one too thin', () => {
    const fees = tokenOf(manifest, 'PLTR').pools.map(({ fee }) => fee);
    expect(fees).toEqual([3000, 500]);
  });

  test('every reference is valid, although pools began with one observation slot', async () => {
    for (const { ticker } of manifest.deployment.baskets) {
      expect({ ticker, reason: (await referenceOf(ticker))[1] }).toEqual({ ticker, reason: 0 });
    }
    for (const { pools } of manifest.tokens) {
      const [pool] = pools;
      if (pool === undefined) throw new Error('a token without a pool is in the manifest');
      const [, , , cardinality] = await client.readContract({
        address: pool.address,
        abi: uniswapV3PoolAbi,
        functionName: 'slot0',
      });
      expect(cardinality).toBeGreaterThanOrEqual(700);
    }
  });

  test('pays whoever serves the first weekend of cover', async () => {
    const market = { address: manifest.deployment.coverMarket, abi: coverMarketAbi } as const;
    expect(await client.readContract({ ...market, functionName: 'feePool' })).toBe(50n * USD);
  });

  test('prices tokens as the upstream pools do', () => {
    for (const { symbol, price } of manifest.tokens) {
      if (symbol === 'WETH') continue;
      const stated = SYNTHETIC_PRICES[symbol as keyof typeof SYNTHETIC_PRICES];
      expect(Math.abs(price / stated - 1)).toBeLessThan(1e-4);
    }
  });

  test('precompiles answer', async () => {
    const { data } = await client.call({
      to: '0x0000000000000000000000000000000000000064',
      data: '0xa3b1b31d',
    });
    expect(BigInt(data ?? '0x0')).toBeGreaterThan(0n);
  });

  test('writes no storage of a token whose balances are not a plain word', async () => {
    // The Uniswap factory has no balanceOf: whatever it reads, nothing may be written.
    const before = await client.getStorageAt({ address: LIVE.uniswapV3Factory, slot: '0x3' });
    await expect(
      setTokenBalance(client, LIVE.uniswapV3Factory, devAccount('alice').account.address, 5n),
    ).rejects.toThrow('revert');
    expect(await client.getStorageAt({ address: LIVE.uniswapV3Factory, slot: '0x3' })).toBe(before);
  });

  test('a wallet buys and sells a basket with live USDG', async () => {
    const { deployment } = manifest;
    const { account } = devAccount('alice');
    const vault = vaultOf(manifest, 'MAG7');
    const balance = (token: `0x${string}`) =>
      client.readContract({
        address: token,
        abi: erc20Abi,
        functionName: 'balanceOf',
        args: [account.address],
      });
    const start = await balance(deployment.usdg);
    const shares = 3n * 10n ** 18n;
    const { swaps, cost } = await buySwaps(client, deployment, vault, shares);
    const allIn = cost + bpsUp(cost, 20n);
    const deadline = (await client.getBlock()).timestamp + 600n;
    const approve = (address: `0x${string}`, amount: bigint) =>
      write(client, account, {
        address,
        abi: erc20Abi,
        functionName: 'approve',
        args: [deployment.zapper, amount],
      });
    await approve(deployment.usdg, allIn);
    await write(client, account, {
      address: deployment.zapper,
      abi: basketZapperAbi,
      functionName: 'buyExact',
      args: [vault, shares, allIn, swaps, account.address, account.address, deadline],
    });
    expect(await balance(vault)).toBe(shares);
    expect(start - (await balance(deployment.usdg))).toBe(allIn);
    // Three shares of about $100 each, and the fees of pools and protocol.
    expect(Number(allIn)).toBeGreaterThan(295e6);
    expect(Number(allIn)).toBeLessThan(310e6);

    const sale = await sellSwaps(client, deployment, vault, shares);
    await approve(vault, shares);
    await write(client, account, {
      address: deployment.zapper,
      abi: basketZapperAbi,
      functionName: 'sell',
      args: [vault, shares, 1n, sale.swaps, account.address, account.address, deadline],
    });
    expect(await balance(vault)).toBe(0n);
    const lost = start - (await balance(deployment.usdg));
    expect(lost).toBeGreaterThan(0n);
    expect(Number(lost)).toBeLessThan(6e6);
  });

  test('prices can be pushed on live pools and the reference follows', async () => {
    const [before] = await referenceOf('CORE');
    await pushPrice(client, devAccount('maker').account, manifest, 'SPY', 0.97);
    await client.increaseTime({ seconds: 600 });
    await client.mine({ blocks: 1 });
    const [after, reason] = await referenceOf('CORE');
    expect(reason).toBe(0);
    expect(Number(after) / Number(before)).toBeGreaterThan(0.975);
    expect(Number(after) / Number(before)).toBeLessThan(0.982);
  });

  test('the market trades on live pools, and blocks come by themselves', async () => {
    const outcomes: StepOutcome[] = [];
    const height = await client.getBlockNumber();
    await new Promise<void>((resolve) => {
      const market = startMarket({
        client,
        maker: devAccount('maker').account,
        manifest,
        process: openingProcess(manifest),
        stepSeconds: 60,
        pauseMs: 10,
        onStep: (outcome) => {
          outcomes.push(outcome);
          if (outcomes.length === 3) void market.stop().then(resolve);
        },
      });
    });
    expect(outcomes.map(({ tag }) => tag)).toEqual(['moved', 'moved', 'moved']);
    await expect
      .poll(() => client.getBlockNumber(), { timeout: 15_000 })
      .toBeGreaterThan(height + 5n);
  });

  test('never touches what it does not own', async () => {
    // The upstream stays as it was: the fork wrote to itself alone.
    const code = await connect((upstream as Anvil).url).getCode({
      address: manifest.deployment.zapper,
    });
    expect(code).toBeUndefined();
    expect(Object.values(LIVE_STOCKS)).toHaveLength(12);
  });
});
