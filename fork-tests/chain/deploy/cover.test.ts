/** The real `--cover` command on a synthetic live chain whose pools begin with one observation slot. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Address, encodeFunctionData, getAddress, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_COVER_WEEKEND } from '../../../contracts-abi/constants.ts';
import { coverWeeks } from '../../../contracts-abi/cover-calendar.ts';
import { type Deployment, readDeployment } from '../../../contracts-abi/deployment.ts';
import {
  coverMarketAbi,
  localTokenAbi,
  marketMakerAbi,
  protocolPauseAbi,
  uniswapV3PoolAbi,
} from '../../../contracts-abi/generated/index.ts';
import { LIVE, LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import { transact, write } from '../client.ts';
import { discoverMarket } from '../live/discover.ts';
import { fullRange } from '../price.ts';
import { devAccount } from '../seed/accounts.ts';
import { deployMaker } from '../seed/pools.ts';
import { submitEach } from '../submitter.ts';
import { missingWeeks } from './cover-plan.ts';
import { makeDearer } from './dearer-token.ts';
import { GONE, nonceOf, type Site, startBareSite, stepsIn } from './deploy-process.ts';

const dave = devAccount('dave').account;
/** By how much the pools against USDG are made deeper, so that they carry a cover market. */
const DEEPER = 400n;
const SLOTS = 4_500;

let site: Site;

beforeAll(async () => {
  site = await startBareSite();
}, 120_000);

afterAll(() => site?.stop());

test('a plan says of each basket what cover its pools could carry, and pays for no slots that lead nowhere', async () => {
  const shallow = await site.call({ DEPLOY_POOL_SLOTS: String(SLOTS) }, '--dry-run');
  expect(shallow).toMatchObject({ code: 0, err: '' });
  expect(shallow.out).toMatch(
    /^ {2}CORE: none: its pools could carry \$\d{1,2}, and 90% of it must reach \$50$/m,
  );
  expect(shallow.out).not.toMatch(/^ {2}\w+: its pools could carry/m);
  expect(shallow.out).toMatch(
    /^Warning: [\d,]+ observation slots, about [\d,]+ gas, would be paid for nothing: no basket .* DEPLOY_POOL_SLOTS=720 is enough for references\.$/m,
  );
  const stopped = await site.call({ DEPLOY_POOL_SLOTS: String(SLOTS) });
  expect(stopped.code).toBe(1);
  expect(stopped.err).toMatch(/^deploy: [\d,]+ observation slots.* for nothing/);
  const references = await site.call({ DEPLOY_POOL_SLOTS: '720' }, '--dry-run');
  expect(references.out).not.toContain('Warning');
  expect(await nonceOf(site)).toBe(0);
}, 60_000);

test.each([
  ['Good Friday', '2027-03-25T20:00:00Z', '2027-03-29T14:00:00Z'],
  ['a Monday holiday', '2027-01-15T21:00:00Z', '2027-01-19T15:00:00Z'],
])('weeks go on after one that the owner published around %s', (_, closes, settles) => {
  const [close, settle] = [closes, settles].map((time) => Date.parse(time) / 1_000) as [
    number,
    number,
  ];
  expect(settle - close).toBeLessThanOrEqual(Number(MAX_COVER_WEEKEND));
  const id = Math.floor(close / 604_800);
  const weeks = missingWeeks({ now: close - 864_000, lastWeek: { id, close, settle } }, 4);
  expect(weeks.length).toBeGreaterThanOrEqual(2);
  expect(weeks).toEqual(coverWeeks(settle, weeks.length).map(({ id: __, ...times }) => times));
  expect(Math.floor((weeks[0]?.close ?? 0) / 604_800)).toBe(id + 1);
});

