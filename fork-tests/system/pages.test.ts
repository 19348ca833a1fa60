/**
 * The pages that people open, in a real Chromium: the owner's approval page with an injected wallet whose keys are the
 * local chain's, and the documentation. Behind a reverse proxy under a base path, as operators run it, with the
 * pages' own security policy in force. Installs the browser where it is missing.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { encodeFunctionData, erc20Abi, type Hex } from 'viem';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { Chromium } from '../browser/chromium.ts';
import { serveWallet, TestWallet } from '../browser/test-wallet.ts';
import { type ChainClient, connect, devWallet, receiptOf } from '../chain/client.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import { type LocalChain, startLocalChain } from '../chain/start.ts';
import { type ReverseProxy, startReverseProxy } from '../client/reverse-proxy.ts';
import { createStack, type Stack } from '../e2e/stack.ts';

const BASE = '/index/basket';
const ACCOUNTS_CHANGED =
  "window.postMessage({ fromWallet: true, event: 'accountsChanged', value: [] }, window.origin)";

let chain: LocalChain;
let client: ChainClient;
let stack: Stack;
let proxy: ReverseProxy;
let base: string;
let browser: Chromium;
let wallet: TestWallet;
let stopWallet: () => Promise<void> = async () => undefined;

const addressOf = (role: Role) => devAccount(role).account.address;

beforeAll(async () => {
  chain = await startLocalChain({ port: 0 });
  client = connect(chain.url);
  proxy = await startReverseProxy();
  base = proxy.url(BASE);
  stack = await createStack({ rpcUrl: chain.url, deployment: chain.manifest.deployment });
  await stack.start('api', { env: { PUBLIC_BASE_URL: base } });
  proxy.route(BASE, stack.urls.api);
  wallet = new TestWallet(client, chain.url, 'carol');
  const served = await serveWallet(wallet);
  stopWallet = served.stop;
  browser = await Chromium.start(served.folder);
});

afterAll(async () => {
  await browser?.stop();
  await stopWallet();
  await stack?.stop();
  await proxy?.stop();
  await chain?.stop();
});

beforeEach(async () => {
  await browser.device(1_000, 'light');
});

/** For a person to look at: PAGE_PICTURES names a folder. */
async function picture(name: string): Promise<void> {
  const folder = process.env.PAGE_PICTURES;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await browser.screenshot(join(folder, `${name}.png`));
}

async function session(owner: Role, key: Role = 'agent') {
  const query = `owner=${addressOf(owner)}&key=${addressOf(key)}`;
  const { status, body } = await stack.get(`${base}/v1/agent/session?${query}`);
  expect(status).toBe(200);
  return body;
}

/** Opens approvalUrl of the session, as an agent hands it to the owner; the wallet is not connected yet. */
async function openLink(owner: Role, key: Role = 'agent'): Promise<void> {
  Object.assign(wallet, { account: owner, chainId: 4663, connected: false, declines: false });
  wallet.sent.length = 0;
  const { approvalUrl } = await session(owner, key);
  expect(String(approvalUrl).startsWith(`${base}/approve?`)).toBe(true);
  await browser.open(String(approvalUrl));
  await browser.until('#wallets', /Connect Test wallet/);
}

async function connectWallet(): Promise<void> {
  await browser.click('#wallets button');
  await browser.until('#approve', /Approve/);
}

async function usdgTo(account: Hex, dollars: bigint): Promise<void> {
  const { usdg } = chain.manifest.deployment;
  const data = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transfer',
    args: [account, dollars * USD],
  });
  const hash = await devWallet(chain.url, devAccount('alice').account).sendTransaction({
    to: usdg,
    data,
  });
  await receiptOf(client, hash, 20_000);
}

/** What the policy blocked and what broke are both written there. */
async function expectQuietConsole(): Promise<void> {
  const lines = await browser.consoleLines();
  expect(lines.filter(({ level }) => level !== 'INFO' && level !== 'DEBUG')).toEqual([]);
}

