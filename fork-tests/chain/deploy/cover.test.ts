/** The real `--cover` command on a synthetic live chain whose pools begin with one observation slot. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Address, getAddress, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, readDeployment } from '../../../contracts-abi/deployment.ts';
import {
  coverMarketAbi,
  localTokenAbi,
  marketMakerAbi,
  uniswapV3PoolAbi,
} from '../../../contracts-abi/generated/index.ts';
import { LIVE, LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import { transact, write } from '../client.ts';
import { discoverMarket } from '../live/discover.ts';
import { fullRange } from '../price.ts';
import { devAccount } from '../seed/accounts.ts';
import { deployMaker } from '../seed/pools.ts';
import { submitEach } from '../submitter.ts';
import { nonceOf, type Site, startBareSite, stepsIn } from './deploy-process.ts';

const dave = devAccount('dave').account;
/** By how much the pools against USDG are made deeper, so that they carry a cover market. */
const DEEPER = 400n;
const SLOTS = 4_500;

let site: Site;
let deployment: Deployment;
let maker: Address;
let pools: Map<string, { pool: Address; lower: number; upper: number }>;

beforeAll(async () => {
  site = await startBareSite();
  const { client } = site;
  maker = await deployMaker(submitEach(client), dave, dave, LIVE.uniswapV3Factory);
  for (const address of [LIVE.usdg, ...Object.values(LIVE_STOCKS)]) {
    await write(client, dave, {
      address,
      abi: localTokenAbi,
      functionName: 'mint',
      args: [maker, 10n ** 30n],
    });
  }
  pools = new Map();
  for (const { symbol, pools: found } of await discoverMarket(client)) {
    const [pool] = found;
    if (pool === undefined || pool.quote === 'WETH' || symbol === 'WETH') continue;
    const { lower, upper } = fullRange(pool.fee);
    pools.set(symbol, { pool: pool.address, lower, upper });
    await write(client, dave, {
      address: maker,
      abi: marketMakerAbi,
      functionName: 'provide',
      args: [pool.address, lower, upper, pool.liquidity * DEEPER],
    });
  }
  const dry = await site.call({}, '--dry-run');
  if (dry.code !== 0) throw new Error(dry.err);
  const planFile = `${site.deploymentFile}.plan`;
  const plan = JSON.parse(readFileSync(planFile, 'utf8')) as {
    baskets: {
      ticker: string;
      constituents: { viaWeth: boolean }[];
      targetWeights: Record<string, number>;
    }[];
  };
  plan.baskets = plan.baskets.filter(({ ticker }) => ['CORE', 'ADS'].includes(ticker));
  for (const basket of plan.baskets) {
    // The pools against WETH are not made deeper here.
    if (!basket.constituents.some(({ viaWeth }) => viaWeth)) continue;
    basket.constituents = basket.constituents.filter(({ viaWeth }) => !viaWeth);
    basket.targetWeights = { GOOGL: 0.5, META: 0.5 };
  }
  writeFileSync(planFile, JSON.stringify({ ...plan, coverWeeks: 2 }));
  const outcome = await site.call({ DEPLOY_PLAN_FILE: planFile });
  if (outcome.code !== 0) throw new Error(outcome.err);
  deployment = readDeployment(site.deploymentFile);
}, 300_000);

afterAll(() => site?.stop());

const capOf = (ticker: string) =>
  site.client.readContract({
    address: deployment.coverMarket,
    abi: coverMarketAbi,
    functionName: 'capOf',
    args: [vaultOf(ticker)],
  });

const depthCapOf = (ticker: string) =>
  site.client.readContract({
    address: deployment.coverMarket,
    abi: coverMarketAbi,
    functionName: 'depthCapOf',
    args: [vaultOf(ticker)],
  });

function vaultOf(ticker: string): Address {
  const basket = deployment.baskets.find((one) => one.ticker === ticker);
  if (basket === undefined) throw new Error(`no basket ${ticker}`);
  return basket.vault;
}

const publishedWeeks = () =>
  site.client.readContract({
    address: deployment.coverMarket,
    abi: coverMarketAbi,
    functionName: 'publishedWeeks',
  });

const feePool = () =>
  site.client.readContract({
    address: deployment.coverMarket,
    abi: coverMarketAbi,
    functionName: 'feePool',
  });

/** The pools write an observation each, in a second of its own. */
async function writeObservations(): Promise<void> {
  await site.client.increaseTime({ seconds: 12 });
  await write(site.client, dave, {
    address: maker,
    abi: marketMakerAbi,
    functionName: 'touch',
    args: [[...pools.values()]],
  });
}

