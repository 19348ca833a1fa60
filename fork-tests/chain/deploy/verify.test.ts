/** What `npm run deploy -- --verify` takes for genuine: code with other immutables, other builds of Uniswap, other pools. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Address, getAddress, type Hex, hexToBytes, keccak256, numberToHex } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as generatedModule from '../../../contracts-abi/generated/index.ts';
import {
  accountFactoryAbi,
  coverMarketAbi,
  localTokenAbi,
} from '../../../contracts-abi/generated/index.ts';
import { LIVE } from '../../../contracts-abi/live-addresses.ts';
import { startAnvil } from '../../anvil.ts';
import { CHAIN_ARGUMENTS } from '../arguments.ts';
import { connect, write } from '../client.ts';
import { devAccount } from '../seed/accounts.ts';
import { submitEach } from '../submitter.ts';
import { genuine } from './artifacts.ts';
import { type OwnContract, readOwn } from './code.ts';
import { nonceOf, runUnbroken, type UnbrokenRun } from './deploy-process.ts';
import { readPublished } from './published.ts';
import { verifyContracts, verifyStanding } from './verify.ts';
import { verifyExternals } from './verify-externals.ts';

const OTHER = 'deadbeef'.repeat(5).padStart(64, '0');
const generated: Readonly<Record<string, unknown>> = generatedModule;

let run: UnbrokenRun;

beforeAll(async () => {
  run = await runUnbroken();
}, 300_000);

afterAll(() => run?.stop());

/** Runs `work` and takes back what it did to the chain. */
async function aside(work: () => Promise<void>): Promise<void> {
  const id = await run.site.client.snapshot();
  await work();
  await run.site.client.revert({ id });
}

const codeAt = async (address: Address): Promise<Hex> =>
  (await run.site.client.getCode({ address })) ?? '0x';

/** The command on the file alone: no journal is beside it. */
function verifyAlone(env: Record<string, string> = {}) {
  const path = join(mkdtempSync(join(dirname(run.site.deploymentFile), 'alone-')), 'it.json');
  writeFileSync(path, JSON.stringify(run.deployment));
  return run.site.call({ ...env, DEPLOYMENT_FILE: path }, '--verify');
}

function withWords(code: Hex, places: readonly number[], word: string): Hex {
  let text: string = code;
  for (const at of places) text = text.slice(0, 2 + 2 * at) + word + text.slice(66 + 2 * at);
  return text as Hex;
}

/** One bit of the byte in the middle is another. */
function withOtherByte(code: Hex): Hex {
  const at = Math.floor(code.length / 4) * 2;
  const byte = (Number.parseInt(code.slice(at, at + 2), 16) ^ 1).toString(16).padStart(2, '0');
  return `${code.slice(0, at)}${byte}${code.slice(at + 2)}` as Hex;
}

