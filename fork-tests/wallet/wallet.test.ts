/** The dev wallet against a chain whose market runs: what the README's loop does, under the conditions it does it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeFunctionData } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  accountFactoryAbi,
  basketVaultAbi,
  marketMakerAbi,
} from '../../contracts-abi/generated/index.ts';
import { startAnvil } from '../anvil.ts';
import { CHAIN_ARGUMENTS } from '../chain/arguments.ts';
import { type ChainClient, connect, write } from '../chain/client.ts';
import { pushPrice } from '../chain/market/push.ts';
import { devAccount } from '../chain/seed/accounts.ts';
import { type Manifest, tokenOf } from '../chain/seed/manifest.ts';
import { loadChain, seededChain } from '../chain/state/load.ts';
import { grant } from './grant.ts';
import type { DevWallet } from './open.ts';
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

it('sends with gas to spare, and fails in words when it would revert or grants twice', async () => {
  const [basket] = manifest.deployment.baskets;
  if (basket === undefined) throw new Error('no basket');
  const first = await grant(wallet, 'dave', 'agent', 50);
  expect([first.opened.status, first.funded.status]).toEqual(['success', 'success']);
  const sent = await client.getTransaction({ hash: first.opened.hash });
  expect(sent.gas).toBeGreaterThanOrEqual((BigInt(first.opened.gasUsed) * 3n) / 2n);
  await expect(grant(wallet, 'dave', 'agent', 50)).rejects.toThrow(/has a grant .* already/);
  await expect(grant(wallet, 'dave', 'carol', 50)).rejects.toThrow(/has granted another key/);
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
    await grant(wallet, 'bob', 'agent', 50);
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
    const [granting, sending] = await Promise.all([
      walletCommand(file, ['grant', 'bob', 'carol', '1000']),
      walletCommand(file, ['send', 'bob'], JSON.stringify({ tx })),
    ]);
    expect(granting).toMatch(/^bob has granted another key already: .* \/approve\n$/);
    expect(sending).toBe('it would revert: GrantExists()\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
