/** Steps that would run out of gas, or that gas has outpriced: a reverted step ends a deployment for good. */
import { type Hex, hexToNumber, parseTransaction } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDearer } from './dearer-token.ts';
import { nonceOf, runUnbroken, type Site, stepNumber, type UnbrokenRun } from './deploy-process.ts';
import { Journal } from './journal.ts';
import { planSchema } from './plan.ts';

let run: UnbrokenRun;

beforeAll(async () => {
  run = await runUnbroken();
}, 300_000);

afterAll(() => run?.stop());

const lastSigned = (site: Site) =>
  Journal.read(`${site.deploymentFile}.journal`, planSchema)?.steps.at(-1);

/** The estimate of the step that publishes the weeks: a node that does not know the market yet sees a call to nothing. */
const publishes = ([call]: unknown[]): boolean => {
  const { to, data } = call as { to?: string; data: string };
  return to?.toLowerCase() === run.deployment.coverMarket.toLowerCase() && data.length > 500;
};

test('an estimate of a node that lags gives no step too little gas', async () => {
  const here = await run.another();
  const rule = here.proxy.on(
    'eth_estimateGas',
    { where: publishes },
    { fault: 'rewrite', rewrite: (reply) => ({ ...reply, result: '0x6000' }) },
  );
  const deployed = await here.call({ DEPLOY_PLAN_FILE: run.planFile });
  expect(deployed).toMatchObject({ code: 0, err: '' });
  expect(rule.hits).toBe(1);
  expect(await nonceOf(here)).toBe(run.steps);
}, 120_000);

test('each estimate is asked for at a block that has the step before, until the node has it', async () => {
  const here = await run.another();
  const asked: number[] = [];
  const watch = ([, at]: unknown[]): boolean => {
    // The bound of the whole is asked for before there is a step to have.
    if (at !== undefined) asked.push(hexToNumber(at as Hex));
    return false;
  };
  here.proxy.on('eth_estimateGas', { where: watch }, { fault: 'hang' });
  const unknown = { code: -32_000, message: 'header not found', forwarded: false } as const;
  const rule = here.proxy.on(
    'eth_estimateGas',
    { where: publishes, times: 2 },
    { fault: 'error', ...unknown },
  );
  // In other words, from a node that tells nothing of that block either.
  let lags = 0;
  const other = here.proxy.on(
    'eth_estimateGas',
    {
      times: 2,
      where: (params) => {
        const matches = !publishes(params) && params[1] !== undefined;
        if (matches) lags += 1;
        return matches;
      },
    },
    { fault: 'error', code: -32_000, message: 'no state at that height', forwarded: false },
  );
  here.proxy.on(
    'eth_getBlockByNumber',
    { where: ([at]) => at !== 'latest' && lags > 0, times: 2 },
    { fault: 'rewrite', rewrite: (reply) => ({ ...reply, result: null }) },
  );
  // And one that says an old block itself.
  here.proxy.on('eth_blockNumber', {}, { fault: 'stale', blocks: 3 });
  const deployed = await here.call({ DEPLOY_PLAN_FILE: run.planFile });
  expect(deployed).toMatchObject({ code: 0, err: '' });
  expect(rule.hits).toBe(2);
  expect(other.hits).toBe(2);
  expect(asked).toHaveLength(run.steps);
  const { startBlock } = run.deployment;
  expect(asked.slice(1)).toEqual(asked.slice(1).map((_, index) => startBlock + index));
}, 120_000);

test('bytes of an earlier run that lack gas by now are not sent, and are signed anew when asked to', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  const approval = stepNumber(run, 'approve on');
  await here.callBroken(approval, 'before', settings);
  const signed = lastSigned(here);
  await makeDearer(here, signed?.to as Hex);
  const stopped = await here.call(settings);
  expect(stopped.code).toBe(1);
  expect(stopped.err).toMatch(
    /^deploy: step \d+ \(approve .*\) needs more gas by now than it was signed with, so it was not sent: .*--restate signs it anew/,
  );
  expect(stopped.err.trim().split('\n')).toHaveLength(1);
  expect(await nonceOf(here)).toBe(approval - 1);
  expect(await here.call(settings, '--restate')).toMatchObject({ code: 0, err: '' });
  expect(await nonceOf(here)).toBe(run.steps);
  const journal = Journal.read(`${here.deploymentFile}.journal`, planSchema);
  expect(journal?.steps[approval - 1]?.earlier).toEqual([signed?.hash]);
}, 120_000);

test('a step whose fee cap gas has passed is named so, and signed anew when asked to', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile, DEPLOY_WAIT_SECONDS: '5' };
  await here.callBroken(5, 'before', settings);
  const signed = lastSigned(here);
  const cap = parseTransaction(signed?.raw as Hex).maxFeePerGas as bigint;
  // Both the newest block's and the next one's.
  await here.client.setNextBlockBaseFeePerGas({ baseFeePerGas: cap * 2n });
  await here.client.mine({ blocks: 1 });
  const waiting = await here.call(settings);
  expect(waiting.code).toBe(1);
  expect(waiting.err).toMatch(
    /step 5 .* is not mined after 5 s: .*Gas costs more by now than its fee cap of 0\.1 gwei: .*--restate signs it anew/,
  );
  expect(await nonceOf(here)).toBe(4);
  expect(await here.call(settings, '--restate')).toMatchObject({ code: 0, err: '' });
  expect(await nonceOf(here)).toBe(run.steps);
  const journal = Journal.read(`${here.deploymentFile}.journal`, planSchema);
  const anew = journal?.steps[4];
  expect(anew?.earlier).toEqual([signed?.hash]);
  // A node's pool keeps what it has unless both rise.
  const [before, after] = [signed, anew].map((step) => parseTransaction(step?.raw as Hex));
  const tip = before?.maxPriorityFeePerGas ?? 0n;
  expect(after?.maxFeePerGas).toBeGreaterThan((cap * 11n) / 10n);
  expect(after?.maxPriorityFeePerGas).toBeGreaterThan((tip * 11n) / 10n);
}, 120_000);