describe('the approval page', () => {
  it('opens an account with the chosen limits in one transaction, and the agent can trade', async () => {
    await openLink('carol');
    expect(await browser.text('#key')).toBe(addressOf('agent'));
    expect(await browser.text('#owner')).toBe(addressOf('carol'));
    const { account } = await session('carol');
    expect(await browser.text('#account')).toBe(account);
    expect(await browser.text('#account-note')).toMatch(/Not opened yet/);
    expect(await browser.text('#state')).toBe('Not approved.');
    expect(await browser.seen('#stopping')).toBe(false);
    await picture('new-account');
    await usdgTo(account as Hex, 100n);

    await connectWallet();
    await browser.type('#dailyLimit', '250');
    await browser.type('#slippage', '1');
    await browser.click('#cover');
    await browser.type('#coverLimit', '15');
    // ($250 x 4%) + $20 of fees + $15 of cover.
    await browser.until('#worst', /at most about \$45 a day, cover included/);
    await browser.click('#approve');
    await browser.until('#progress', /^Approved\. The key is active until/);
    await picture('approved');
    expect(await browser.text('#state')).toBe('Active.');
    expect(await browser.text('#grant')).toMatch(/\$250\.00[^]*1%[^]*at most \$15\.00 a day/);
    expect(await browser.text('#money-note')).toMatch(/holds \$100\.00 in USDG/);
    expect(wallet.sent.map(({ to }) => to)).toEqual([chain.manifest.deployment.accountFactory]);
    expect(await session('carol')).toMatchObject({
      deployed: true,
      active: true,
      coverEnabled: true,
      dailyLimitUsdg: '250000000',
      coverDailyLimitUsdg: '15000000',
      maxSlippageBps: 100,
    });
    const trade = await stack.post(`${base}/v1/agent/trade`, {
      owner: addressOf('carol'),
      key: addressOf('agent'),
      ticker: 'CORE',
      side: 'buy',
      amountUsdg: 20,
    });
    expect(trade.status).toBe(200);
    await expectQuietConsole();
  });

  it('shows the grant there is, changes it, pauses, goes on, and revokes', async () => {
    await openLink('carol');
    expect(await browser.text('#state')).toBe('Active.');
    const account = String((await session('carol')).account);
    expect(await browser.run("return document.querySelector('#dailyLimit').value")).toBe('250');
    expect(await browser.run("return document.querySelector('#cover').checked")).toBe(true);
    await connectWallet();
    expect(await browser.text('#approve')).toBe('Approve the new limits');
    await browser.type('#dailyLimit', '40.5');
    await browser.click('#cover');
    await browser.click('#approve');
    await browser.until('#progress', /^Approved/);
    expect(await session('carol')).toMatchObject({
      active: true,
      coverEnabled: false,
      dailyLimitUsdg: '40500000',
      coverDailyLimitUsdg: '0',
    });

    await browser.click('#pause');
    await browser.until('#progress', /^Paused/);
    expect(await browser.text('#state-note')).toBe('You paused every agent of this account.');
    expect(await session('carol')).toMatchObject({ active: true, accountPaused: true });
    await picture('paused');
    await browser.click('#pause');
    await browser.until('#progress', /can go on/);
    expect(await session('carol')).toMatchObject({ active: true, accountPaused: false });

    await browser.click('#revoke');
    await browser.until('#progress', /^Revoked/);
    expect(await browser.text('#state')).toBe('Revoked.');
    expect(await browser.seen('#revoke')).toBe(false);
    expect(await session('carol')).toMatchObject({ active: false });
    await picture('revoked');
    // Every one of them was the account's own doing.
    expect(wallet.sent.map(({ to }) => to)).toEqual([account, account, account, account]);
    await expectQuietConsole();
  });

  it('sends nothing from another wallet, on another chain, or against the owner', async () => {
    await openLink('dave');
    wallet.account = 'bob';
    await browser.click('#wallets button');
    const words = await browser.until('#wallet-note', /but only/);
    expect(words.toLowerCase()).toContain(addressOf('bob').toLowerCase());
    expect(words).toContain(addressOf('dave'));
    expect(await browser.seen('#approve')).toBe(false);
    await picture('wrong-wallet');

    Object.assign(wallet, { account: 'dave', chainId: 1 });
    wallet.knownChains.delete(4663);
    await browser.run(ACCOUNTS_CHANGED);
    await browser.until('#switch', /Switch to Robinhood Chain/);
    expect(await browser.text('#wallet-note')).toMatch(/on another chain/);
    await browser.click('#switch');
    await browser.until('#approve', /Approve this key/);
    expect(wallet.added).toMatchObject([{ chainId: '0x1237', chainName: 'Robinhood Chain' }]);

    wallet.declines = true;
    await browser.click('#approve');
    await browser.until('#refusal', /^You declined in your wallet\. Nothing was sent\.$/);
    wallet.declines = false;
    // Changed behind the page's back: it looks again before it sends.
    wallet.account = 'bob';
    await browser.click('#approve');
    await browser.until('#refusal', /but only .* Nothing was sent\.$/);
    expect(wallet.sent).toEqual([]);
    expect(await session('dave')).toMatchObject({ deployed: false, active: false });
    await expectQuietConsole();
  });

  it('marks what is wrong with a limit, and goes there', async () => {
    await openLink('dave');
    await connectWallet();
    await browser.type('#dailyLimit', '1,5');
    await browser.type('#slippage', '20');
    await browser.click('#approve');
    await browser.until('#dailyLimit-error', /without commas/);
    expect(await browser.text('#slippage-error')).toBe('Between 0.01 and 10.');
    expect(await browser.run('return document.activeElement.id')).toBe('dailyLimit');
    expect(
      await browser.run(
        "return document.querySelector('#dailyLimit').getAttribute('aria-invalid')",
      ),
    ).toBe('true');
    expect(wallet.sent).toEqual([]);
    await picture('wrong-limits');
  });

  it('works by keyboard alone, and every control says what it is', async () => {
    await openLink('dave');
    const controls: [string, string, RegExp][] = [
      ['#dailyLimit', 'textbox', /^Daily limit, in dollars$/],
      ['#slippage', 'textbox', /^Slippage cap, in percent$/],
      ['#days', 'combobox', /^Ends by itself after$/],
      ['#cover', 'checkbox', /^The key may buy weekend cover$/],
      ['#wallets button', 'button', /^Connect Test wallet$/],
    ];
    for (const [css, role, name] of controls) {
      const spoken = await browser.spoken(css);
      expect([css, spoken.role]).toEqual([css, role]);
      expect(String(spoken.name).trim()).toMatch(name);
    }
    const tab = '\uE004';
    const enter = '\uE007';
    const reached: unknown[] = [];
    for (let count = 0; count < controls.length; count += 1) {
      await browser.press(tab);
      reached.push(
        await browser.run('return document.activeElement.id || document.activeElement.innerText'),
      );
    }
    expect(reached).toEqual(['dailyLimit', 'slippage', 'days', 'cover', 'Connect Test wallet']);
    await browser.press(enter);
    await browser.until('#approve', /Approve this key/);
  });

  it.each([
    ['light', 390],
    ['dark', 390],
    ['dark', 320],
    ['dark', 1_000],
  ] as const)('fits a %s screen of %i pixels', async (scheme, width) => {
    await browser.device(width, scheme);
    await openLink('dave');
    const { scroll, client, back } = (await browser.run(
      'const at = document.documentElement; return { scroll: at.scrollWidth, client: at.clientWidth, back: getComputedStyle(document.body).backgroundColor }',
    )) as { scroll: number; client: number; back: string };
    expect(scroll).toBe(client);
    expect(back).toBe(scheme === 'dark' ? 'rgb(15, 18, 22)' : 'rgb(255, 255, 255)');
    await picture(`${scheme}-${width}`);
  });

  it('shows a hostile link as words, and nothing of it as markup', async () => {
    const key = addressOf('agent');
    const attack = '"><img src=x onerror="document.title=1"><script>document.title=2</script>';
    for (const query of [
      { owner: attack, key },
      { owner: addressOf('carol'), key: attack },
      { owner: addressOf('carol'), key: `0x${'ab'.repeat(32)}` },
      { owner: key, key },
      {},
    ]) {
      await browser.open(`${base}/approve?${new URLSearchParams(query).toString()}`);
      const words = await browser.until('#problem', /Nothing was done/);
      expect(words).not.toMatch(/onerror|abab/);
      expect(await browser.seen('#content')).toBe(false);
      expect(await browser.run('return document.title')).toBe('Approve an agent key');
      expect(await browser.run("return document.querySelectorAll('#problem *').length")).toBe(0);
    }
    await picture('hostile-link');
    await expectQuietConsole();
  });
});

describe('the documentation page', () => {
  it('shows every operation and sends a request from the page', async () => {
    await browser.open(`${base}/docs`);
    await browser.until('.swagger-ui', /\/v1\/agent\/trade/);
    await picture('docs');
    const paths = (await stack.get(`${base}/openapi.json`)).body.paths as Record<string, object>;
    const shown = await browser.text('.swagger-ui');
    for (const path of Object.keys(paths)) {
      expect(shown.replaceAll('\u200b', '')).toContain(path);
    }
    const operation = '#operations-Reads-markets';
    await browser.click(`${operation} button.opblock-summary-control`);
    await browser.until(operation, /Try it out/);
    await browser.click(`${operation} .try-out__btn`);
    await browser.click(`${operation} .execute`);
    await browser.until(`${operation} .live-responses-table`, /200[^]*buyCostBps/);
    const asked = await browser.text(`${operation} .request-url`);
    expect(asked).toContain(`${base}/v1/markets`);
    await picture('docs-tried');
    await expectQuietConsole();
  });
});
