import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { erc20Abi } from 'viem';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { COVER_CUTOFF, USD } from '../../contracts-abi/constants.ts';
import { coverWeeks } from '../../contracts-abi/cover-calendar.ts';
import { readDeployment } from '../../contracts-abi/deployment.ts';
import {
  basketRegistryAbi,
  coverMarketAbi,
  navOracleAbi,
  uniswapV3FactoryAbi,
} from '../../contracts-abi/generated/index.ts';
import { rpc, startAnvil } from '../anvil.ts';
import { CHAIN_ARGUMENTS } from './arguments.ts';
import { type ChainClient, connect } from './client.ts';
import { readManifest } from './files.ts';
import { type StepOutcome, startMarket } from './market/market.ts';
import { dollarPrice, movesTo } from './market/moves.ts';
import { pushPrice } from './market/push.ts';
import { devAccount, devAccounts, FUNDS, ROLES } from './seed/accounts.ts';
import { resumedProcess } from './seed/history.ts';
import { type Manifest, tokenOf, vaultOf } from './seed/manifest.ts';
import { poolAddress } from './seed/pools.ts';
import { loadChain, seededChain } from './state/load.ts';

const stops: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

async function boot(): Promise<{ client: ChainClient; manifest: Manifest; url: string }> {
  const chain = await seededChain();
  const anvil = await startAnvil({ args: CHAIN_ARGUMENTS });
  stops.push(() => anvil.stop());
  const manifest = await loadChain(anvil.url, chain);
  return { client: connect(anvil.url), manifest, url: anvil.url };
}

async function reasons(client: ChainClient, manifest: Manifest): Promise<Record<string, number>> {
  const entries = await Promise.all(
    manifest.deployment.baskets.map(async ({ ticker, vault }) => {
      const [, reason] = await client.readContract({
        address: manifest.deployment.oracle,
        abi: navOracleAbi,
        functionName: 'tryReferenceNav',
        args: [vault],
      });
      return [ticker, reason] as const;
    }),
  );
  return Object.fromEntries(entries);
}

/** INavOracle.Invalid */
const NO_POOL = 1;
const CARDINALITY = 2;

function expected(manifest: Manifest): Record<string, number> {
  const valid = Object.fromEntries(manifest.deployment.baskets.map(({ ticker }) => [ticker, 0]));
  return { ...valid, FRESH: CARDINALITY, PREIPO: NO_POOL };
}