describe('where pools are deep', () => {
  let deployment: Deployment;
  let maker: Address;
  let pools: Map<string, { pool: Address; lower: number; upper: number }>;
  /** What the dry run of the deployment said of each basket, in whole dollars. */
  let foretold: Map<string, bigint>;

  beforeAll(async () => {
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
    const planFile = await writePlan();
    const dry = await site.call({ DEPLOY_PLAN_FILE: planFile }, '--dry-run');
    const outlook = dry.out.matchAll(/^ {2}(\w+): (?:none: )?its pools could carry \$(\d+)/gm);
    foretold = new Map([...outlook].map(([, ticker = '', cap = '']) => [ticker, BigInt(cap)]));
    const outcome = await site.call({ DEPLOY_PLAN_FILE: planFile });
    if (outcome.code !== 0) throw new Error(outcome.err);
    deployment = readDeployment(site.deploymentFile);
  }, 120_000);

  /**
   * CORE three times over, since baskets that share pools share what these carry; ADS, which shares none; and MAG7, of
   * many pools, one of them against WETH.
   */
  async function writePlan(): Promise<string> {
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
    const [core, ads, mag7] = ['CORE', 'ADS', 'MAG7'].map((ticker) =>
      plan.baskets.find((basket) => basket.ticker === ticker),
    );
    if (core === undefined || ads === undefined || mag7 === undefined)
      throw new Error('a basket is missing');
    // The pools against WETH are not made deeper here.
    ads.constituents = ads.constituents.filter(({ viaWeth }) => !viaWeth);
    ads.targetWeights = { GOOGL: 0.5, META: 0.5 };
    const baskets = [core, ads, { ...core, ticker: 'CORE2' }, { ...core, ticker: 'CORE3' }, mag7];
    writeFileSync(planFile, JSON.stringify({ ...plan, baskets, coverWeeks: 2 }));
    return planFile;
  }

  const market = () => ({ address: deployment.coverMarket, abi: coverMarketAbi }) as const;
  const capOf = (ticker: string) =>
    site.client.readContract({ ...market(), functionName: 'capOf', args: [vaultOf(ticker)] });
  const depthCapOf = (ticker: string) =>
    site.client.readContract({ ...market(), functionName: 'depthCapOf', args: [vaultOf(ticker)] });
  const GIFT = ['--only', 'CORE', '--fund', '9'];
  const publishedWeeks = () =>
    site.client.readContract({ ...market(), functionName: 'publishedWeeks' });
  const feePool = () => site.client.readContract({ ...market(), functionName: 'feePool' });

  function vaultOf(ticker: string): Address {
    const basket = deployment.baskets.find((one) => one.ticker === ticker);
    if (basket === undefined) throw new Error(`no basket ${ticker}`);
    return basket.vault;
  }

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

  /** Slots that are provided for. With its gas given: estimating it costs a dozen times the growth. */
  async function grow(symbol: string, slots: number): Promise<void> {
    await write(site.client, dave, {
      address: maker,
      abi: marketMakerAbi,
      functionName: 'grow',
      args: [pools.get(symbol)?.pool as Address, slots],
      gas: 200_000n + 25_000n * BigInt(slots),
    });
  }

  /** What happens in `during` leaves no trace on the chain. */
  async function aside(during: () => Promise<void>): Promise<void> {
    const id = await site.client.snapshot();
    try {
      await during();
    } finally {
      await site.client.revert({ id });
    }
  }

  const cover = (env: Record<string, string>, ...flags: string[]) =>
    site.call({ DEPLOY_COVER_WEEKS: '2', ...env }, '--cover', ...flags);

  const journalFile = () => `${site.deploymentFile}.cover-journal`;
  const journal = () => existsSync(journalFile());

  test('the plan foretold what the market says its pools carry', async () => {
    expect([...foretold.keys()].sort()).toEqual(['ADS', 'CORE', 'CORE2', 'CORE3', 'MAG7']);
    for (const [ticker, cap] of foretold) expect(await depthCapOf(ticker)).toBe(cap);
  });

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
    expect(journal()).toBe(false);
    const verified = await site.call({ WALLET_PRIVATE_KEYS: '' }, '--verify');
    expect(verified).toMatchObject({ code: 0, err: '' });
    expect(verified.out).toContain('CORE has no cover market:');
  }, 60_000);

  test('raises slots where asked, each once, however often it is killed', async () => {
    for (const symbol of ['SPY', 'QQQ']) await grow(symbol, 3_100);
    const nonce = await nonceOf(site);
    const flags = ['--cover', '--slots', String(SLOTS), '--only', 'CORE'];
    const env = { DEPLOY_COVER_WEEKS: '0' };
    const dry = await site.call(env, ...flags, '--dry-run');
    expect(dry).toMatchObject({ code: 0, err: '' });
    const planned = dry.out.match(/^ {2}\d+\. increaseObservation/gm) ?? [];
    // Two pools, 500 at a time.
    expect(planned).toHaveLength(6);
    expect(await nonceOf(site)).toBe(nonce);

    expect((await site.runKilled(3, 'before', env, ...flags)).code).toBeNull();
    expect(await nonceOf(site)).toBe(nonce + 2);
    expect((await site.callBroken(2, 'after', env, ...flags)).code).toBe(1);
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
  }, 60_000);

  test('a dry run states the caps that the run gives, and who gets none', async () => {
    await writeObservations();
    const env = { DEPLOY_COVER_WEEKS: '0' };
    // Room for one basket more, not for two.
    await aside(async () => {
      await write(site.client, site.deployer, {
        ...market(),
        functionName: 'listVault',
        args: [vaultOf('CORE'), (await depthCapOf('CORE')) - 80n],
      });
      const dry = await cover(env, '--dry-run');
      expect(dry).toMatchObject({ code: 0, err: '' });
      const listed = /^CORE3 would be listed with a cap of about \$(\d+)\.$/m.exec(dry.out);
      expect(dry.out).toMatch(/^CORE2 would not be listed: its part .* less than \$50\.$/m);
      expect(dry.out.match(/^ {2}\d+\. listVault/gm)).toHaveLength(1);
      const outcome = await cover(env);
      expect(outcome).toMatchObject({ code: 0, err: '' });
      expect(outcome.out).toMatch(/^CORE2 was not listed: /m);
      expect(await capOf('CORE2')).toBe(0n);
      expect(await capOf('CORE3')).toBe(BigInt(listed?.[1] ?? 0));
    });
    const depth = await depthCapOf('CORE');
    const caps: bigint[] = [];
    const dry = await cover(env, '--dry-run');
    for (const [index, ticker] of ['CORE', 'CORE2', 'CORE3'].entries()) {
      const left = depth - caps.reduce((sum, cap) => sum + cap, 0n);
      const stated = new RegExp(
        `^${ticker} would be listed with a cap of about \\$(\\d+)\\.$`,
        'm',
      );
      const cap = BigInt(stated.exec(dry.out)?.[1] ?? 0);
      expect(
        Math.abs(Number(cap) - Number((left * 90n) / (100n * BigInt(3 - index)))),
      ).toBeLessThan(2);
      caps.push(cap);
    }
    await aside(async () => {
      expect(await cover(env)).toMatchObject({ code: 0, err: '' });
      expect(await Promise.all(['CORE', 'CORE2', 'CORE3'].map(capOf))).toEqual(caps);
    });
    // A node that cannot simulate: no number that the run would not keep.
    const rule = site.proxy.on(
      'eth_simulateV1',
      {},
      { fault: 'error', code: -32_601, message: 'unknown method', forwarded: false },
    );
    const blind = await cover(env, '--dry-run');
    rule.remove();
    expect(blind.out).toContain(`CORE would be listed with a cap of at most $${caps[0]}, perhaps`);
  }, 60_000);

  test('what a broken-off run signed goes out by its own key where it is asked for, and is given up where it is told to', async () => {
    const env = { DEPLOY_COVER_WEEKS: '0' };
    await aside(async () => {
      const nonce = await nonceOf(site);
      await site.callBroken(1, 'before', env, '--cover');
      const left = readFileSync(journalFile());
      const cap = ((await depthCapOf('CORE')) * 90n) / 300n;
      const named = `the listing of CORE with a cap of $${cap}`;

      // Others than it was signed for, or CORE with a cap that it need not share.
      for (const only of ['CORE2', 'CORE']) {
        const dry = await cover(env, '--only', only, '--dry-run');
        expect(dry).toMatchObject({ code: 0, err: '' });
        const refused = await cover(env, '--only', only);
        expect(refused.code).toBe(1);
        expect(refused.err).toMatch(/^deploy: an earlier run, broken off, signed /);
        for (const text of [dry.out, refused.err]) {
          expect(text).toContain(named);
          expect(text).toContain('add --drop to give it up');
        }
        expect(dry.out).not.toContain('would be listed');
      }
      const stranger = { ...env, WALLET_PRIVATE_KEYS: generatePrivateKey() };
      for (const flags of [[], ['--drop']]) {
        const refused = await cover(stranger, '--fund', '1', ...flags);
        expect(refused.code).toBe(1);
        expect(refused.err).toContain(named);
        expect(refused.err).toContain(`run --cover with the key of ${site.deployer.address}`);
      }
      expect(await nonceOf(site)).toBe(nonce);
      expect(readFileSync(journalFile())).toEqual(left);

      const whole = await cover(env, '--dry-run');
      expect(whole.out).toContain(`${named}, would be sent as it was signed`);
      expect(whole.out).toMatch(
        /^ {2}1\. the listing of CORE .*\n {2}2\. listVault .*\n {2}3\. listVault /m,
      );
      await aside(async () => {
        expect(await cover(env)).toMatchObject({ code: 0, err: '' });
        expect(await capOf('CORE')).toBe(cap);
        for (const ticker of ['CORE2', 'CORE3']) {
          expect(whole.out).toContain(
            `${ticker} would be listed with a cap of about $${await capOf(ticker)}.`,
          );
        }
        expect(await nonceOf(site)).toBe(nonce + 3);
      });

      writeFileSync(journalFile(), left);
      const only = ['--only', 'CORE2'];
      const dropping = await cover(env, ...only, '--drop', '--dry-run');
      expect(dropping.out).toContain(`${named}, would be given up`);
      // Giving up breaks off as well: the next run goes on with that, asked to or not.
      await site.callBroken(1, 'before', env, '--cover', ...only, '--drop');
      expect(await nonceOf(site)).toBe(nonce);
      const gone = await cover(env, ...only);
      expect(gone).toMatchObject({ code: 0, err: '' });
      expect(gone.out).toContain('takes the place of a step which was given up');
      expect(await nonceOf(site)).toBe(nonce + 2);
      expect(await capOf('CORE')).toBe(0n);
      expect(dropping.out).toContain(
        `CORE2 would be listed with a cap of about $${await capOf('CORE2')}.`,
      );
      expect(journal()).toBe(false);
    });
  }, 60_000);

  test('a run broken off on a fork of this chain is not gone on with here', async () => {
    const env = { DEPLOY_COVER_WEEKS: '8' };
    const nonce = await nonceOf(site);
    // What is mined in here is not, afterwards.
    await aside(async () => {
      await site.callBroken(2, 'before', env, '--cover', '--only', 'CORE');
      expect(await nonceOf(site)).toBe(nonce + 1);
    });
    for (const flag of [[], ['--dry-run'], ['--drop']]) {
      const refused = await cover(env, '--only', 'CORE', ...flag);
      expect(refused.code).toBe(1);
      expect(refused.err).toMatch(
        /^deploy: .*cover-journal is of another chain, or this is a reorg/,
      );
    }
    expect(await nonceOf(site)).toBe(nonce);
    rmSync(journalFile());
  }, 60_000);

  test('lists what remembers enough by now and publishes the weeks that lack, once, through a break', async () => {
    const nonce = await nonceOf(site);
    const depth = await depthCapOf('CORE');
    const before = await publishedWeeks();
    const env = { DEPLOY_COVER_WEEKS: '8' };
    await site.callBroken(1, 'before', env, '--cover', '--only', 'CORE');
    const unasked = await cover({ DEPLOY_COVER_WEEKS: '0' }, '--only', 'CORE');
    expect(unasked.err).toMatch(
      /signed the publication of 6 weeks that close from 20\S+ to 20\S+,/,
    );
    // Once the weeks are on their way: their second sending would revert, the listing is still to come.
    await site.callBroken(1, 'after', env, '--cover', '--only', 'CORE');
    const outcome = await cover(env, '--only', 'CORE');
    expect(outcome).toMatchObject({ code: 0, err: '' });
    expect(stepsIn(outcome)).toHaveLength(1);
    expect(await nonceOf(site)).toBe(nonce + 2);
    // Alone among those that were asked for.
    expect(await capOf('CORE')).toBe((depth * 90n) / 100n);
    expect(outcome.out).toContain(`CORE (cap $${(depth * 90n) / 100n})`);
    expect(outcome.out).toContain('ADS has no cover market:');
    const weeks = await publishedWeeks();
    expect(weeks).toHaveLength(8);
    expect(weeks.slice(0, 2)).toEqual(before);
    for (const [index, week] of weeks.entries()) expect(week).toBe((weeks[0] ?? 0) + index);

    const again = await cover(env, '--only', 'CORE');
    expect(again).toMatchObject({ code: 0, err: '' });
    expect(again.out).toContain('Nothing to do: nothing was sent.');
    expect(await nonceOf(site)).toBe(nonce + 2);
    expect(journal()).toBe(false);
  }, 60_000);

  test('publishes on after the last week, also after one of other times, and when all have passed', async () => {
    const only = ['--only', 'CORE'];
    await aside(async () => {
      const last = (await publishedWeeks()).at(-1) ?? 0;
      // Of the seven days of the next regular week, and settled before that one closes.
      const settle = 7 * 86_400 * (last + 1) + 86_400;
      await write(site.client, site.deployer, {
        ...market(),
        functionName: 'publishWeeks',
        args: [[{ close: settle - 86_400, settle }]],
      });
      const outcome = await cover({ DEPLOY_COVER_WEEKS: '11' }, ...only);
      expect(outcome).toMatchObject({ code: 0, err: '' });
      expect((await publishedWeeks()).slice(-3)).toEqual([last + 1, last + 2, last + 3]);
    });
    for (const days of [15, 90]) {
      await site.client.increaseTime({ seconds: days * 86_400 });
      await site.client.mine({ blocks: 1 });
      const last = (await publishedWeeks()).at(-1) ?? 0;
      const outcome = await cover({ DEPLOY_COVER_WEEKS: '8' }, ...only);
      expect(outcome).toMatchObject({ code: 0, err: '' });
      expect(outcome.out).toMatch(/cover market: (8|9) weeks ahead/);
      expect((await publishedWeeks()).at(-1)).toBeGreaterThan(last);
    }
  }, 60_000);

  test('with another key prints the calls for the owner, which do what they say', async () => {
    for (const symbol of ['GOOGL', 'META']) await grow(symbol, SLOTS);
    await writeObservations();
    const key = generatePrivateKey();
    const other = privateKeyToAccount(key).address;
    const count = (await publishedWeeks()).length;
    const env = { DEPLOY_COVER_WEEKS: '12', WALLET_PRIVATE_KEYS: key };
    const only = ['--only', 'ADS'];
    const refused = await cover(env, ...only);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(
      new RegExp(
        `^deploy: the key of ${other} does not own the cover market ${deployment.coverMarket}: ${site.deployer.address} does`,
      ),
    );
    expect(await site.client.getTransactionCount({ address: other })).toBe(0);
    const dry = await cover({ ...env, WALLET_PRIVATE_KEYS: '' }, '--dry-run', ...only);
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
    const nothing = await cover(env, ...only);
    expect(nothing).toMatchObject({ code: 0, err: '' });
    expect(nothing.out).toContain('Nothing to do: nothing was sent.');
  }, 60_000);

  test('a broken-off step that lacks gas by now is named, and given up where it is told to', async () => {
    const env = { DEPLOY_COVER_WEEKS: '0' };
    await aside(async () => {
      const nonce = await brokenGift(env);
      await makeDearer(site, LIVE.usdg);
      const stopped = await cover(env, ...GIFT);
      expect(stopped.code).toBe(1);
      expect(stopped.err).toMatch(
        /^deploy: step 1 \(approve .*\) needs more gas by now than it was signed with, so it was not sent: add --drop/,
      );
      expect(await nonceOf(site)).toBe(nonce);
      expect(await cover(env, ...GIFT, '--drop')).toMatchObject({ code: 0, err: '' });
      expect(await feePool()).toBe(9_000_000n);
      expect(await nonceOf(site)).toBe(nonce + 3);
    });
  });

  test('what gives a step up is signed anew too where gas has passed its fee cap', async () => {
    const env = { DEPLOY_COVER_WEEKS: '0', DEPLOY_WAIT_SECONDS: '5' };
    const { baseFeePerGas: calm } = await site.client.getBlock();
    const mineAt = async (baseFeePerGas: bigint) => {
      await site.client.setNextBlockBaseFeePerGas({ baseFeePerGas });
      await site.client.mine({ blocks: 1 });
    };
    try {
      await aside(async () => {
        const nonce = await brokenGift(env);
        await site.callBroken(1, 'before', env, '--cover', ...GIFT, '--drop');
        await mineAt(10n ** 10n);
        const waiting = await cover(env, ...GIFT);
        expect(waiting.err).toMatch(/Gas costs more by now than its fee cap .* add --drop/);
        expect(await nonceOf(site)).toBe(nonce);
        const dry = await cover(env, ...GIFT, '--drop', '--dry-run');
        expect(dry.out).toContain('would be given up');
        expect(dry.out).toContain('drop of approve');
        expect(dry.out).not.toContain('drop of drop');
        expect(await cover(env, ...GIFT, '--drop')).toMatchObject({ code: 0, err: '' });
        expect(await feePool()).toBe(9_000_000n);
        expect(await nonceOf(site)).toBe(nonce + 3);
      });
    } finally {
      // What the next block costs is none of a snapshot's.
      await mineAt(calm ?? 0n);
    }
  }, 60_000);

  test('where a step is mined that was given up, it is told so, and not that what gave it up was mined', async () => {
    const env = { DEPLOY_COVER_WEEKS: '0' };
    await aside(async () => {
      const nonce = await brokenGift(env);
      await site.callBroken(1, 'before', env, '--cover', ...GIFT, '--drop');
      const [approval, drop] = readFileSync(journalFile(), 'utf8')
        .split('\n')
        .slice(1, 3)
        .map((line): { hash: Hex; raw: Hex } => JSON.parse(line));
      await site.client.sendRawTransaction({ serializedTransaction: approval?.raw as Hex });
      await expect.poll(() => nonceOf(site)).toBe(nonce + 1);
      const { code, out, err } = await cover(env, ...GIFT);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain(`drop of approve on ${deployment.usdg}, ${drop?.hash}:\n`);
      expect(out).toContain(
        `  What was signed before it was mined, and not it: ${approval?.hash}.\n`,
      );
      expect(await feePool()).toBe(9_000_000n);
      expect(await nonceOf(site)).toBe(nonce + 2);
    });
  }, 60_000);

  test('fills the fee pool up to a level, whatever breaks it off and whoever runs in between', async () => {
    const env = { DEPLOY_COVER_WEEKS: '0' };
    const only = ['--only', 'CORE'];
    const poor = await cover(env, ...only, '--fund', '2.5');
    expect(poor.err).toMatch(/^deploy: --fund 2.5 takes \$2.5 now, and 0x\w+ holds \$0 in USDG/);
    const warned = await cover(env, ...only, '--fund', '2.5', '--dry-run');
    expect(warned).toMatchObject({ code: 0, err: '' });
    expect(warned.out).toMatch(
      /--fund 2.5 takes \$2.5 now, and 0x\w+ holds \$0 in USDG: nothing would be sent/,
    );
    await mint(site.deployer.address, 20_000_000n);

    const nonce = await nonceOf(site);
    // Between the approval and the gift: the next one goes on with the approval that stands.
    await site.callBroken(1, 'after', env, '--cover', ...only, '--fund', '1');
    const first = await cover(env, ...only, '--fund', '1');
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out).toContain('The fee pool holds $0 of the $1 of --fund: $1 to give.');
    expect(await feePool()).toBe(1_000_000n);
    expect(await nonceOf(site)).toBe(nonce + 2);

    // Signed and not sent: it goes out where the pool stays within the level that is asked for, and nowhere else.
    await site.callBroken(2, 'before', env, '--cover', ...only, '--fund', '2.5');
    for (const level of [[], ['--fund', '2']]) {
      const dry = await cover(env, ...only, ...level, '--dry-run');
      const unasked = await cover(env, ...only, ...level);
      expect(unasked.code).toBe(1);
      for (const text of [dry.out, unasked.err]) {
        expect(text).toContain('a gift of $1.5 to the fee pool, and it is not mined');
      }
    }
    expect(await feePool()).toBe(1_000_000n);
    const foretold = await cover(env, ...only, '--fund', '3', '--dry-run');
    expect(foretold.out).toContain(
      'a gift of $1.5 to the fee pool, would be sent as it was signed',
    );
    expect(foretold.out).toContain('The fee pool holds $2.5 of the $3 of --fund: $0.5 to give.');
    const given = await cover(env, ...only, '--fund', '2.5');
    expect(given).toMatchObject({ code: 0, err: '' });
    expect(given.out).toContain('The fee pool holds $2.5 of the $2.5 of --fund: nothing to give.');
    expect(await feePool()).toBe(2_500_000n);
    expect(await nonceOf(site)).toBe(nonce + 4);

    // Filled by others meanwhile, after the approval: by the word of the node at the moment of signing.
    const data = encodeFunctionData({ abi: coverMarketAbi, functionName: 'feePool' });
    let reads = 0;
    const others = site.proxy.on(
      'eth_call',
      {
        where: ([call]) => {
          if ((call as { data?: Hex }).data !== data) return false;
          reads += 1;
          return reads > 3;
        },
      },
      { fault: 'result', result: `0x${10_000_000n.toString(16).padStart(64, '0')}` },
    );
    await aside(async () => {
      const spared = await cover(env, ...only, '--fund', '10');
      others.remove();
      expect(spared).toMatchObject({ code: 0, err: '' });
      expect(spared.out).toContain('Somebody else filled the fee pool meanwhile');
      expect(await feePool()).toBe(2_500_000n);
      expect(await nonceOf(site)).toBe(nonce + 5);
    });

    // Given, and the report fails: the endpoint answers no more reads.
    site.proxy.on(
      'eth_sendRawTransaction',
      { nth: 2 },
      {
        fault: 'rewrite',
        rewrite: (reply) => {
          site.proxy.on('eth_call', {}, { fault: 'error', ...GONE, forwarded: false });
          return reply;
        },
      },
    );
    const unreported = await cover(env, ...only, '--fund', '10');
    site.proxy.clear();
    expect(unreported.code).toBe(1);
    expect(unreported.err).toContain('run the same command again');
    expect(await feePool()).toBe(10_000_000n);
    expect(await cover(env, ...only, '--fund', '10')).toMatchObject({ code: 0, err: '' });
    expect(await feePool()).toBe(10_000_000n);
    expect(await nonceOf(site)).toBe(nonce + 6);
    expect(journal()).toBe(false);
  }, 60_000);

  test('a key that is not the owner’s gives once, however often it is run with the owner’s calls outstanding', async () => {
    const key = generatePrivateKey();
    const { address } = privateKeyToAccount(key);
    await site.client.setBalance({ address, value: 10n ** 18n });
    await mint(address, 30_000_000n);
    // Rewards took it all.
    await aside(async () => {
      await spendFeePool();
      for (let run = 0; run < 2; run += 1) {
        const env = { DEPLOY_COVER_WEEKS: '20', WALLET_PRIVATE_KEYS: key };
        const outcome = await cover(env, '--fund', '10');
        expect(outcome.code).toBe(1);
        expect(outcome.err).toContain('does not own the cover market');
        expect(await feePool()).toBe(10_000_000n);
        expect(journal()).toBe(false);
      }
      expect(await site.client.getTransactionCount({ address })).toBe(2);
    });
  }, 60_000);

  test('gives nothing by the word of a node that lags behind the key’s own transactions', async () => {
    await aside(async () => {
      await spendFeePool();
      await mint(site.deployer.address, 30_000_000n);
      await transact(site.client, site.deployer, { to: dave.address, data: '0x' });
      const nonce = await nonceOf(site);
      // The block that the pool is read at, and not the transaction count.
      const rule = site.proxy.on(
        'eth_getBlockByNumber',
        { times: 1 },
        { fault: 'stale', blocks: 1 },
      );
      const outcome = await cover({ DEPLOY_COVER_WEEKS: '0' }, '--only', 'CORE', '--fund', '10');
      rule.remove();
      expect(outcome.code).toBe(1);
      expect(outcome.err).toMatch(
        /^deploy: the fee pool was read after \d+ transactions of this key/,
      );
      expect(await nonceOf(site)).toBe(nonce);
    });
  }, 60_000);

  test('of a market that was renounced says so, asks nobody for calls, and raises no slots for it', async () => {
    await aside(async () => {
      await write(site.client, site.deployer, {
        address: deployment.coverMarket,
        abi: protocolPauseAbi,
        functionName: 'renounceOwnership',
        args: [],
      });
      const nonce = await nonceOf(site);
      const flags = ['--slots', '5000'];
      const outcome = await cover({ DEPLOY_COVER_WEEKS: '20' }, ...flags);
      expect(outcome.code).toBe(1);
      expect(outcome.err).toMatch(
        /^deploy: the cover market 0x\w+ cannot be extended: its ownership was renounced, so nobody/,
      );
      const dry = await cover({ DEPLOY_COVER_WEEKS: '20', WALLET_PRIVATE_KEYS: '' }, '--dry-run');
      expect(dry).toMatchObject({ code: 0, err: '' });
      for (const { out, err } of [outcome, dry]) {
        expect(out).toContain('its ownership was renounced');
        expect(out + err).not.toMatch(/acceptOwnership|Call 1|may have/);
      }
      expect(await nonceOf(site)).toBe(nonce);
    });
  }, 60_000);

  test('refuses flags that mean nothing in a line', async () => {
    for (const [flags, words] of [
      [['--slots', '4500'], '--slots goes with --cover'],
      [['--drop'], '--drop goes with --cover'],
      [['--cover', '--verify'], 'goes with neither'],
      [['--cover', '--slots', '720'], 'from 4500 to 10000'],
      [['--cover', '--fund', '0'], 'above zero'],
      [['--cover', '--fund', '-5'], "'--fund'"],
      [['--cover', '--fund=-5'], 'above zero'],
      [
        ['--cover', '--fund', '25'],
        'anyone may send what lies above it to the treasury: 10 is the most',
      ],
      [['--cover', '--only', 'NONE'], '--only names no basket of the registry: NONE'],
    ] as const) {
      const outcome = await site.call({}, ...flags);
      expect(outcome.code).toBe(1);
      expect(outcome.err).toMatch(/^deploy: /);
      expect(outcome.err).toContain(words);
      expect(outcome.err.trim().split('\n')).toHaveLength(1);
    }
    expect((await site.call({}, '--help')).out).toContain('npm run deploy -- --cover');
  }, 60_000);

  /** What a gift takes is there, and its approval is signed and not sent. @returns the nonce of the approval. */
  async function brokenGift(env: Record<string, string>): Promise<number> {
    await mint(site.deployer.address, 9_000_000n);
    const nonce = await nonceOf(site);
    await site.callBroken(1, 'before', env, '--cover', ...GIFT);
    return nonce;
  }

  async function mint(to: Address, amount: bigint): Promise<void> {
    await write(site.client, dave, {
      address: LIVE.usdg,
      abi: localTokenAbi,
      functionName: 'mint',
      args: [to, amount],
    });
  }

  /** As if rewards had: no week of cover runs through here. */
  async function spendFeePool(): Promise<void> {
    const { coverMarket: address } = deployment;
    const held = await feePool();
    for (let slot = 0; slot < 40; slot += 1) {
      const key = `0x${slot.toString(16).padStart(64, '0')}` as const;
      const word = await site.client.getStorageAt({ address, slot: key });
      if (BigInt(word ?? '0x0') !== held) continue;
      await site.client.setStorageAt({ address, index: slot, value: `0x${'0'.repeat(64)}` });
      if ((await feePool()) === 0n) return;
      throw new Error('another word was the fee pool’s');
    }
    throw new Error('no word is the fee pool’s');
  }
});
