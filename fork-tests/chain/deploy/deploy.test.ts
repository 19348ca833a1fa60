/**
 * The real `npm run deploy` against forks of the synthetic live chain: unbroken, killed with SIGKILL at many steps,
 * refused with one line about what is wrong, and verified.
 */
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { erc20Abi, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, readDeployment } from '../../../contracts-abi/deployment.ts';
import {
  accountFactoryAbi,
  localTokenAbi,
  protocolPauseAbi,
  swapRouter02Abi,
} from '../../../contracts-abi/generated/index.ts';
import { LIVE, LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import { encryptKeystore } from '../../../runtime/keys/keystore.ts';
import { type Anvil, startAnvil } from '../../anvil.ts';
import { CHAIN_ARGUMENTS } from '../arguments.ts';
import { type ChainClient, sendSigned, write } from '../client.ts';
import { devAccount } from '../seed/accounts.ts';
import { type Outcome, type Site, startLiveWithDeployer, startSite } from './deploy-process.ts';
import { Journal } from './journal.ts';

const owner = devAccount('alice').account;
const guardian = devAccount('guardian').account;
const treasury = devAccount('treasury').account;
const ROLES = {
  DEPLOY_OWNER: owner.address,
  DEPLOY_GUARDIAN: guardian.address,
  DEPLOY_TREASURY: treasury.address,
};

let start: { live: Anvil; key: Hex };
/** Two baskets: enough steps to break off at, few enough to do it often. */
let planFile: string;
let planFolder: string;
/** What an unbroken run leaves, from the same state with the same plan and key. */
let unbroken: Deployment;
let unbrokenSteps: number;
const open: Site[] = [];

async function site(): Promise<Site> {
  const fresh = await startSite(start);
  open.push(fresh);
  return fresh;
}

function nonceOf({ client, deployer }: Site): Promise<number> {
  return client.getTransactionCount({ address: deployer.address });
}

const stepsIn = ({ out }: Outcome): string[] => out.match(/^ {2}\d+\/\d+ .*$/gm) ?? [];

beforeAll(async () => {
  start = await startLiveWithDeployer();
  const { run, deploymentFile, proxy, stop, ...rest } = await startSite(start);
  planFolder = join(dirname(deploymentFile), '..', `plan-${process.pid}`);
  const dry = await run({ ...ROLES }, '--dry-run');
  expect(dry.err).toBe('');
  const plan = JSON.parse(readFileSync(`${deploymentFile}.plan`, 'utf8')) as {
    baskets: { ticker: string }[];
  };
  plan.baskets = plan.baskets.filter(({ ticker }) => ['CORE', 'ADS'].includes(ticker));
  planFile = `${planFolder}.json`;
  writeFileSync(planFile, JSON.stringify(plan));

  const whole = await run({ DEPLOY_PLAN_FILE: planFile });
  expect(whole.err).toBe('');
  expect(whole.code).toBe(0);
  unbroken = readDeployment(deploymentFile);
  unbrokenSteps = await nonceOf({ ...rest, run, deploymentFile, proxy, stop } as Site);
  await stop();
}, 300_000);

afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

afterAll(async () => {
  await start?.live.stop();
  rmSync(planFile, { force: true });
});

describe('an unbroken run', () => {
  test('deploys the whole plan, verifies it, and hands over in two steps', async () => {
    const here = await site();
    const before = await nonceOf(here);
    const dry = await here.run({ ...ROLES, DEPLOY_POOL_SLOTS: '720' }, '--dry-run');
    expect(dry.err).toBe('');
    expect(await nonceOf(here)).toBe(before);
    const bound = Number(/At most ([\d,]+) gas/.exec(dry.out)?.[1]?.replaceAll(',', ''));
    const planned = dry.out.match(/^ {2}\d+\. .* gas$/gm) ?? [];

    // The plan that the dry run wrote is deployed as it is, with a key from a keystore.
    const keystore = join(dirname(here.deploymentFile), 'key.json');
    writeFileSync(keystore, encryptKeystore(here.key, 'long and secret', 1_024));
    const settings = {
      DEPLOY_PLAN_FILE: `${here.deploymentFile}.plan`,
      WALLET_PRIVATE_KEYS: '',
      WALLET_KEYSTORE: keystore,
      WALLET_PASSPHRASE: 'long and secret',
    };
    const { code, out, err } = await here.run(settings);
    expect(err).toBe('');
    expect(code).toBe(0);
    const steps = stepsIn({ code, out, err });
    expect(steps).toHaveLength(planned.length);
    expect(await nonceOf(here)).toBe(before + planned.length);
    const used = Number(/transactions, ([\d,]+) gas/.exec(out)?.[1]?.replaceAll(',', ''));
    expect(used).toBeLessThanOrEqual(bound);
    expect(bound).toBeLessThan(1.4 * used);

    const deployment = readDeployment(here.deploymentFile);
    const { usdg, weth, uniswapV3Factory, swapRouter02, quoterV2, multicall3 } = deployment;
    expect({ usdg, weth, uniswapV3Factory, swapRouter02, quoterV2, multicall3 }).toEqual(LIVE);
    expect(deployment.baskets.map(({ ticker }) => ticker)).toEqual(
      expect.arrayContaining(['MAG7', 'CORE', 'ADS']),
    );
    // Whoever owns the account, the factory says where it stands.
    const account = await here.client.readContract({
      address: deployment.accountFactory,
      abi: accountFactoryAbi,
      functionName: 'accountOf',
      args: [owner.address],
    });
    expect(account).toMatch(/^0x[0-9a-fA-F]{40}$/);

    const pending = out.match(/until 0x[0-9a-fA-F]{40} calls acceptOwnership\(\)/g) ?? [];
    expect(pending).toHaveLength(3);
    const owned = [deployment.pause, deployment.registry, deployment.coverMarket];
    await here.client.setBalance({ address: owner.address, value: 10n ** 18n });
    for (const address of owned) {
      await write(here.client, owner, {
        address,
        abi: protocolPauseAbi,
        functionName: 'acceptOwnership',
        args: [],
      });
    }
    const verified = await here.run({ WALLET_PRIVATE_KEYS: '' }, '--verify');
    expect(verified.err).toBe('');
    expect(verified.out).toContain(`owner of pause ${deployment.pause}: ${owner.address}\n`);
    expect(verified.out).toContain(`guardian: ${guardian.address}`);
    expect(verified.out).toContain(`treasury: ${treasury.address}`);
  }, 300_000);

  test('speaks no Anvil method to the node', async () => {
    const here = await site();
    await here.run({ DEPLOY_PLAN_FILE: planFile });
    const methods = Object.keys(here.proxy.counts());
    expect(methods).toContain('eth_sendRawTransaction');
    expect(methods.filter((method) => !/^eth_[a-zA-Z]+$/.test(method))).toEqual([]);
    for (const method of ['eth_sendTransaction', 'eth_sign', 'eth_accounts']) {
      expect(methods).not.toContain(method);
    }
  });

  test('run again sends nothing, and tells a file that was changed from what it deployed', async () => {
    const here = await site();
    await here.run({ DEPLOY_PLAN_FILE: planFile });
    const file = readFileSync(here.deploymentFile, 'utf8');
    const again = await here.run({ DEPLOY_PLAN_FILE: planFile });
    expect(again).toMatchObject({ code: 0, err: '' });
    expect(stepsIn(again)).toEqual([]);
    expect(readFileSync(here.deploymentFile, 'utf8')).toBe(file);
    expect(await nonceOf(here)).toBe(unbrokenSteps);

    writeFileSync(here.deploymentFile, file.replace(unbroken.zapper, unbroken.oracle));
    const changed = await here.run({ DEPLOY_PLAN_FILE: planFile });
    expect(changed.code).toBe(1);
    expect(changed.err).toContain('zapper');
    // What was there is not overwritten.
    expect(readFileSync(here.deploymentFile, 'utf8')).not.toBe(file);
  });
});

describe('a run that is broken off', () => {
  test('goes on to the same protocol, however often it is killed before or after a broadcast', async () => {
    const here = await site();
    const settings = { DEPLOY_PLAN_FILE: planFile };
    const moments = ['before', 'after', 'after', 'before', 'after', 'before', 'after'] as const;
    // Each run is killed at its n-th broadcast. A run after a kill before the broadcast begins by sending those bytes.
    const nths = [1, 1, 3, 4, 2, 5, 4];
    for (const [index, moment] of moments.entries()) {
      const killed = await here.runKilled(nths[index] ?? 1, moment, settings);
      expect(killed.code).toBeNull();
      expect(existsSync(here.deploymentFile)).toBe(false);
    }
    // A line that was being written when the power went: nothing of it has left.
    appendFileSync(`${here.deploymentFile}.journal`, '{"step":21,"what":"deployment of Bask');
    const last = await here.run(settings);
    expect(last).toMatchObject({ code: 0, err: '' });
    expect(last.out).toContain('Going on with the deployment');

    const { startBlock: _, ...contracts } = readDeployment(here.deploymentFile);
    const { startBlock: __, ...expected } = unbroken;
    // Addresses follow from nonces: the same ones mean that each step was mined once, in its place.
    expect(contracts).toEqual(expected);
    expect(await nonceOf(here)).toBe(unbrokenSteps);
    const journal = Journal.open(`${here.deploymentFile}.journal`);
    expect(new Set(journal?.steps.map(({ hash }) => hash)).size).toBe(unbrokenSteps);
    journal?.close();
    const verified = await here.run({}, '--verify');
    expect(verified).toMatchObject({ code: 0, err: '' });
  }, 300_000);

  test('goes on after the endpoint was gone, and survives answers that get lost', async () => {
    const here = await site();
    const settings = { DEPLOY_PLAN_FILE: planFile };
    // The node has the bytes, the command does not know: the same ones go out again.
    here.proxy.on('eth_sendRawTransaction', { nth: 2 }, { fault: 'drop', forwarded: true });
    here.proxy.on('eth_sendRawTransaction', { nth: 4 }, { fault: 'drop', forwarded: false });
    here.proxy.on(
      'eth_sendRawTransaction',
      { nth: 6 },
      {
        fault: 'rewrite',
        rewrite: (reply) => {
          void here.proxy.pause();
          return reply;
        },
      },
    );
    const gone = await here.run(settings);
    expect(gone.code).toBe(1);
    expect(gone.err).toMatch(
      /^deploy: the RPC endpoint does not answer.*run the same command again/,
    );
    expect(gone.err.trim().split('\n')).toHaveLength(1);
    await here.proxy.resume();
    const last = await here.run(settings);
    expect(last).toMatchObject({ code: 0, err: '' });
    expect(readDeployment(here.deploymentFile).coverModule).toBe(unbroken.coverModule);
    expect(await nonceOf(here)).toBe(unbrokenSteps);
  }, 300_000);

  test('stops at a foreign transaction in its place, mined or waiting, and sends nothing more', async () => {
    const here = await site();
    const settings = { DEPLOY_PLAN_FILE: planFile };
    // Step 4 is signed and never leaves; somebody uses the key meanwhile.
    await here.runKilled(4, 'before', settings);
    const nonce = await nonceOf(here);
    expect(nonce).toBe(3);
    const foreign = (at: number) =>
      sendSigned(here.client, here.deployer, {
        to: owner.address,
        data: '0x',
        gas: 50_000n,
        nonce: at,
      });
    await foreign(nonce);
    const stopped = await here.run(settings);
    expect(stopped.code).toBe(1);
    expect(stopped.err).toMatch(
      /^deploy: nonce 3 of the deployer .* was used by another transaction/,
    );
    expect(stopped.err.trim().split('\n')).toHaveLength(1);
    expect(await nonceOf(here)).toBe(nonce + 1);

    // Between two steps: the next one is not even signed.
    const other = await site();
    await other.runKilled(3, 'after', settings);
    await other.client.setAutomine(false);
    await sendSigned(other.client, other.deployer, {
      to: owner.address,
      data: '0x',
      gas: 50_000n,
      nonce: await nonceOf(other),
    });
    const waiting = await other.run(settings);
    expect(waiting.code).toBe(1);
    expect(waiting.err).toMatch(/another transaction of the deployer .* is waiting at nonce 3/);
    const journal = Journal.open(`${other.deploymentFile}.journal`);
    expect(journal?.steps).toHaveLength(3);
    journal?.close();
  }, 300_000);

  test('stops when the plan, the roles or the key are not those it began with', async () => {
    const here = await site();
    const settings = { DEPLOY_PLAN_FILE: planFile };
    await here.runKilled(20, 'after', settings);
    const nonce = await nonceOf(here);

    const role = await here.run({ ...settings, DEPLOY_GUARDIAN: owner.address });
    expect(role.err).toMatch(/^deploy: the plan changed: DEPLOY_GUARDIAN is /);
    const text = readFileSync(planFile, 'utf8');
    const otherPlan = `${here.deploymentFile}.other`;
    writeFileSync(otherPlan, text.replace('US Core', 'US Coal'));
    const plan = await here.run({ DEPLOY_PLAN_FILE: otherPlan });
    expect(plan.err).toMatch(/^deploy: the plan changed: .*other is not the plan/);
    const key = await here.run({ ...settings, WALLET_PRIVATE_KEYS: generatePrivateKey() });
    expect(key.err).toMatch(/^deploy: the deployment in .* is of the key of /);

    // Other contracts than those that were sent, as after a change of the sources.
    const path = `${here.deploymentFile}.journal`;
    const journal = readFileSync(path, 'utf8');
    const [hash] = /"dataHash":"0x[0-9a-f]{64}"/.exec(journal) ?? [''];
    writeFileSync(path, journal.replace(hash, `"dataHash":"0x${'ab'.repeat(32)}"`));
    const sources = await here.run(settings);
    expect(sources.err).toMatch(/^deploy: the plan changed: step 1 /);
    writeFileSync(path, journal.replace('"nonce":5,', '"nonce":6,'));
    expect((await here.run(settings)).err).toMatch(/^deploy: the journal .* lacks a step/);
    for (const { code, err } of [role, plan, key, sources]) {
      expect(code).toBe(1);
      expect(err.trim().split('\n')).toHaveLength(1);
    }
    expect(await nonceOf(here)).toBe(nonce);
  }, 300_000);

  test('says so when prices left the plan’s meanwhile, and goes on with new ones when told to', async () => {
    const here = await site();
    const settings = { DEPLOY_PLAN_FILE: planFile };
    // ADS stands, CORE does not.
    await here.runKilled(18, 'after', settings);
    await raisePrice(here.client, LIVE_STOCKS.QQQ, 500);
    const off = await here.run(settings);
    expect(off.code).toBe(1);
    expect(off.err).toMatch(/deployment of BasketVault CORE\) would fail.*PriceOffStated/);
    expect(off.err).toContain('--restate');
    const restated = await here.run(settings, '--restate');
    expect(restated).toMatchObject({ code: 0, err: '' });
    const { startBlock: _, ...contracts } = readDeployment(here.deploymentFile);
    const { startBlock: __, ...expected } = unbroken;
    expect(contracts).toEqual(expected);
    // The new prices are the plan now, also for a run that is not told.
    expect(await here.run(settings)).toMatchObject({ code: 0, err: '' });
  }, 300_000);

  test('lets one run at a time at a journal', async () => {
    const here = await site();
    const settings = { DEPLOY_PLAN_FILE: planFile };
    const both = await Promise.all([here.run(settings), here.run(settings)]);
    const [first, second] = both.toSorted((a, b) => (a.code ?? 9) - (b.code ?? 9));
    expect(first?.code).toBe(0);
    // The other one met the lock, or came when all was done.
    if (second?.code === 1) expect(second.err).toContain('another npm run deploy is under way');
    expect(await nonceOf(here)).toBe(unbrokenSteps);
  }, 300_000);
});