const cover = (env: Record<string, string>, ...flags: string[]) =>
  site.call({ DEPLOY_COVER_WEEKS: '2', ...env }, '--cover', ...flags);

test('says of each basket what is missing, and sends nothing while nothing may be listed', async () => {
  const nonce = await nonceOf(site);
  const outcome = await cover({});
  expect(outcome).toMatchObject({ code: 0, err: '' });
  expect(outcome.out).toContain('Nothing to do: nothing was sent.');
  expect(outcome.out).toMatch(/cover market: 2 weeks ahead, .*; baskets: none; fee pool \$0/);
  for (const ticker of ['CORE', 'ADS'])
    expect(outcome.out).toContain(`${ticker} has no cover market:`);
  expect(outcome.out).toMatch(
    new RegExp(
      `pool ${pools.get('SPY')?.pool} remembers 1 observations, and 4500 are needed; 1 are provided for: raise them with npm run deploy -- --cover --slots 4500`,
    ),
  );
  expect(await nonceOf(site)).toBe(nonce);
  expect(existsSync(`${site.deploymentFile}.cover-journal`)).toBe(false);
  const verified = await site.call({ WALLET_PRIVATE_KEYS: '' }, '--verify');
  expect(verified).toMatchObject({ code: 0, err: '' });
  expect(verified.out).toContain('CORE has no cover market:');
}, 120_000);

test('raises slots where asked, each once, however often it is killed', async () => {
  const nonce = await nonceOf(site);
  const flags = ['--cover', '--slots', String(SLOTS), '--only', 'CORE'];
  const env = { DEPLOY_COVER_WEEKS: '0' };
  const dry = await site.call(env, ...flags, '--dry-run');
  expect(dry).toMatchObject({ code: 0, err: '' });
  const planned = dry.out.match(/^ {2}\d+\. increaseObservation/gm) ?? [];
  // Two pools, from one slot, 500 at a time.
  expect(planned).toHaveLength(18);
  expect(await nonceOf(site)).toBe(nonce);

  expect((await site.runKilled(3, 'before', env, ...flags)).code).toBeNull();
  expect(await nonceOf(site)).toBe(nonce + 2);
  expect((await site.runKilled(4, 'after', env, ...flags)).code).toBeNull();
  const last = await site.call(env, ...flags);
  expect(last).toMatchObject({ code: 0, err: '' });
  expect(last.out).toContain('An earlier run was broken off');
  expect(await nonceOf(site)).toBe(nonce + planned.length);
  expect(last.out).toMatch(
    /remembers 1 observations, .*; 4500 are provided for and there after its next write/,
  );
  for (const symbol of ['SPY', 'QQQ']) {
    const [, , , , next] = await site.client.readContract({
      address: pools.get(symbol)?.pool as Address,
      abi: uniswapV3PoolAbi,
      functionName: 'slot0',
    });
    expect(next).toBe(SLOTS);
  }
  expect(await capOf('CORE')).toBe(0n);
}, 120_000);

test('lists what remembers enough by now and publishes the weeks that lack, once, through a kill', async () => {
  await writeObservations();
  const nonce = await nonceOf(site);
  const depth = await depthCapOf('CORE');
  const before = await publishedWeeks();
  const env = { DEPLOY_COVER_WEEKS: '8' };
  // Killed once the weeks are on their way: their second sending would revert, the listing is still to come.
  await site.runKilled(1, 'after', env, '--cover');
  const outcome = await cover(env);
  expect(outcome).toMatchObject({ code: 0, err: '' });
  expect(stepsIn(outcome)).toHaveLength(1);
  expect(await nonceOf(site)).toBe(nonce + 2);
  // CORE and ADS share no pool.
  expect(await capOf('CORE')).toBe((depth * 90n) / 100n);
  expect(outcome.out).toContain(`CORE (cap $${(depth * 90n) / 100n})`);
  expect(outcome.out).toContain('ADS has no cover market:');
  const weeks = await publishedWeeks();
  expect(weeks).toHaveLength(8);
  expect(weeks.slice(0, 2)).toEqual(before);
  for (const [index, week] of weeks.entries()) expect(week).toBe((weeks[0] ?? 0) + index);

  const again = await cover(env);
  expect(again).toMatchObject({ code: 0, err: '' });
  expect(again.out).toContain('Nothing to do: nothing was sent.');
  expect(await nonceOf(site)).toBe(nonce + 2);
}, 120_000);