describe('immutables', () => {
  /** Neither file nor chain says what it has to be; the journal's plan does. */
  const BY_PLAN = 'navOracle wethMinLiquidity';

  async function contracts(): Promise<[OwnContract, Address][]> {
    const { accountFactory, oracle, zapper, coverMarket, baskets, ...rest } = run.deployment;
    const setup = await run.site.client.readContract({
      address: accountFactory,
      abi: accountFactoryAbi,
      functionName: 'accountSetup',
    });
    return [
      ['accountFactory', accountFactory],
      ['accountSetup', setup],
      ['basketVault', baskets[0]?.vault as Address],
      ['basketZapper', zapper],
      ['coverMarket', coverMarket],
      ['coverModule', rest.coverModule],
      ['exitEscrow', rest.exitEscrow],
      ['limitEscrow', rest.limitEscrow],
      ['navOracle', oracle],
      ['scheduleEscrow', rest.scheduleEscrow],
      ['sessionModule', rest.sessionModule],
    ];
  }

  test('none may be another, in all of its places or in a single one', async () => {
    const { client } = run.site;
    const passed: string[] = [];
    const unlike: string[] = [];
    let places = 0;
    for (const [contract, address] of await contracts()) {
      const code = await codeAt(address);
      const { immutables } = generated[`${contract}Runtime`] as {
        immutables: Record<string, { places: readonly number[] }>;
      };
      for (const [name, { places: all }] of Object.entries(immutables)) {
        await client.setCode({ address, bytecode: withWords(code, all, OTHER) });
        // What accounts are built from, and when a basket began, is of the longer check.
        const longer = contract === 'accountFactory' || contract === 'basketVault';
        const check = longer ? verifyStanding : verifyContracts;
        const verdict = await check(client, run.deployment).then(
          () => null,
          (error: unknown) => (error as Error).name,
        );
        if (verdict === null) passed.push(`${contract} ${name}`);
        else expect(verdict).toBe('DifferenceError');
        for (const place of all.length > 1 ? all : []) {
          await client.setCode({ address, bytecode: withWords(code, [place], OTHER) });
          const read = await readOwn(client, address, contract);
          if (!read.verdict.startsWith(`${name} is 0x`))
            unlike.push(`${contract} ${name} ${place}`);
          places += 1;
        }
      }
      await client.setCode({ address, bytecode: code });
    }
    expect({ passed, unlike }).toEqual({ passed: [BY_PLAN], unlike: [] });
    expect(places).toBeGreaterThan(200);
    expect(await verifyAlone()).toMatchObject({ code: 0, err: '' });
  }, 300_000);

  test('what the plan alone can say is told without a journal, and compared with one', async () => {
    const alone = await verifyAlone();
    expect(alone.out).toContain('No journal is beside the file');
    expect(alone.out).toMatch(/wethMinLiquidity\): oracle \d+$/m);
    expect(alone.out).toMatch(/a year: vault \w+ \d\d, vault \w+ \d\d$/m);
    const both = await run.site.call({}, '--verify');
    expect(both).toMatchObject({ code: 0, err: '' });
    expect(both.out).not.toContain('No journal is beside the file');
    await aside(async () => {
      const { oracle } = run.deployment;
      const { places } = generatedModule.navOracleRuntime.immutables.wethMinLiquidity;
      const bytecode = withWords(await codeAt(oracle), places, '1'.padStart(64, '0'));
      await run.site.client.setCode({ address: oracle, bytecode });
      const refused = await run.site.call({}, '--verify');
      expect(refused).toMatchObject({ code: 1 });
      expect(refused.err).toContain('oracle WETH floor: "1"');
    });
  });

  test('a factory that names our set-up, and builds accounts with another one, is refused', async () => {
    const { accountFactory: address } = run.deployment;
    const { places } = generatedModule.accountFactoryRuntime.immutables.accountSetup;
    for (const kept of places) {
      await aside(async () => {
        const others = places.filter((place) => place !== kept);
        const bytecode = withWords(await codeAt(address), others, OTHER);
        await run.site.client.setCode({ address, bytecode });
        for (const refused of [await verifyAlone(), await run.site.call({}, '--verify')]) {
          expect(refused.code).toBe(1);
          expect(refused.err).toMatch(/code of accountFactory 0x\w+: "accountSetup is 0x/);
        }
      });
    }
  });

  test('a factory that predicts accounts of another singleton is refused', async () => {
    const { accountFactory: address } = run.deployment;
    const { places } = generatedModule.accountFactoryRuntime.immutables._proxyInitCodeHash;
    await aside(async () => {
      const bytecode = withWords(await codeAt(address), places, OTHER);
      await run.site.client.setCode({ address, bytecode });
      const refused = await verifyAlone();
      expect(refused.code).toBe(1);
      expect(refused.err).toContain('accountFactory _proxyInitCodeHash: "0x0');
    });
  });
});

