/** The dev wallet against a chain whose market runs: what the README's loop does, under the conditions it does it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { type Address, encodeFunctionData, type Hex, recoverAddress } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { COVER_KIND, encodeCoverData } from '../../contracts-abi/cover-data.ts';
import {
  accountFactoryAbi,
  basketVaultAbi,
  marketMakerAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import {
  type CoverAction,
  type CoverActionJson,
  coverActionDigest,
  coverActionToJson,
  coverActionTypedData,
} from '../../contracts-abi/typed-data.ts';
import { startAnvil } from '../anvil.ts';
import { CHAIN_ARGUMENTS } from '../chain/arguments.ts';
import { type ChainClient, connect, write } from '../chain/client.ts';
import { pushPrice } from '../chain/market/push.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import { type Manifest, tokenOf } from '../chain/seed/manifest.ts';
import { loadChain, seededChain } from '../chain/state/load.ts';
import { grant } from './grant.ts';
import type { DevWallet } from './open.ts';
import { relay } from './relay.ts';
import { send, sendCall } from './send.ts';

let client: ChainClient;
let manifest: Manifest;
let wallet: DevWallet;
let stop: () => Promise<unknown> = async () => undefined;

beforeAll(async () => {
  const chain = await seededChain();
  const anvil = await startAnvil({ args: CHAIN_ARGUMENTS });
  stop = () => anvil.stop();
  manifest = await loadChain(anvil.url, chain);
  client = connect(anvil.url);
  wallet = { rpcUrl: anvil.url, deploymentFile: '', client, deployment: manifest.deployment };
});
afterAll(() => stop());

it('pushes prices with the key that the market sends from at the same time', async () => {
  const maker = devAccount('maker').account;
  const { address } = tokenOf(manifest, 'WETH');
  const ending = new AbortController();
  const market = (async () => {
    let sent = 0;
    while (!ending.signal.aborted) {
      await write(client, maker, {
        address: manifest.maker,
        abi: marketMakerAbi,
        functionName: 'setShift',
        args: [address, 10n ** 18n],
      });
      sent += 1;
    }
    return sent;
  })();
  try {
    for (const symbol of ['NVDA', 'AAPL', 'MSFT', 'AMZN']) {
      await pushPrice(client, maker, manifest, symbol, 0.99);
    }
  } finally {
    ending.abort();
  }
  expect(await market).toBeGreaterThan(3);
});

it('sends with gas to spare, and fails in words when it would revert', async () => {
  const [basket] = manifest.deployment.baskets;
  if (basket === undefined) throw new Error('no basket');
  const { granted, funded } = await grant(wallet, 'dave', 'agent', { trades: '50' });
  const [first] = granted;
  if (first === undefined) throw new Error('nothing was sent');
  expect([granted.length, first.status, funded?.status]).toEqual([1, 'success', 'success']);
  const sent = await client.getTransaction({ hash: first.hash });
  expect(sent.gas).toBeGreaterThanOrEqual((BigInt(first.gasUsed) * 3n) / 2n);
  await expect(send(wallet, 'dave', { approval: null })).rejects.toThrow(/takes: tx is required$/);
  const tooMuch = encodeFunctionData({
    abi: basketVaultAbi,
    functionName: 'transfer',
    args: [devAccount('bob').account.address, 10n ** 30n],
  });
  await expect(sendCall(wallet, 'dave', basket.vault, tooMuch)).rejects.toThrow();
});

/** The command as it is typed, with this on its standard input. */
function walletCommand(deploymentFile: string, words: string[], input = ''): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', 'tsx', 'fork-tests/wallet/main.ts', ...words],
      { env: { ...process.env, RPC_URLS: wallet.rpcUrl, DEPLOYMENT_FILE: deploymentFile } },
      (_error, _stdout, stderr) => resolve(stderr),
    );
    child.stdin?.end(input);
  });
}

