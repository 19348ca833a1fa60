/** The real deploy command against forks of the synthetic live chain: unbroken, refused, and verified. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Address, erc20Abi, getContractAddress, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, readDeployment } from '../../../contracts-abi/deployment.ts';
import {
  accountFactoryAbi,
  accountsGenesisAbi,
  accountsGenesisBytecode,
  protocolPauseAbi,
} from '../../../contracts-abi/generated/index.ts';
import { LIVE, LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import { encryptKeystore } from '../../../runtime/keys/keystore.ts';
import { startAnvil } from '../../anvil.ts';
import { CHAIN_ARGUMENTS } from '../arguments.ts';
import { sendSigned, write } from '../client.ts';
import { submitEach } from '../submitter.ts';
import { genuine } from './artifacts.ts';
import {
  GONE,
  guardian,
  nonceOf,
  owner,
  ROLES,
  runUnbroken,
  stepsIn,
  treasury,
  type UnbrokenRun,
} from './deploy-process.ts';

let run: UnbrokenRun;

beforeAll(async () => {
  run = await runUnbroken();
}, 300_000);

afterAll(() => run?.stop());

describe('an unbroken run', () => {
  test('deploys all that the live pools allow, within the bound of the dry run, and hands over in two steps', async () => {
    const here = await run.another();
    const settings = { ...ROLES, DEPLOY_POOL_SLOTS: '720' };
    const dry = await here.call(settings, '--dry-run');
    expect(dry.err).toBe('');
    expect(await nonceOf(here)).toBe(0);
    const bound = Number(/At most ([\d,]+) gas/.exec(dry.out)?.[1]?.replaceAll(',', ''));
    const planned = dry.out.match(/^ {2}\d+\. .* gas$/gm) ?? [];

    // The plan that the dry run wrote is deployed as it is, with a key from a keystore.
    const keystore = join(dirname(here.deploymentFile), 'key.json');
    writeFileSync(keystore, encryptKeystore(here.key, 'long and secret', 1_024));
    const whole = await here.call({
      DEPLOY_PLAN_FILE: `${here.deploymentFile}.plan`,
      WALLET_PRIVATE_KEYS: '',
      WALLET_KEYSTORE: keystore,
      WALLET_PASSPHRASE: 'long and secret',
    });
    expect(whole).toMatchObject({ code: 0, err: '' });
    expect(stepsIn(whole)).toHaveLength(planned.length);
    expect(await nonceOf(here)).toBe(planned.length);
    const used = Number(/transactions, ([\d,]+) gas/.exec(whole.out)?.[1]?.replaceAll(',', ''));
    expect(used).toBeLessThanOrEqual(bound);
    expect(bound).toBeLessThan(1.4 * used);
    for (const line of planned) {
      const [, step, most] = /^ {2}(\d+)\. .*: ([\d,]+) gas$/.exec(line) ?? [];
      const [, gas] = new RegExp(`^ {2}${step}/.* ([\\d,]+) gas$`, 'm').exec(whole.out) ?? [];
      const number = (text = '') => Number(text.replaceAll(',', ''));
      expect(number(gas), line).toBeLessThanOrEqual(number(most));
    }

    const deployment = readDeployment(here.deploymentFile);
    const { usdg, weth, uniswapV3Factory, swapRouter02, quoterV2, multicall3 } = deployment;
    expect({ usdg, weth, uniswapV3Factory, swapRouter02, quoterV2, multicall3 }).toEqual(LIVE);
    const tickers = deployment.baskets.map(({ ticker }) => ticker);
    expect(tickers).toEqual(expect.arrayContaining(['MAG7', 'CORE', 'ADS']));
    // What is about tokens that do not trade yet is not for real money.
    expect(tickers).not.toContain('PREIPO');

    const pending = whole.out.match(/until 0x[0-9a-fA-F]{40} calls acceptOwnership\(\)/g) ?? [];
    expect(pending).toHaveLength(3);
    await here.client.setBalance({ address: owner.address, value: 10n ** 18n });
    for (const address of [deployment.pause, deployment.registry, deployment.coverMarket]) {
      await write(here.client, owner, {
        address,
        abi: protocolPauseAbi,
        functionName: 'acceptOwnership',
        args: [],
      });
    }
    const verified = await here.call({ WALLET_PRIVATE_KEYS: '' }, '--verify');
    expect(verified.err).toBe('');
    expect(verified.out).toContain(`owner of pause ${deployment.pause}: ${owner.address}\n`);
    expect(verified.out).toContain(`guardian: ${guardian.address}`);
    expect(verified.out).toContain(`treasury: ${treasury.address}`);
  }, 300_000);

  test('speaks no Anvil method to the node', () => {
    const methods = Object.keys(run.site.proxy.counts());
    expect(methods).toContain('eth_sendRawTransaction');
    expect(methods.filter((method) => !/^eth_[a-zA-Z]+$/.test(method))).toEqual([]);
    for (const method of ['eth_sendTransaction', 'eth_sign', 'eth_accounts']) {
      expect(methods).not.toContain(method);
    }
  });

  test('run again sends nothing, and tells a file that was changed from what it deployed', async () => {
    const file = readFileSync(run.site.deploymentFile, 'utf8');
    const again = await run.site.call({ DEPLOY_PLAN_FILE: run.planFile });
    expect(again).toMatchObject({ code: 0, err: '' });
    expect(stepsIn(again)).toEqual([]);
    expect(readFileSync(run.site.deploymentFile, 'utf8')).toBe(file);
    expect(await nonceOf(run.site)).toBe(run.steps);

    const changedText = file.replace(run.deployment.zapper, run.deployment.oracle);
    writeFileSync(run.site.deploymentFile, changedText);
    const changed = await run.site.call({ DEPLOY_PLAN_FILE: run.planFile });
    expect(changed.code).toBe(1);
    expect(changed.err).toContain('zapper');
    // What was there is not overwritten.
    expect(readFileSync(run.site.deploymentFile, 'utf8')).toBe(changedText);
    writeFileSync(run.site.deploymentFile, file);
  });
});

test('a plan whose floors of liquidity the pools do not reach by now says so', async () => {
  const here = await run.another();
  const planned = await here.call({ DEPLOY_PLAN_FILE: run.planFile }, '--dry-run');
  expect(planned).toMatchObject({ code: 0, err: '' });
  expect(planned.out).not.toContain('no reference');

  const plan = JSON.parse(readFileSync(run.planFile, 'utf8')) as {
    wethUsdgPool: string;
    wethMinLiquidity: string;
    baskets: {
      ticker: string;
      constituents: { pool: string; viaWeth: boolean; minLiquidity: string }[];
    }[];
  };
  const raised = (floor: string, by: bigint) => (BigInt(floor) * by).toString();
  const [part] = plan.baskets.find(({ ticker }) => ticker === 'CORE')?.constituents ?? [];
  if (part === undefined) throw new Error('CORE has no constituent');
  // A quarter of the liquidity is what the dry run plans: three times as much is there, five times is not.
  part.minLiquidity = raised(part.minLiquidity, 5n);
  plan.wethMinLiquidity = raised(plan.wethMinLiquidity, 3n);
  const path = `${here.deploymentFile}.thin`;
  writeFileSync(path, JSON.stringify(plan));
  const thin = await here.call({ DEPLOY_PLAN_FILE: path }, '--dry-run');
  expect(thin).toMatchObject({ code: 0, err: '' });
  const warnings = thin.out.split('\n').filter((line) => line.includes('no reference'));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(
    new RegExp(
      `^Warning: pool ${part.pool} holds liquidity of \\d+, and this plan sets ${part.minLiquidity} as`,
    ),
  );
  expect(warnings[0]).toContain(': CORE would have');

  plan.wethMinLiquidity = raised(plan.wethMinLiquidity, 2n);
  writeFileSync(path, JSON.stringify(plan));
  const both = await here.call({ DEPLOY_PLAN_FILE: path }, '--dry-run');
  expect(both.out).toContain(`Warning: pool ${plan.wethUsdgPool} holds`);
}, 120_000);

describe('a run that cannot begin says why in a line, and sends nothing', () => {
  test('no ETH, no constituents, a busy key, a file in the way', async () => {
    const here = await run.another();
    const poor = privateKeyToAccount(generatePrivateKey());
    const settings = { DEPLOY_PLAN_FILE: run.planFile };

    await here.client.setBalance({ address: here.deployer.address, value: 10n ** 9n });
    await here.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 10_000_000n });
    await here.client.mine({ blocks: 1 });
    const unfunded = await here.call(settings);
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
    const lacking = await here.call(settings);
    expect(lacking.err).toMatch(
      new RegExp(
        `lacks constituents.*\\n {2}SPY ${LIVE_STOCKS.SPY}: needs 0\\.1\\d+, holds 0\\.001, lacks 0\\.1`,
      ),
    );

    await here.client.setAutomine(false);
    const nonce = await nonceOf(here);
    const waiting = { to: poor.address, data: '0x' as const, gas: 50_000n, nonce };
    await sendSigned(here.client, here.deployer, waiting);
    const busy = await here.call(settings);
    expect(busy.err).toMatch(/^deploy: the deployer .* has a transaction waiting at nonce 1/);
    await here.client.setAutomine(true);
    await here.client.mine({ blocks: 1 });

    writeFileSync(here.deploymentFile, '{}');
    const inTheWay = await here.call(settings);
    expect(inTheWay.err).toMatch(/exists and no journal beside it/);
    for (const { code } of [unfunded, lacking, busy, inTheWay]) expect(code).toBe(1);
    expect(await nonceOf(here)).toBe(2);
    expect(existsSync(`${here.deploymentFile}.journal`)).toBe(false);
  }, 300_000);

  test('another chain, a chain without the externals, a wrong external, two keys, no key, an unknown flag', async () => {
    const here = await run.another();
    const bare = await startAnvil({ args: CHAIN_ARGUMENTS });
    const other = await startAnvil({ args: CHAIN_ARGUMENTS, chainId: 31_337 });
    try {
      const wrongChain = await here.call({ RPC_URLS: other.url });
      expect(wrongChain.err).toBe(
        'deploy: the RPC endpoint serves chain 31337, and this protocol is for 4663\n',
      );
      const empty = await here.call({ RPC_URLS: bare.url });
      expect(empty.err).toMatch(/^deploy: no contract stands at usdg 0x.*swapRouter02 0x/);
      const nobody = await here.call({ RPC_URLS: 'http://127.0.0.1:9' });
      expect(nobody.err).toBe('deploy: the RPC endpoint does not answer. Nothing was sent\n');
      const fault = { fault: 'error', ...GONE, forwarded: false } as const;
      const rule = here.proxy.on('eth_getTransactionCount', {}, fault);
      const erring = await here.call({ DEPLOY_PLAN_FILE: run.planFile });
      rule.remove();
      expect(erring.err).toBe(
        'deploy: the RPC endpoint answered with an error: this endpoint is gone. Nothing was sent\n',
      );

      const wrongPlan = `${here.deploymentFile}.wrong`;
      const plan = readFileSync(run.planFile, 'utf8');
      writeFileSync(wrongPlan, plan.replaceAll(LIVE.swapRouter02, LIVE.quoterV2));
      const wrongRouter = await here.call({ DEPLOY_PLAN_FILE: wrongPlan });
      expect(wrongRouter.err).toMatch(/the externals on chain differ/);
      writeFileSync(wrongPlan, plan.replaceAll('"viaWeth"', '"viaWhat"'));
      const notAPlan = await here.call({ DEPLOY_PLAN_FILE: wrongPlan });
      expect(notAPlan.err).toMatch(/is not a plan:\n/);
      const noFile = await here.call({}, '--verify');
      expect(noFile.err).toMatch(/^deploy: deployment file .* is missing$/m);
      writeFileSync(`${here.deploymentFile}.torn`, '{');
      const torn = await here.call({ DEPLOYMENT_FILE: `${here.deploymentFile}.torn` }, '--verify');
      expect(torn.err).toMatch(/^deploy: deployment file .* cannot be read as JSON$/m);
      const unread = await here.call({ RPC_URLS: 'http://127.0.0.1:9' }, '--verify');
      expect(unread.err).toBe('deploy: the RPC endpoint does not answer. Nothing was sent\n');
      const noFolder = await here.call({ DEPLOYMENT_FILE: `${run.planFile}/deployment.json` });
      expect(noFolder.err).toMatch(/^deploy: E(EXIST|NOTDIR)/);

      const twoKeys = await here.call({
        WALLET_PRIVATE_KEYS: `${here.key},${generatePrivateKey()}`,
      });
      expect(twoKeys.err).toBe('deploy: one key deploys, and 2 were given\n');
      const noKey = await here.call({ WALLET_PRIVATE_KEYS: '' });
      expect(noKey.err).toMatch(/^deploy: no wallet: set WALLET_KEYSTORE/);
      const help = await here.call({}, '--help');
      expect(help).toMatchObject({ code: 0, err: '' });
      expect(help.out).toContain('npm run deploy -- --verify');
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
  const verifyWith = async (changed: Deployment): Promise<string> => {
    const folder = mkdtempSync(join(dirname(run.site.deploymentFile), 'changed-'));
    const path = join(folder, 'deployment.json');
    writeFileSync(path, JSON.stringify(changed));
    const { code, err } = await run.site.call({ DEPLOYMENT_FILE: path }, '--verify');
    expect(code).toBe(1);
    return err;
  };

  test('names every address at which something else stands', async () => {
    const err = await verifyWith({
      ...run.deployment,
      exitEscrow: run.deployment.limitEscrow,
      pause: owner.address,
    });
    expect(err).toContain(`code of pause ${owner.address}: "no contract"`);
    expect(err).toContain(`code of exitEscrow ${run.deployment.limitEscrow}`);
    for (const [name, value] of Object.entries(run.deployment)) {
      if (typeof value !== 'string') continue;
      const changed = await verifyWith({ ...run.deployment, [name]: owner.address });
      expect(`${name}: ${changed}`).toContain('differ:');
    }
  });

  test('without a journal refuses a start block after the first contract, where the node remembers', async () => {
    const { startBlock } = run.deployment;
    const [, hash] = /deployment of ProtocolPause: (0x\w+)/.exec(run.outcome.out) ?? [];
    const { blockNumber } = await run.site.client.getTransactionReceipt({ hash: hash as Hex });
    for (const later of [Number(blockNumber) + 1, Number(blockNumber) + 5]) {
      const err = await verifyWith({ ...run.deployment, startBlock: later });
      expect(err).toMatch(/^deploy: the parts of the deployment on chain differ:$/m);
      expect(err).toContain(`startBlock ${later}, at the block before it at pause`);
    }
    const bare = join(mkdtempSync(join(dirname(run.site.deploymentFile), 'bare-')), 'it.json');
    writeFileSync(bare, JSON.stringify(run.deployment));
    const pruned = run.site.proxy.on(
      'eth_getCode',
      { where: ([, block]) => block !== 'latest' },
      { fault: 'error', code: -32_000, message: 'missing trie node', forwarded: false },
    );
    const verified = await run.site.call({ DEPLOYMENT_FILE: bare }, '--verify');
    pruned.remove();
    expect(verified).toMatchObject({ code: 0, err: '' });
    expect(verified.out).toContain(`startBlock ${startBlock} is judged by`);
    const kept = await run.site.call({ DEPLOYMENT_FILE: bare }, '--verify');
    expect(kept).toMatchObject({ code: 0, err: '' });
    expect(kept.out).not.toContain('is judged by');
  });

  test('without a journal refuses a start block past the beginning, and weights of other tokens', async () => {
    // A whole deployment fits into one second here, within which a block's time tells nothing of its order.
    await run.site.client.mine({ blocks: 2, interval: 2 });
    const head = Number(await run.site.client.getBlockNumber());
    for (const startBlock of [head, head + 1_000]) {
      expect(await verifyWith({ ...run.deployment, startBlock })).toContain(
        `startBlock ${startBlock}`,
      );
    }
    const [first, ...rest] = run.deployment.baskets;
    if (first?.targetWeights === undefined) throw new Error('no weights to change');
    const weighing = (targetWeights: Record<string, number>) =>
      verifyWith({ ...run.deployment, baskets: [{ ...first, targetWeights }, ...rest] });
    const [symbol = '', ...others] = Object.keys(first.targetWeights);
    expect(await weighing({ [symbol]: 1 })).toContain(`targetWeights of ${first.ticker}`);
    expect(await weighing({ ...first.targetWeights, [symbol]: 1 })).toContain(
      'sum of the targetWeights',
    );
    expect(others.length).toBeGreaterThan(0);
  });

  test('tells our code of another deployment from this one’s, and a list of baskets that is behind', async () => {
    const snapshot = await run.site.client.snapshot();
    const second = join(dirname(run.site.deploymentFile), 'second', 'deployment.json');
    await run.site.call({ DEPLOY_PLAN_FILE: run.planFile, DEPLOYMENT_FILE: second });
    const twin = readDeployment(second);
    expect(twin.zapper).not.toBe(run.deployment.zapper);
    const mixed = await verifyWith({ ...run.deployment, zapper: twin.zapper });
    expect(mixed).toContain('exitEscrow zapper');
    expect(mixed).toContain('zapper registry');
    const [, ...rest] = run.deployment.baskets;
    expect(await verifyWith({ ...run.deployment, baskets: rest })).toContain(
      'baskets of the registry',
    );
    await run.site.client.revert({ id: snapshot });
  });

  test('without a journal refuses account contracts that build accounts from something else than Safe', async () => {
    const snapshot = await run.site.client.snapshot();
    const { usdg, registry, oracle, zapper, pause, coverMarket, exitEscrow } = run.deployment;
    const { accountFactory } = run.deployment;
    const submitter = submitEach(run.site.client);
    const PARTS = [
      ['safeSingleton', 'Safe'],
      ['safeProxyFactory', 'SafeProxyFactory'],
      ['fallbackHandler', 'CompatibilityFallbackHandler'],
    ] as const;
    const safes: Record<string, Address> = {};
    for (const [part] of PARTS) {
      safes[part] = await run.site.client.readContract({
        address: accountFactory,
        abi: accountFactoryAbi,
        functionName: part,
      });
    }
    for (const [part, named] of PARTS) {
      // The factory's own code is ours to the byte: what it builds from is in its immutables.
      const { abi, bytecode } = genuine(named);
      const other = bytecode.endsWith('00') ? '01' : '00';
      const impostor = await submitter.deploy(run.site.deployer, {
        name: named,
        abi,
        bytecode: `${bytecode.slice(0, -2)}${other}` as Hex,
      });
      const parts = { usdg, registry, oracle, zapper, pause, coverMarket, exitEscrow, ...safes };
      const genesis = await submitter.deploy(run.site.deployer, {
        name: 'AccountsGenesis',
        abi: accountsGenesisAbi,
        bytecode: accountsGenesisBytecode,
        args: [{ ...parts, [part]: impostor }],
      });
      const created = (nonce: bigint) => getContractAddress({ from: genesis, nonce });
      const err = await verifyWith({
        ...run.deployment,
        sessionModule: created(1n),
        coverModule: created(2n),
        accountFactory: created(3n),
      });
      expect(err).toMatch(new RegExp(`^  code of ${named}: "0x\\w{64}", expected "0x`, 'm'));
      expect(err.match(/^  /gm)).toHaveLength(1);
    }
    await run.site.client.revert({ id: snapshot });
  });

  test('without a journal refuses a factory whose accounts run another set-up', async () => {
    const { client } = run.site;
    const { accountFactory: address } = run.deployment;
    const snapshot = await client.snapshot();
    const setup = await client.readContract({
      address,
      abi: accountFactoryAbi,
      functionName: 'accountSetup',
    });
    const ours = (await client.getCode({ address: setup })) as Hex;
    const code = (await client.getCode({ address })) as Hex;
    const impostor = privateKeyToAccount(generatePrivateKey()).address;
    const bytecode = code.replaceAll(bare(setup), bare(impostor)) as Hex;
    await client.setCode({ address, bytecode });
    expect(await verifyWith(run.deployment)).toContain(
      `code of the AccountSetup of accountFactory ${address}: "no contract"`,
    );
    // One byte of it is another.
    const other = ours.replace('14', '15') as Hex;
    expect(other).not.toBe(ours);
    await client.setCode({ address: impostor, bytecode: other });
    expect(await verifyWith(run.deployment)).toMatch(
      new RegExp(`code of the AccountSetup of accountFactory ${address}: "other code from byte`),
    );
    // Whose it is does not matter, as long as it is ours and of its own address.
    await client.setCode({ address: impostor, bytecode: ours });
    expect(await verifyWith(run.deployment)).toMatch(/the AccountSetup of accountFactory self: /);
    const own = ours.replaceAll(bare(setup), bare(impostor)) as Hex;
    await client.setCode({ address: impostor, bytecode: own });
    const path = join(mkdtempSync(join(dirname(run.site.deploymentFile), 'ours-')), 'it.json');
    writeFileSync(path, JSON.stringify(run.deployment));
    const same = await run.site.call({ DEPLOYMENT_FILE: path }, '--verify');
    expect(same).toMatchObject({ code: 0, err: '' });
    await client.revert({ id: snapshot });
  });

  const bare = (address: Address) => address.slice(2).toLowerCase();

  test('refuses another Multicall3, and says of another QuoterV2 that it is none of the published build', async () => {
    const { client } = run.site;
    const { multicall3, quoterV2 } = run.deployment;
    const verify = () => run.site.call({}, '--verify');
    expect((await verify()).out).not.toContain('QuoterV2');
    const snapshot = await client.snapshot();
    // CHAINID, MSTORE, RETURN, whatever it is asked.
    await client.setCode({ address: multicall3, bytecode: '0x4660005260206000f3' });
    const refused = await verify();
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/^ {2}code of Multicall3: "0x\w{64}", expected "0xd5c15df6/m);
    await client.revert({ id: snapshot });

    const again = await client.snapshot();
    const code = (await client.getCode({ address: quoterV2 })) as Hex;
    await client.setCode({ address: quoterV2, bytecode: `${code.slice(0, -2)}34` as Hex });
    const told = await verify();
    expect(told).toMatchObject({ code: 0, err: '' });
    expect(told.out).toContain(`code of QuoterV2 ${quoterV2} is not the build that Uniswap`);
    await client.revert({ id: again });
  });

  test('with the journal beside the file names every power that moved', async () => {
    const snapshot = await run.site.client.snapshot();
    expect(await run.site.call({}, '--verify')).toMatchObject({ code: 0, err: '' });
    await run.site.client.setBalance({ address: owner.address, value: 10n ** 18n });
    const pause = { address: run.deployment.pause, abi: protocolPauseAbi } as const;
    await write(run.site.client, owner, { ...pause, functionName: 'acceptOwnership', args: [] });
    expect(await run.site.call({}, '--verify')).toMatchObject({ code: 0, err: '' });
    await write(run.site.client, owner, {
      ...pause,
      functionName: 'setGuardian',
      args: [treasury.address],
    });
    const moved = await run.site.call({}, '--verify');
    expect(moved.code).toBe(1);
    expect(moved.err).toContain(`guardian: "${treasury.address}"`);
    await run.site.client.revert({ id: snapshot });
  });
});