test('a fee pool of more than the cover market holds is refused', async () => {
  const { client } = run.site;
  const { coverMarket, usdg } = run.deployment;
  const feePool = () =>
    client.readContract({ address: coverMarket, abi: coverMarketAbi, functionName: 'feePool' });
  const slot = async (): Promise<number> => {
    for (let index = 0; ; index += 1) {
      const id = await client.snapshot();
      await client.setStorageAt({
        address: coverMarket,
        index,
        value: numberToHex(1, { size: 32 }),
      });
      const found = (await feePool()) === 1n;
      await client.revert({ id });
      if (found) return index;
    }
  };
  const index = await slot();
  await aside(async () => {
    await write(client, devAccount('dave').account, {
      address: usdg,
      abi: localTokenAbi,
      functionName: 'mint',
      args: [coverMarket, 1_000n],
    });
    const forge = (value: bigint) =>
      client.setStorageAt({ address: coverMarket, index, value: numberToHex(value, { size: 32 }) });
    await forge(1_000n);
    expect(await verifyAlone()).toMatchObject({ code: 0, err: '' });
    await forge(1_001n);
    const refused = await verifyAlone();
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(
      `fee pool of the cover market ${coverMarket}: "1001", expected at most the 1000 of USDG`,
    );
  });
}, 60_000);

test('a node that does not answer a call is told so, and not a difference', async () => {
  const rule = run.site.proxy.on('eth_call', {}, { fault: 'http', status: 503 });
  const silent = await verifyAlone();
  rule.remove();
  expect(silent.err).toBe('deploy: the RPC endpoint does not answer. Nothing was sent\n');
}, 60_000);

