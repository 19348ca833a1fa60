/** RPC_URLS with endpoints of another chain, and with dead ones, among them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Anvil, startAnvil } from '../../anvil.ts';
import { type Proxy, startProxy } from '../../proxy/proxy.ts';
import { GONE, nonceOf, runUnbroken, stepNumber, type UnbrokenRun } from './deploy-process.ts';
import { Journal } from './journal.ts';
import { planSchema } from './plan.ts';

let run: UnbrokenRun;
let foreign: Anvil;
let other: Proxy;

beforeAll(async () => {
  run = await runUnbroken();
  foreign = await startAnvil({ chainId: 1 });
  other = await startProxy(foreign.url);
}, 300_000);

afterAll(async () => {
  await other?.stop();
  await foreign?.stop();
  await run?.stop();
});

test('an endpoint of another chain is named and not used, also when the right one fails', async () => {
  const here = await run.another();
  const settings = {
    DEPLOY_PLAN_FILE: run.planFile,
    RPC_URLS: `${here.proxy.url},${other.url}`,
  };
  // Each of one step's five tries: the next endpoint would be asked then.
  const rule = here.proxy.on(
    'eth_getTransactionReceipt',
    { times: 5 },
    { fault: 'http', status: 503 },
  );
  const broken = await here.call(settings);
  expect(rule.hits).toBe(5);
  expect(broken.code).toBe(1);
  expect(broken.out).toContain('Note: endpoint 2 of RPC_URLS serves chain 1, and is not used.\n');
  expect(broken.err).toMatch(/^deploy: the RPC endpoint does not answer/);
  expect(await here.call(settings)).toMatchObject({ code: 0, err: '' });
  expect(await nonceOf(here)).toBe(run.steps);
  expect(await here.call(settings, '--verify')).toMatchObject({ code: 0, err: '' });
  expect(Object.keys(other.counts())).toEqual(['eth_chainId']);
}, 120_000);

test('what does not answer is left out, and where nothing of this chain is left the command stops', async () => {
  const { url } = run.site.proxy;
  const dead = await startProxy(foreign.url);
  await dead.stop();
  const left = await run.site.call({ RPC_URLS: `${dead.url},${url}` }, '--verify');
  expect(left).toMatchObject({ code: 0, err: '' });
  expect(left.out).toContain('Note: endpoint 1 of RPC_URLS does not answer, and is not used.\n');
  const wrong = await run.site.call({ RPC_URLS: `${dead.url},${other.url}` }, '--verify');
  expect(wrong).toMatchObject({ code: 1, out: '' });
  expect(wrong.err).toBe(
    'deploy: endpoint 1 of RPC_URLS does not answer, endpoint 2 of RPC_URLS serves chain 1, and this protocol is for 4663\n',
  );
  const none = await run.site.call({ RPC_URLS: `${dead.url},${dead.url}/other` }, '--verify');
  expect(none.err).toBe('deploy: the RPC endpoint does not answer. Nothing was sent\n');
});

test('one that falls silent in mid-run is left alone, not waited for at every call', async () => {
  const here = await run.another();
  const second = await startProxy(here.anvil.url);
  try {
    let calls = 0;
    const silent = second.on(
      '*',
      {
        where: () => {
          calls += 1;
          return calls > 60;
        },
      },
      { fault: 'hang' },
    );
    const deployed = await here.call({
      DEPLOY_PLAN_FILE: run.planFile,
      RPC_TIMEOUT_MS: '2000',
      RPC_URLS: `${second.url},${here.proxy.url}`,
    });
    expect(deployed).toMatchObject({ code: 0, err: '' });
    expect(await nonceOf(here)).toBe(run.steps);
    // It was asked first, and a deployment asks hundreds of times.
    const asked = Object.values(here.proxy.counts()).reduce((sum, count) => sum + count, 0);
    expect(silent.hits).toBeGreaterThan(0);
    expect(asked).toBeGreaterThan(100);
    expect(silent.hits).toBeLessThan(asked / 5);
  } finally {
    await second.stop();
  }
}, 120_000);

test('one that goes while externals are read ends the command with a list, and no URL in it', async () => {
  const { proxy } = run.site;
  // All reads are under way at once, and these fail while others take their time.
  const rules = [
    proxy.on('eth_getCode', {}, { fault: 'delay', ms: 100 }),
    proxy.on('eth_call', {}, { fault: 'error', ...GONE, forwarded: false }),
  ];
  const { code, err } = await run.site.run({
    DEPLOY_PLAN_FILE: run.planFile,
    DEPLOYMENT_FILE: `${run.planFile}.other`,
  });
  for (const rule of rules) rule.remove();
  expect(code).toBe(1);
  expect(err).toMatch(
    /^deploy: the externals on chain differ:\n( {2}.*: cannot be read \(.*\)\n)+$/,
  );
  expect(err).not.toContain(proxy.url);
}, 60_000);

test('behind one address a node may count a step of which another one has no receipt yet', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  await here.callBroken(5, 'after', settings);
  const rule = here.proxy.on(
    'eth_getTransactionReceipt',
    { times: 4 },
    { fault: 'rewrite', rewrite: (reply) => ({ ...reply, result: null }) },
  );
  expect(await here.call(settings)).toMatchObject({ code: 0, err: '' });
  expect(rule.hits).toBe(4);
  expect(await nonceOf(here)).toBe(run.steps);
}, 120_000);

test('what is mined is not taken for a step that fails, where a node that is behind did not tell of it', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  const seal = stepNumber(run, 'seal on');
  await here.callBroken(seal, 'after', settings);
  const journal = Journal.read(`${here.deploymentFile}.journal`, planSchema);
  const behind = here.proxy.on(
    'eth_getTransactionCount',
    { times: 2 },
    {
      fault: 'rewrite',
      rewrite: (reply) => ({ ...reply, result: `0x${(seal - 1).toString(16)}` }),
    },
  );
  const unknown = here.proxy.on(
    'eth_getTransactionReceipt',
    { where: ([hash]) => hash === journal?.steps.at(-1)?.hash, times: 1 },
    { fault: 'rewrite', rewrite: (reply) => ({ ...reply, result: null }) },
  );
  expect(await here.call(settings)).toMatchObject({ code: 0, err: '' });
  expect([behind.hits, unknown.hits]).toEqual([2, 1]);
  expect(await nonceOf(here)).toBe(run.steps);
}, 120_000);

test('a node that is behind at the end is told from a deployment that differs', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  await here.callBroken(run.steps, 'after', settings);
  const rule = here.proxy.on('eth_call', {}, { fault: 'stale', blocks: 2 });
  const behind = await here.call(settings);
  rule.remove();
  expect(behind.code).toBe(1);
  expect(behind.err).toMatch(
    /owner to come: .*\n.*All steps are mined.*run the same command again\n$/s,
  );
  expect(await here.call(settings)).toMatchObject({ code: 0, err: '' });
}, 60_000);
