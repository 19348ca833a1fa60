/** `--restate` broken off, or told by a node that lags: a deployment that is paid for goes on, whatever got mined. */
import type { Hex } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDeployment } from '../../../contracts-abi/deployment.ts';
import { LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import {
  GONE,
  nonceOf,
  runUnbroken,
  type Site,
  stepsIn,
  type UnbrokenRun,
} from './deploy-process.ts';
import { Journal } from './journal.ts';
import { planSchema } from './plan.ts';
import { raisePrice } from './raise-price.ts';

let run: UnbrokenRun;

beforeAll(async () => {
  run = await runUnbroken();
}, 300_000);

afterAll(() => run?.stop());

const settings = () => ({ DEPLOY_PLAN_FILE: run.planFile, DEPLOY_WAIT_SECONDS: '5' });
const journalOf = (site: Site) => Journal.read(`${site.deploymentFile}.journal`, planSchema);

const stepNumber = (words: string): number =>
  stepsIn(run.outcome).findIndex((line) => line.includes(words)) + 1;

/** A deployment broken off at the vault of CORE: its bytes are signed, and its price has moved since. */
async function brokenAtVault(moment: 'before' | 'after') {
  const here = await run.another();
  const number = stepNumber('deployment of BasketVault CORE');
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
  expect(err).toMatch(/^deploy: step \d+ \(deployment of BasketVault CORE\) would fail/);
  expect(journalOf(here)).toEqual(before);
  await expectWhole(here);
}, 120_000);

/** The estimate of a contract's creation at a block, as each step asks for it. */
function isCreation(call: unknown): boolean {
  return typeof call === 'object' && call !== null && !('to' in call) && 'data' in call;
}