describe('what others built', () => {
  test('a router or factory of another build is told of at the live addresses', async () => {
    const genuineRun = await verifyAlone();
    expect(genuineRun.out).not.toContain('whoever put it there');
    for (const [name, title] of [
      ['swapRouter02', 'SwapRouter02'],
      ['uniswapV3Factory', 'UniswapV3Factory'],
      ['weth', 'WETH'],
    ] as const) {
      await aside(async () => {
        const address = run.deployment[name];
        const bytecode = withOtherByte(await codeAt(address));
        await run.site.client.setCode({ address, bytecode });
        const line = new RegExp(`code of ${title} ${address} is .*${keccak256(bytecode)}`);
        const told = await verifyAlone();
        expect(told).toMatchObject({ code: 0, err: '' });
        expect(told.out).toMatch(line);
        const trusting = await verifyAlone({ DEPLOY_TRUSTED_CODE: keccak256(bytecode) });
        expect(trusting.out).not.toMatch(line);
      });
    }
  }, 60_000);

  test('and refused elsewhere, by the check and before a deployment, unless its hash is trusted', async () => {
    const { client } = run.site;
    const { usdg, weth, multicall3, quoterV2, ...rest } = run.deployment;
    const safe = { safeSingleton: null, safeProxyFactory: null, safeFallbackHandler: null };
    const swapRouter02 = getAddress(`0x${'77'.repeat(20)}`);
    const bytecode = withOtherByte(await codeAt(rest.swapRouter02));
    const { uniswapV3Factory } = rest;
    const externals = {
      usdg,
      weth,
      multicall3,
      quoterV2,
      uniswapV3Factory,
      swapRouter02,
      ...safe,
    };
    await aside(async () => {
      await client.setCode({ address: swapRouter02, bytecode });
      await expect(verifyExternals(client, externals)).rejects.toThrow(
        `code of SwapRouter02 ${swapRouter02}: "${keccak256(bytecode)}", expected the build that`,
      );
      await verifyExternals(client, externals, new Set([keccak256(bytecode)]));
      await client.setCode({ address: swapRouter02, bytecode: await codeAt(rest.swapRouter02) });
      await verifyExternals(client, externals);
    });

    const here = await run.another();
    await here.client.setCode({ address: swapRouter02, bytecode });
    const plan = `${here.deploymentFile}.elsewhere`;
    const text = readFileSync(run.planFile, 'utf8');
    writeFileSync(plan, text.replaceAll(LIVE.swapRouter02, swapRouter02));
    const settings = { DEPLOY_PLAN_FILE: plan };
    const refused = await here.call(settings);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('its hash in DEPLOY_TRUSTED_CODE lets it pass');
    expect(await nonceOf(here)).toBe(0);
    const trusting = { ...settings, DEPLOY_TRUSTED_CODE: keccak256(bytecode) };
    expect(await here.call(trusting, '--dry-run')).toMatchObject({ code: 0, err: '' });
    const misspelt = await here.call({ ...settings, DEPLOY_TRUSTED_CODE: '0x12' }, '--dry-run');
    expect(misspelt.err).toContain('DEPLOY_TRUSTED_CODE');
  }, 120_000);

  test('a pool of other code, or of other tokens, is refused', async () => {
    const { client } = run.site;
    const { wethUsdgPool: address } = run.deployment;
    const code = await codeAt(address);
    await aside(async () => {
      await client.setCode({ address, bytecode: withOtherByte(code) });
      const refused = await verifyAlone();
      expect(refused.code).toBe(1);
      expect(refused.err).toContain(`pool ${address} of WETH: "not the code that Uniswap`);
    });
    // As published, and made by somebody for tokens of his own.
    const [token] = [run.deployment.weth, run.deployment.usdg].map((it) =>
      it.slice(2).toLowerCase(),
    );
    await aside(async () => {
      const bytecode = code.replaceAll(token as string, 'ab'.repeat(20)) as Hex;
      await client.setCode({ address, bytecode });
      const refused = await verifyAlone();
      expect(refused.err).toMatch(/ of WETH: "a pool of another token[01]"/);
    });
    // As published, of these tokens, and not at the place where the factory puts it.
    const tier = (500).toString(16).padStart(64, '0');
    await aside(async () => {
      const bytecode = code.replaceAll(tier, (3_000).toString(16).padStart(64, '0')) as Hex;
      expect(bytecode).not.toBe(code);
      await client.setCode({ address, bytecode });
      const refused = await verifyAlone();
      expect(refused.err).toMatch(/ of WETH: "the factory's stands at 0x/);
    });
  }, 60_000);

  test('places of immutables in the published code are those that a deployment fills', async () => {
    const anvil = await startAnvil({ args: CHAIN_ARGUMENTS });
    try {
      const client = connect(anvil.url);
      const { account } = devAccount('dave');
      await client.setBalance({ address: account.address, value: 10n ** 18n });
      const submitter = submitEach(client);
      const address = (digit: string) => getAddress(`0x${digit.repeat(40)}`);
      const [v2, v3, positions, weth] = ['1', '2', '3', '4'].map(address) as [
        Address,
        Address,
        Address,
        Address,
      ];
      const router = await submitter.deploy(account, {
        ...genuine('SwapRouter02'),
        args: [v2, v3, positions, weth],
      });
      expect(await readPublished(client, router, 'SwapRouter02')).toEqual({
        factoryV2: BigInt(v2),
        factory: BigInt(v3),
        positionManager: BigInt(positions),
        weth: BigInt(weth),
      });
      const quoter = await submitter.deploy(account, { ...genuine('QuoterV2'), args: [v3, weth] });
      expect(await readPublished(client, quoter, 'QuoterV2')).toEqual({
        factory: BigInt(v3),
        weth: BigInt(weth),
      });
      const factory = await submitter.deploy(account, genuine('UniswapV3Factory'));
      expect(await readPublished(client, factory, 'UniswapV3Factory')).toEqual({
        self: BigInt(factory),
      });
      // One place of a router's WETH is another than the rest.
      const code = (await client.getCode({ address: router })) as Hex;
      const bytecode = code.replace('4'.repeat(40), '5'.repeat(40)) as Hex;
      expect(hexToBytes(bytecode)).toHaveLength(hexToBytes(code).length);
      await client.setCode({ address: router, bytecode });
      expect(await readPublished(client, router, 'SwapRouter02')).toBeNull();
    } finally {
      await anvil.stop();
    }
  }, 60_000);
});