describe('the seeded chain', () => {
  let chain: { client: ChainClient; manifest: Manifest };

  beforeAll(async () => {
    chain = await boot();
  });

  test('loads within seconds, in one call', async () => {
    const state = await seededChain();
    const anvil = await startAnvil({ args: CHAIN_ARGUMENTS });
    stops.push(() => anvil.stop());
    const started = performance.now();
    await loadChain(anvil.url, state);
    // 0.3 s on an idle machine; the bound allows for a busy one.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test('has every reference but the two that cannot exist', async () => {
    const { client, manifest } = chain;
    expect(await reasons(client, manifest)).toEqual(expected(manifest));
  });

  test('funds dev accounts with fresh keys, none of them the well-known ones', async () => {
    const { client, manifest } = chain;
    for (const role of ROLES) {
      const { address } = devAccount(role).account;
      expect(address).not.toBe('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266');
      const usdg = await client.readContract({
        address: manifest.deployment.usdg,
        abi: erc20Abi,
        functionName: 'balanceOf',
        args: [address],
      });
      expect(usdg).toBe(FUNDS[role].usdg);
    }
    const { account } = devAccounts().alice;
    expect(await client.getBalance({ address: account.address })).toBe(FUNDS.alice.eth);
    expect(await rpc(client.transport.url ?? '', 'eth_accounts')).toEqual([]);
  });

  test('registers fifteen baskets with texts, thirteen of them for orders', async () => {
    const { client, manifest } = chain;
    const rows = await client.readContract({
      address: manifest.deployment.registry,
      abi: basketRegistryAbi,
      functionName: 'baskets',
    });
    expect(rows).toHaveLength(15);
    for (const row of rows) {
      expect(row.name.length).toBeGreaterThan(2);
      expect(row.thesis.length).toBeGreaterThan(30);
      expect(row.risk === '').toBe(row.riskNote === '');
    }
    expect(rows.filter(({ ordersEnabled }) => ordersEnabled)).toHaveLength(13);
  });

  test('has a cover market: three baskets, a week trading and two ahead, a book in each', async () => {
    const { client, manifest } = chain;
    const market = { address: manifest.deployment.coverMarket, abi: coverMarketAbi } as const;
    const vaults = await client.readContract({ ...market, functionName: 'coverVaults' });
    expect(vaults).toEqual(['MAG7', 'ADS', 'CORE'].map((ticker) => vaultOf(manifest, ticker)));
    const [some, current] = await client.readContract({ ...market, functionName: 'currentWeek' });
    const { timestamp } = await client.getBlock();
    const expectedWeeks = coverWeeks(Number(timestamp + COVER_CUTOFF), 3);
    expect([some, current]).toEqual([true, expectedWeeks[0]?.id]);
    // Who serves the first weekend is paid.
    expect(await client.readContract({ ...market, functionName: 'feePool' })).toBe(50n * USD);
    const listed = await client.getContractEvents({
      ...market,
      eventName: 'Listed',
      fromBlock: BigInt(manifest.deployment.startBlock),
    });
    for (const vault of vaults) {
      const cap = await client.readContract({ ...market, functionName: 'capOf', args: [vault] });
      for (const { id } of expectedWeeks) {
        const book = listed
          .map(({ args }) => args.terms)
          .filter((terms) => terms?.week === id && terms.vault === vault);
        expect(new Set(book.map((terms) => `${terms?.fromBps}-${terms?.toBps}`)).size).toBe(4);
        const depth = book.reduce((sum, terms) => sum + (terms?.coverUsd ?? 0n), 0n);
        expect(depth).toBeGreaterThan(2_000n);
        expect(depth).toBeLessThan(cap);
        expect(
          await client.readContract({ ...market, functionName: 'tradingOpen', args: [id] }),
        ).toBe(true);
      }
    }
  });

  test('keeps the events of its whole life for an indexer', async () => {
    const { client, manifest } = chain;
    const logs = await client.getContractEvents({
      address: manifest.deployment.registry,
      abi: basketRegistryAbi,
      eventName: 'BasketAppended',
      fromBlock: BigInt(manifest.deployment.startBlock),
    });
    expect(logs).toHaveLength(15);
  });

  test('its pools are the factory’s own', async () => {
    const { client, manifest } = chain;
    const { uniswapV3Factory, usdg, weth } = manifest.deployment;
    for (const { address: token, pools } of manifest.tokens) {
      for (const { address, quote, fee } of pools) {
        const other = quote === 'USDG' ? usdg : weth;
        expect(poolAddress(uniswapV3Factory, token, other, fee)).toBe(address);
        const known = await client.readContract({
          address: uniswapV3Factory,
          abi: uniswapV3FactoryAbi,
          functionName: 'getPool',
          args: [token, other, fee],
        });
        expect(known).toBe(address);
      }
    }
  });

  test('stands at the present', async () => {
    const fresh = await boot();
    const { timestamp } = await fresh.client.getBlock();
    // Booting takes as long as the machine is busy; the block is mined at its end.
    expect(Math.abs(Number(timestamp) - Date.now() / 1_000)).toBeLessThan(15);
  });

  test('has its references also when the state lay for a year, though nothing traded since', async () => {
    const { client, manifest } = chain;
    await client.increaseTime({ seconds: 365 * 86_400 });
    await client.mine({ blocks: 1 });
    expect(await reasons(client, manifest)).toEqual(expected(manifest));
  });
});