describe('a run that cannot begin says why in a line, and sends nothing', () => {
  test('no ETH, no constituents, a busy key, a file in the way', async () => {
    const here = await site();
    const poor = privateKeyToAccount(generatePrivateKey());
    const settings = { DEPLOY_PLAN_FILE: planFile };

    await here.client.setBalance({ address: here.deployer.address, value: 10n ** 9n });
    await here.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 10_000_000n });
    await here.client.mine({ blocks: 1 });
    const unfunded = await here.run(settings);
    expect(unfunded.err).toMatch(
      /^deploy: the deployer 0x\S+ holds 0\.000000001 ETH and needs 0\.\d+ ETH/,
    );
    await here.client.setBalance({ address: here.deployer.address, value: 10n ** 18n });

    const held = await here.client.readContract({
      address: LIVE_STOCKS.SPY,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [here.deployer.address],
    });
    await write(here.client, here.deployer, {
      address: LIVE_STOCKS.SPY,
      abi: erc20Abi,
      functionName: 'transfer',
      args: [poor.address, held - 10n ** 15n],
    });
    const lacking = await here.run(settings);
    expect(lacking.err).toMatch(
      new RegExp(
        `lacks constituents.*\\n {2}SPY ${LIVE_STOCKS.SPY}: needs 0\\.1\\d+, holds 0\\.001, lacks 0\\.1`,
      ),
    );

    await here.client.setAutomine(false);
    const nonce = await nonceOf(here);
    const waiting = { to: poor.address, data: '0x' as const, gas: 50_000n, nonce };
    await sendSigned(here.client, here.deployer, waiting);
    const busy = await here.run(settings);
    expect(busy.err).toMatch(/^deploy: the deployer .* has a transaction waiting at nonce 1/);
    await here.client.setAutomine(true);
    await here.client.mine({ blocks: 1 });

    writeFileSync(here.deploymentFile, '{}');
    const inTheWay = await here.run(settings);
    expect(inTheWay.err).toMatch(/exists and no journal beside it/);
    for (const { code } of [unfunded, lacking, busy, inTheWay]) expect(code).toBe(1);
    expect(await nonceOf(here)).toBe(2);
    expect(existsSync(`${here.deploymentFile}.journal`)).toBe(false);
  }, 300_000);

  test('another chain, a chain without the externals, a wrong external, two keys, no key, an unknown flag', async () => {
    const here = await site();
    const bare = await startAnvil({ args: CHAIN_ARGUMENTS });
    const other = await startAnvil({ args: CHAIN_ARGUMENTS, chainId: 31_337 });
    try {
      const wrongChain = await here.run({ RPC_URLS: other.url });
      expect(wrongChain.err).toBe(
        'deploy: the RPC endpoint serves chain 31337, and this protocol is for 4663\n',
      );
      const empty = await here.run({ RPC_URLS: bare.url });
      expect(empty.err).toMatch(/^deploy: no contract stands at usdg 0x.*swapRouter02 0x/);
      const nobody = await here.run({ RPC_URLS: 'http://127.0.0.1:9' });
      expect(nobody.err).toMatch(/^deploy: the RPC endpoint does not answer/);

      const wrongPlan = `${here.deploymentFile}.wrong`;
      const plan = readFileSync(planFile, 'utf8');
      writeFileSync(wrongPlan, plan.replaceAll(LIVE.swapRouter02, LIVE.quoterV2));
      const wrongRouter = await here.run({ DEPLOY_PLAN_FILE: wrongPlan });
      expect(wrongRouter.err).toMatch(/the externals on chain differ/);
      writeFileSync(wrongPlan, plan.replaceAll('"viaWeth"', '"viaWhat"'));
      const notAPlan = await here.run({ DEPLOY_PLAN_FILE: wrongPlan });
      expect(notAPlan.err).toMatch(/is not a plan:\n/);

      const twoKeys = await here.run({
        WALLET_PRIVATE_KEYS: `${here.key},${generatePrivateKey()}`,
      });
      expect(twoKeys.err).toBe('deploy: one key deploys, and 2 were given\n');
      const noKey = await here.run({ WALLET_PRIVATE_KEYS: '' });
      expect(noKey.err).toMatch(/^deploy: no wallet: set WALLET_KEYSTORE/);
      const flag = await here.run({}, '--private-key', here.key);
      expect(flag.err).toMatch(/^deploy: .*The flags are --dry-run, --verify and --restate/);
      expect(flag.err).not.toContain(here.key);
      for (const { code, err } of [wrongChain, empty, nobody, wrongRouter, twoKeys, noKey, flag]) {
        expect(code).toBe(1);
        expect(err).not.toMatch(/^\s+at /m);
      }
      expect(await nonceOf(here)).toBe(0);
    } finally {
      await bare.stop();
      await other.stop();
    }
  }, 300_000);
});