test('publishes on after the last week, also when all of them have passed', async () => {
  for (const days of [15, 90]) {
    await site.client.increaseTime({ seconds: days * 86_400 });
    await site.client.mine({ blocks: 1 });
    const last = (await publishedWeeks()).at(-1) ?? 0;
    const outcome = await cover({ DEPLOY_COVER_WEEKS: '8' });
    expect(outcome).toMatchObject({ code: 0, err: '' });
    expect(outcome.out).toMatch(/cover market: (8|9) weeks ahead/);
    expect((await publishedWeeks()).at(-1)).toBeGreaterThan(last);
  }
}, 120_000);

test('with another key prints the calls for the owner, which do what they say', async () => {
  for (const symbol of ['GOOGL', 'META']) {
    await write(site.client, dave, {
      address: maker,
      abi: marketMakerAbi,
      functionName: 'grow',
      args: [pools.get(symbol)?.pool as Address, SLOTS],
      gas: 200_000n + 25_000n * BigInt(SLOTS),
    });
  }
  await writeObservations();
  const key = generatePrivateKey();
  const other = privateKeyToAccount(key).address;
  const count = (await publishedWeeks()).length;
  const env = { DEPLOY_COVER_WEEKS: '12', WALLET_PRIVATE_KEYS: key };
  const refused = await cover(env);
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(
    new RegExp(
      `^deploy: the key of ${other} does not own the cover market ${deployment.coverMarket}: ${site.deployer.address} does`,
    ),
  );
  expect(await site.client.getTransactionCount({ address: other })).toBe(0);
  const dry = await cover({ ...env, WALLET_PRIVATE_KEYS: '' }, '--dry-run');
  expect(dry).toMatchObject({ code: 0, err: '' });

  const calls = [...refused.out.matchAll(/ {2}to {4}(0x\w+)\n {2}value 0\n {2}data {2}(0x\w+)/g)];
  expect(calls).toHaveLength(2);
  for (const [text, to, data] of calls) {
    expect(dry.out).toContain(text);
    await transact(site.client, site.deployer, { to: getAddress(to as Hex), data: data as Hex });
  }
  expect(refused.out).toContain(`listVault, ADS with a cap of $${await capOf('ADS')}`);
  expect(await capOf('ADS')).toBeGreaterThanOrEqual(50n);
  expect((await publishedWeeks()).length).toBeGreaterThan(count);
  const nothing = await cover(env);
  expect(nothing).toMatchObject({ code: 0, err: '' });
  expect(nothing.out).toContain('Nothing to do: nothing was sent.');
}, 120_000);

test('gives to the fee pool once, through a kill, and not what the key does not hold', async () => {
  const poor = await cover({ DEPLOY_COVER_WEEKS: '0' }, '--fund', '2.5');
  expect(poor.err).toMatch(/^deploy: --fund asks for \$2.5, and 0x\w+ holds \$0 in USDG/);
  await write(site.client, dave, {
    address: LIVE.usdg,
    abi: localTokenAbi,
    functionName: 'mint',
    args: [site.deployer.address, 10_000_000n],
  });
  const env = { DEPLOY_COVER_WEEKS: '0' };
  const nonce = await nonceOf(site);
  await site.runKilled(2, 'before', env, '--cover', '--fund', '2.5');
  const outcome = await cover(env, '--fund', '2.5');
  expect(outcome).toMatchObject({ code: 0, err: '' });
  expect(outcome.out).toContain('no second time');
  expect(await feePool()).toBe(2_500_000n);
  expect(await nonceOf(site)).toBe(nonce + 2);
  expect(await cover(env, '--fund', '0.5')).toMatchObject({ code: 0, err: '' });
  expect(await feePool()).toBe(3_000_000n);
}, 120_000);

test('refuses flags that mean nothing in a line', async () => {
  for (const [flags, words] of [
    [['--slots', '4500'], '--slots goes with --cover'],
    [['--cover', '--verify'], 'goes with neither'],
    [['--cover', '--slots', '720'], 'from 4500 to 10000'],
    [['--cover', '--fund', '0'], 'above zero'],
    [['--cover', '--only', 'NONE'], '--only names no basket of the registry: NONE'],
  ] as const) {
    const outcome = await site.call({}, ...flags);
    expect(outcome.code).toBe(1);
    expect(outcome.err).toContain(words);
    expect(outcome.err.trim().split('\n')).toHaveLength(1);
  }
  expect((await site.call({}, '--help')).out).toContain('npm run deploy -- --cover');
}, 60_000);
