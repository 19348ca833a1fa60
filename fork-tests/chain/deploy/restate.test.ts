/** `--restate` broken off, or told by a node that lags: a deployment that is paid for goes on, whatever got mined. */
import { readFileSync, writeFileSync } from 'node:fs';
import { erc20Abi, type Hex } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDeployment } from '../../../contracts-abi/deployment.ts';
import { accountFactoryAbi } from '../../../contracts-abi/generated/index.ts';
import { LIVE, LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import {
  GONE,
  nonceOf,
  runUnbroken,
  type Site,
  stepNumber,
  type UnbrokenRun,
} from './deploy-process.ts';
import { Journal } from './journal.ts';
import { submitJournaled } from './journaled-submitter.ts';
import { planSchema } from './plan.ts';
import { newHeader } from './prepare.ts';
import { raisePrice } from './raise-price.ts';

let run: UnbrokenRun;

beforeAll(async () => {
  run = await runUnbroken();
}, 300_000);

afterAll(() => run?.stop());

const settings = () => ({ DEPLOY_PLAN_FILE: run.planFile, DEPLOY_WAIT_SECONDS: '5' });
const journalOf = (site: Site) => Journal.read(`${site.deploymentFile}.journal`, planSchema);

/** A deployment broken off at the vault of CORE: its bytes are signed, and its price has moved since. */
async function brokenAtVault(moment: 'before' | 'after') {
  const here = await run.another();
  const number = stepNumber(run, 'deployment of BasketVault CORE');
  await here.callBroken(number, moment, settings());
  const old = journalOf(here)?.steps.at(-1);
  if (old === undefined) throw new Error('nothing was signed');
  // Less than the 3% at which the old bytes fail: both they and new ones can be mined.
  await raisePrice(here.client, LIVE_STOCKS.QQQ, 20);
  return { here, number, old };
}

async function expectWhole(here: Site): Promise<void> {
  expect(await here.call(settings())).toMatchObject({ code: 0, err: '' });
  expect(await nonceOf(here)).toBe(run.steps);
  const { startBlock: _, ...contracts } = readDeployment(here.deploymentFile);
  const { startBlock: __, ...expected } = run.deployment;
  expect(contracts).toEqual(expected);
  expect(await here.call({}, '--verify')).toMatchObject({ code: 0, err: '' });
}

test('where it breaks off before it has signed, the old bytes stand for the old plan, mined or not', async () => {
  for (const mined of [true, false]) {
    const { here, number, old } = await brokenAtVault('before');
    const before = journalOf(here);
    // At the estimate of the new bytes the endpoint is gone.
    let gone = false;
    const rule = here.proxy.on(
      '*',
      {
        where: (params) => {
          gone ||= params.length === 2 && isCreation(params[0]);
          return gone;
        },
      },
      { fault: 'error', ...GONE, forwarded: false },
    );
    const broken = await here.call(settings(), '--restate');
    rule.remove();
    expect(broken.out).toContain('Prices of 1 baskets are stated anew.');
    expect(broken.code).toBe(1);
    expect(journalOf(here)).toEqual(before);
    if (mined) await here.client.sendRawTransaction({ serializedTransaction: old.raw });
    expect(await nonceOf(here)).toBe(mined ? number : number - 1);
    await expectWhole(here);
  }
}, 120_000);

test('where it breaks off after it has signed, either bytes may be mined', async () => {
  for (const which of ['old', 'new'] as const) {
    const { here, number, old } = await brokenAtVault('before');
    await here.callBroken(1, 'before', settings(), '--restate');
    const signed = journalOf(here)?.steps.at(-1);
    expect(signed).toMatchObject({ step: number - 1, earlier: [old.hash] });
    const serializedTransaction = which === 'old' ? old.raw : (signed?.raw as Hex);
    await here.client.sendRawTransaction({ serializedTransaction });
    expect(await nonceOf(here)).toBe(number);
    await expectWhole(here);
  }
}, 120_000);

test('a node that does not count the mined step yet is not believed: its receipt is', async () => {
  const { here, number } = await brokenAtVault('after');
  const rule = here.proxy.on(
    'eth_getTransactionCount',
    // The first one tells of which chain the journal is.
    { nth: 2 },
    {
      fault: 'rewrite',
      rewrite: (reply) => ({ ...reply, result: `0x${(number - 1).toString(16)}` }),
    },
  );
  const { code, err } = await here.call(settings(), '--restate');
  expect({ code, err, hits: rule.hits }).toEqual({ code: 0, err: '', hits: 1 });
  await expectWhole(here);
}, 120_000);

test('nor is anything lost where that node does not know the receipt either', async () => {
  const { here, number, old } = await brokenAtVault('after');
  const lagging = [
    here.proxy.on(
      'eth_getTransactionCount',
      { nth: 2 },
      {
        fault: 'rewrite',
        rewrite: (reply) => ({ ...reply, result: `0x${(number - 1).toString(16)}` }),
      },
    ),
    here.proxy.on(
      'eth_getTransactionReceipt',
      { where: ([hash]) => hash === old.hash, times: 1 },
      { fault: 'rewrite', rewrite: (reply) => ({ ...reply, result: null }) },
    ),
  ];
  const before = journalOf(here);
  const { code, err } = await here.call(settings(), '--restate');
  for (const rule of lagging) rule.remove();
  expect(code).toBe(1);
  expect(err).toMatch(
    /^deploy: step \d+ \(deployment of BasketVault CORE\) is mined already, .*: run the same command again, .*\n$/,
  );
  expect(journalOf(here)).toEqual(before);
  await expectWhole(here);
}, 120_000);

test('lines of an older journal behind its last step count for the next one, which may never come', async () => {
  for (const mined of [true, false]) {
    const { here, old } = await brokenAtVault('before');
    const journal = `${here.deploymentFile}.journal`;
    const before = readFileSync(journal, 'utf8');
    await here.callBroken(1, 'before', settings(), '--restate');
    const { plan } = JSON.parse(readFileSync(journal, 'utf8').trim().split('\n').at(-1) ?? '');
    // As --restate left it where it was broken off before it had signed.
    const lines = [{ plan }, { decision: 'first week', value: 1 }];
    writeFileSync(journal, [before, ...lines.map((line) => `${JSON.stringify(line)}\n`)].join(''));
    if (mined) await here.client.sendRawTransaction({ serializedTransaction: old.raw });
    // Also once more steps stand behind them.
    await here.callBroken(3, 'after', settings());
    await expectWhole(here);
  }
}, 120_000);

test('a damaged step is told, wherever the damage is: it is not left out, and nothing of it is sent', async () => {
  const { here, number } = await brokenAtVault('before');
  await here.callBroken(1, 'before', settings(), '--restate');
  const journal = `${here.deploymentFile}.journal`;
  const text = readFileSync(journal, 'utf8');
  const damages: [string, string][] = [
    ['"dataHash":"0x', '"dataHash":"zx'],
    // Else what it rests on is forgotten.
    ['"plan":', '"plam":'],
    // Else other bytes go out than were signed, or their receipt is not found.
    ['"raw":"0x02', '"raw":"0x03'],
    [`"hash":"${journalOf(here)?.steps.at(-1)?.hash}`, `"hash":"0x${'ab'.repeat(32)}`],
  ];
  for (const [sound, damaged] of damages) {
    const at = text.lastIndexOf(sound);
    expect(at).toBeGreaterThan(0);
    writeFileSync(journal, text.slice(0, at) + damaged + text.slice(at + sound.length));
    const { code, err } = await here.call(settings());
    expect(code).toBe(1);
    expect(err).toMatch(/^deploy: the journal .* is damaged at line \d+\n$/);
  }
  expect(await nonceOf(here)).toBe(number - 1);
}, 60_000);

test('the first step of a run may be mined while it is looked at: the file begins before it', async () => {
  const here = run.site;
  const safe = (functionName: 'safeSingleton' | 'safeProxyFactory' | 'fallbackHandler') =>
    here.client.readContract({
      address: run.deployment.accountFactory,
      abi: accountFactoryAbi,
      functionName,
    });
  const plan = JSON.parse(readFileSync(run.planFile, 'utf8'));
  Object.assign(plan.externals, {
    safeSingleton: await safe('safeSingleton'),
    safeProxyFactory: await safe('safeProxyFactory'),
    safeFallbackHandler: await safe('fallbackHandler'),
  });
  // Safe stands and no pool grows: the first step is the first contract.
  const planFile = `${run.planFile}.second`;
  writeFileSync(planFile, JSON.stringify(plan));
  const second = { DEPLOY_PLAN_FILE: planFile, DEPLOYMENT_FILE: `${here.deploymentFile}.second` };
  await here.callBroken(1, 'before', second);
  const old = Journal.read(`${second.DEPLOYMENT_FILE}.journal`, planSchema)?.steps.at(-1);
  expect(old?.what).toBe('deployment of ProtocolPause');
  // Once it was found unmined, and before the start block is decided again.
  const rule = here.proxy.on(
    'eth_getTransactionCount',
    { nth: 1 },
    {
      fault: 'rewrite',
      rewrite: async (reply) => {
        await here.client.sendRawTransaction({ serializedTransaction: old?.raw as Hex });
        return reply;
      },
    },
  );
  const { code, err } = await here.call(second, '--restate', '--same-chain');
  expect({ code, err, hits: rule.hits }).toEqual({ code: 0, err: '', hits: 1 });
}, 120_000);

test('where the old bytes are mined after all, nothing of what was to replace them counts as done', async () => {
  const here = await run.another();
  const { client, deployer: account, deploymentFile } = here;
  const path = `${deploymentFile}.own`;
  Journal.create(path, await newHeader(client, account, null)).close();
  const [one, two, three] = [LIVE.weth, LIVE_STOCKS.QQQ, LIVE_STOCKS.SPY];
  /** The first approval is left out where that is decided, as a listing is whose pools are thin. */
  const approve = async (isLeftOut: boolean, resign?: number): Promise<void> => {
    const journal = Journal.open(
      path,
      planSchema.nullable().transform(() => null),
    );
    if (journal === null) throw new Error('no journal');
    const submitter = submitJournaled({
      client,
      account,
      journal,
      waitMs: 5_000,
      ...(resign === undefined ? {} : { resign }),
    });
    const left = await submitter.decide('left out', async () => Number(isLeftOut), 0);
    try {
      for (const address of [...(left === 1 ? [] : [one]), two, three]) {
        await submitter.write(account, {
          address,
          abi: erc20Abi,
          functionName: 'approve',
          args: [account.address, 1n],
        });
      }
    } finally {
      journal.close();
    }
  };
  await client.setAutomine(false);
  const waiting = approve(true);
  await expect(waiting).rejects.toThrow(/is not mined after 5 s/);
  // The old bytes wait at the node, which takes no others for them.
  const anew = expect(approve(false, 0)).rejects.toThrow(/was mined as it was signed first/);
  await expect.poll(() => readFileSync(path, 'utf8')).toContain('"replaces"');
  await client.dropTransaction({ hash: stepOf(path, 1).hash });
  await client.sendRawTransaction({ serializedTransaction: stepOf(path, 0).raw });
  await client.mine({ blocks: 1 });
  await client.setAutomine(true);
  await anew;
  await approve(false);
  const allowances = [one, two, three].map((address) =>
    client.readContract({
      address,
      abi: erc20Abi,
      functionName: 'allowance',
      args: [account.address, account.address],
    }),
  );
  expect(await Promise.all(allowances)).toEqual([0n, 1n, 1n]);
  expect(await nonceOf(here)).toBe(2);
}, 60_000);

/** The nth line behind the header. */
function stepOf(path: string, index: number): { hash: Hex; raw: Hex } {
  return JSON.parse(readFileSync(path, 'utf8').split('\n')[index + 1] ?? '');
}

/** The estimate of a contract's creation at a block, as each step asks for it. */
function isCreation(call: unknown): boolean {
  return typeof call === 'object' && call !== null && !('to' in call) && 'data' in call;
}