describe('--verify', () => {
  test('names every address that is not what it should be, and every power that moved', async () => {
    const here = await site();
    await here.run({ DEPLOY_PLAN_FILE: planFile });
    const file = readFileSync(here.deploymentFile, 'utf8');
    const verifyWith = async (changed: Deployment) => {
      writeFileSync(here.deploymentFile, JSON.stringify(changed));
      return here.run({ WALLET_PRIVATE_KEYS: '' }, '--verify');
    };

    // Another contract of ours is not this contract; an account is no contract.
    const swapped = await verifyWith({
      ...unbroken,
      exitEscrow: unbroken.limitEscrow,
      pause: owner.address,
    });
    expect(swapped.code).toBe(1);
    expect(swapped.err).toContain(`code of pause ${owner.address}: "no contract"`);
    expect(swapped.err).toContain(`code of exitEscrow ${unbroken.limitEscrow}`);

    // Our own code, but of another deployment: the contracts do not name each other.
    const second = join(dirname(here.deploymentFile), 'second', 'deployment.json');
    await here.run({ DEPLOY_PLAN_FILE: planFile, DEPLOYMENT_FILE: second });
    const twin = readDeployment(second);
    expect(twin.zapper).not.toBe(unbroken.zapper);
    const mixed = await verifyWith({ ...unbroken, zapper: twin.zapper });
    expect(mixed.err).toContain('exitEscrow zapper');
    expect(mixed.err).toContain('zapper registry');
    const [, ...rest] = unbroken.baskets;
    const behind = await verifyWith({ ...unbroken, baskets: rest });
    expect(behind.err).toContain('baskets of the registry');

    // With the journal beside it the plan counts as well: here the guardian was changed.
    writeFileSync(here.deploymentFile, file);
    expect(await here.run({}, '--verify')).toMatchObject({ code: 0, err: '' });
    await here.client.impersonateAccount({ address: owner.address });
    await here.client.setBalance({ address: owner.address, value: 10n ** 18n });
    await write(here.client, owner, {
      address: unbroken.pause,
      abi: protocolPauseAbi,
      functionName: 'acceptOwnership',
      args: [],
    });
    await write(here.client, owner, {
      address: unbroken.pause,
      abi: protocolPauseAbi,
      functionName: 'setGuardian',
      args: [treasury.address],
    });
    const moved = await here.run({}, '--verify');
    expect(moved.code).toBe(1);
    expect(moved.err).toContain(`guardian: "${treasury.address}"`);
    expect(statSync(here.deploymentFile).size).toBe(file.length);
  }, 300_000);
});

/** Buys `token` with USDG on the synthetic live chain until it costs so many basis points more, about. */
async function raisePrice(client: ChainClient, token: Hex, bps: number): Promise<void> {
  const whale = devAccount('dave').account;
  // 300,000 dollars on each side, over the full range: the price goes with the square of what is on one side.
  const amountIn = BigInt(Math.round(300_000e6 * (Math.sqrt(1 + bps / 10_000) - 1)));
  const call = { address: LIVE.usdg, abi: localTokenAbi } as const;
  await write(client, whale, { ...call, functionName: 'mint', args: [whale.address, amountIn] });
  await write(client, whale, {
    ...call,
    functionName: 'approve',
    args: [LIVE.swapRouter02, amountIn],
  });
  await write(client, whale, {
    address: LIVE.swapRouter02,
    abi: swapRouter02Abi,
    functionName: 'exactInputSingle',
    args: [
      {
        tokenIn: LIVE.usdg,
        tokenOut: token,
        fee: 500,
        recipient: whale.address,
        amountIn,
        amountOutMinimum: 0n,
        sqrtPriceLimitX96: 0n,
      },
    ],
  });
}
