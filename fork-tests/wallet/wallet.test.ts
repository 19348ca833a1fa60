/** The dev wallet against a chain whose market runs: what the README's loop does, under the conditions it does it. */

import { encodeFunctionData } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { basketVaultAbi, marketMakerAbi } from '../../contracts-abi/generated/index.ts';
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