describe('the market', () => {
  let chain: { client: ChainClient; manifest: Manifest };
  let snapshot: `0x${string}`;
  const maker = devAccount('maker').account;

  beforeAll(async () => {
    chain = await boot();
  });

  beforeEach(async () => {
    snapshot = await chain.client.snapshot();
  });

  afterEach(async () => {
    await chain.client.revert({ id: snapshot });
  });

  /** Runs until `enough` says so; each step covers a minute of prices, so that most pools move. */
  async function run(
    enough: (outcomes: readonly StepOutcome[]) => boolean,
  ): Promise<StepOutcome[]> {
    const outcomes: StepOutcome[] = [];
    await new Promise<void>((resolve) => {
      const market = startMarket({
        ...chain,
        maker,
        process: resumedProcess(chain.manifest),
        stepSeconds: 60,
        pauseMs: 10,
        onStep: (outcome) => {
          outcomes.push(outcome);
          if (enough(outcomes)) void market.stop().then(resolve);
        },
      });
    });
    return outcomes;
  }

  const pricesNow = () =>
    Promise.all(
      ['NVDA', 'COIN', 'CBTC', 'XAU', 'WETH'].map((symbol) =>
        dollarPrice(chain.client, chain.manifest, tokenOf(chain.manifest, symbol)),
      ),
    );

  test('moves pools along one path of prices, the same in every run', async () => {
    const before = await pricesNow();
    const outcomes = await run(({ length }) => length === 6);
    expect(outcomes.every((outcome) => outcome.tag === 'moved' && outcome.pools > 3)).toBe(true);
    const first = await pricesNow();
    expect(first.every((price, i) => price !== before[i])).toBe(true);
    await chain.client.revert({ id: snapshot });
    snapshot = await chain.client.snapshot();
    await run(({ length }) => length === 6);
    expect(await pricesNow()).toEqual(first);
  });

  test('keeps references valid while it trades, and keeps to a price that was pushed', async () => {
    const nvda = tokenOf(chain.manifest, 'NVDA');
    const before = await dollarPrice(chain.client, chain.manifest, nvda);
    await pushPrice(chain.client, maker, chain.manifest, 'NVDA', 0.95);
    await run(({ length }) => length === 6);
    const after = await dollarPrice(chain.client, chain.manifest, nvda);
    expect(Number(after) / Number(before)).toBeGreaterThan(0.94);
    expect(Number(after) / Number(before)).toBeLessThan(0.96);
    expect(await reasons(chain.client, chain.manifest)).toEqual(expected(chain.manifest));
  });

  test('goes on after steps that fail', async () => {
    await chain.client.setBalance({ address: maker.address, value: 0n });
    const outcomes = await run((seen) => {
      if (seen.length === 2) {
        void chain.client.setBalance({ address: maker.address, value: 10n ** 20n });
      }
      return seen.some(({ tag }) => tag === 'moved') || seen.length === 200;
    });
    expect(outcomes[0]?.tag).toBe('failed');
    expect(outcomes.at(-1)?.tag).toBe('moved');
  });

  test('asks for the price of WETH before it moves what trades through it', () => {
    const prices = new Map([['COIN', 300n * 10n ** 18n]]);
    expect(() => movesTo(chain.manifest, prices)).toThrow('WETH');
  });
});

describe('the process', () => {
  test('says when it is ready, mines, and leaves neither process nor file', async () => {
    await seededChain();
    const folder = await mkdtemp(join(tmpdir(), 'local-chain-'));
    stops.push(() => rm(folder, { recursive: true, force: true }));
    const deploymentFile = join(folder, 'deployment.json');
    const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
    const child = spawn(process.execPath, ['--import', 'tsx', 'fork-tests/chain/main.ts'], {
      cwd: root,
      env: { ...process.env, LOCAL_CHAIN_PORT: '0', DEPLOYMENT_FILE: deploymentFile },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    stops.push(async () => {
      child.kill('SIGKILL');
      await exited;
    });
    const ready = await new Promise<{ rpcUrl: string; accounts: { name: string }[] }>(
      (resolve, reject) => {
        createInterface({ input: child.stdout }).on('line', (line) => {
          if (line.startsWith('{"ready":true')) resolve(JSON.parse(line));
        });
        void exited.then((code) => reject(new Error(`ended with ${code} before it was ready`)));
      },
    );
    expect(ready.accounts.map(({ name }) => name)).toEqual([...ROLES]);
    const deployment = readDeployment(deploymentFile);
    expect(readManifest(deploymentFile).deployment).toEqual(deployment);
    const client = connect(ready.rpcUrl);
    expect(vaultOf(readManifest(deploymentFile), 'MAG7')).toBe(deployment.baskets[0]?.vault);
    const height = await client.getBlockNumber();
    await expect
      .poll(() => client.getBlockNumber(), { timeout: 10_000 })
      .toBeGreaterThan(height + 2n);
    const { timestamp } = await client.getBlock();
    expect(Math.abs(Number(timestamp) - Date.now() / 1_000)).toBeLessThan(5);

    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    await expect(client.getBlockNumber()).rejects.toThrow('HTTP request failed');
    expect(existsSync(deploymentFile)).toBe(false);
    expect(await readdir(folder)).toEqual([]);
  });
});