it('as a command says what is the matter in its own words, and the reason of a contract where it has none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wallet-'));
  const file = join(folder, 'deployment.json');
  try {
    writeFileSync(file, JSON.stringify(manifest.deployment));
    await grant(wallet, 'bob', 'agent', { trades: '50' });
    const opening = encodeFunctionData({
      abi: accountFactoryAbi,
      functionName: 'openAndGrant',
      args: [
        {
          key: devAccount('carol').account.address,
          validUntil: Number((await client.getBlock()).timestamp) + 86_400,
          maxSlippageBps: 100,
          coverEnabled: false,
          dailyLimit: 1_000_000n,
          coverDailyLimit: 0n,
        },
      ],
    });
    const tx = { to: manifest.deployment.accountFactory, data: opening, value: '0' };
    const offer = ['offer', 'erin', 'MAG7', '--from', '300'];
    const [granting, sending, short, misspelt] = await Promise.all([
      walletCommand(file, ['grant', 'bob', 'carol', '3', '--cover', '10']),
      walletCommand(file, ['send', 'bob'], JSON.stringify({ tx })),
      walletCommand(file, [...offer, '--to', '10%']),
      walletCommand(file, [...offer, '--repeat']),
    ]);
    expect(granting).toBe('dollars a day: At least $5.\n');
    expect(sending).toBe('it would revert: GrantExists()\n');
    expect(short).toMatch(/^--to must be a whole number\nusage/);
    expect(misspelt).toMatch(/^Unknown option '--repeat'\nusage/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const grantOf = (account: Address, key: Role) =>
  client.readContract({
    address: manifest.deployment.sessionModule,
    abi: sessionModuleAbi,
    functionName: 'grantOf',
    args: [account, devAccount(key).account.address],
  });

it('grants again from the account: cover on, off, and another key', async () => {
  const { account } = await grant(wallet, 'carol', 'agent', { trades: '50' });
  expect(await grantOf(account, 'agent')).toMatchObject({ coverEnabled: false });
  const again = await grant(wallet, 'carol', 'agent', { trades: '80.50', cover: '20' });
  // It holds $1,000 already.
  expect(again).toMatchObject({ account, coverEnabled: true, funded: null });
  expect(await grantOf(account, 'agent')).toMatchObject({
    coverEnabled: true,
    dailyLimit: 80_500_000n,
    coverDailyLimit: 20n * USD,
  });
  await grant(wallet, 'carol', 'dave', { trades: '60' });
  expect(await grantOf(account, 'dave')).toMatchObject({ dailyLimit: 60n * USD });
  await grant(wallet, 'carol', 'agent', { trades: '50' });
  expect(await grantOf(account, 'agent')).toMatchObject({ coverEnabled: false });
  const wrong = grant(wallet, 'carol', 'agent', { trades: '50', cover: '0.1' });
  await expect(wrong).rejects.toThrow('--cover: At least $1.');
});

it('signs what a plan names, and nothing that is another thing or not whole', async () => {
  const { account } = devAccount('agent');
  const action: CoverAction = {
    account: account.address,
    key: account.address,
    kind: COVER_KIND.cancel,
    data: encodeCoverData({ tag: 'cancel', listingId: 7n }),
    nonce: 1n,
    deadline: 2_000_000_000,
    fee: 0n,
  };
  const { coverModule } = manifest.deployment;
  const posted: { action: CoverActionJson; signature: Hex }[] = [];
  const relayer = createServer((request, response) => {
    void json(request).then((body) => {
      posted.push(body as (typeof posted)[0]);
      response.end('{"ok":true}');
    });
  });
  await new Promise<void>((resolve) => relayer.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = relayer.address() as AddressInfo;
    const plan = {
      action: coverActionToJson(action),
      typedData: coverActionTypedData(action, coverModule),
      relayerUrl: `http://127.0.0.1:${port}/relay/v1/account/cover`,
    };
    const first = await relay('agent', plan).next();
    expect(first.value).toEqual({ signedFee: '0', status: 200, answer: { ok: true } });
    expect(posted.map((each) => each.action)).toEqual([plan.action]);
    const hash = coverActionDigest(action, coverModule);
    const signature = posted[0]?.signature ?? '0x';
    expect(await recoverAddress({ hash, signature })).toBe(account.address);

    const other = { ...plan, typedData: { ...plan.typedData, primaryType: 'Action' } };
    await expect(relay('agent', other).next()).rejects.toThrow(/is not the Action of/);
    const { nonce: _, ...part } = plan.action;
    await expect(relay('agent', { ...plan, action: part }).next()).rejects.toThrow(
      /^of this plan /,
    );
    const foreign = { ...plan, typedData: { ...plan.typedData, primaryType: 'Permit' } };
    await expect(relay('agent', foreign).next()).rejects.toThrow(/expected Action or CoverAction/);
    expect(posted).toHaveLength(1);
  } finally {
    relayer.close();
  }
});
