/** The real deploy command broken off: SIGKILL at many steps, lost answers, foreign transactions, changed plans. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Hex } from 'viem';
import { generatePrivateKey } from 'viem/accounts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDeployment } from '../../../contracts-abi/deployment.ts';
import { LIVE_STOCKS } from '../../../contracts-abi/live-addresses.ts';
import { sendSigned } from '../client.ts';
import { nonceOf, owner, runUnbroken, stepNumber, type UnbrokenRun } from './deploy-process.ts';
import { Journal } from './journal.ts';
import { planSchema } from './plan.ts';
import { raisePrice } from './raise-price.ts';

let run: UnbrokenRun;

beforeAll(async () => {
  run = await runUnbroken();
}, 300_000);

afterAll(() => run?.stop());

test('goes on to the same protocol, however often it is killed before or after a broadcast', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  const moments = ['before', 'after', 'after', 'before', 'after', 'before'] as const;
  // Each run is killed at its n-th broadcast. A run after a kill before the broadcast begins by sending those bytes.
  const nths = [1, 1, 4, 5, 3, 6];
  for (const [index, moment] of moments.entries()) {
    // The first one may be killed before anything left: that it was here only the operator can tell.
    const killed = await here.runKilled(nths[index] ?? 1, moment, settings, '--same-chain');
    expect(killed.code).toBeNull();
    expect(existsSync(here.deploymentFile)).toBe(false);
  }
  // A line that was being written when the power went: nothing of it has left.
  appendFileSync(`${here.deploymentFile}.journal`, '{"step":21,"what":"deployment of Bask');
  const last = await here.call(settings, '--same-chain');
  expect(last).toMatchObject({ code: 0, err: '' });
  expect(last.out).toContain('Going on with the deployment');

  const { startBlock: _, ...contracts } = readDeployment(here.deploymentFile);
  const { startBlock: __, ...expected } = run.deployment;
  // Addresses follow from nonces: the same ones mean that each step was mined once, in its place.
  expect(contracts).toEqual(expected);
  expect(await nonceOf(here)).toBe(run.steps);
  const journal = Journal.read(`${here.deploymentFile}.journal`, planSchema);
  expect(new Set(journal?.steps.map(({ hash }) => hash)).size).toBe(run.steps);
  const verified = await here.call({}, '--verify');
  expect(verified).toMatchObject({ code: 0, err: '' });
}, 300_000);

test('goes on after the endpoint was gone, and survives answers that get lost', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  // The node has the bytes, the command does not know: the same ones go out again.
  here.proxy.on('eth_sendRawTransaction', { nth: 2 }, { fault: 'drop', forwarded: true });
  here.proxy.on('eth_sendRawTransaction', { nth: 4 }, { fault: 'drop', forwarded: false });
  here.proxy.on(
    'eth_sendRawTransaction',
    { nth: 6 },
    {
      fault: 'rewrite',
      rewrite: (reply) => {
        void here.proxy.pause();
        return reply;
      },
    },
  );
  const gone = await here.call(settings);
  expect(gone.code).toBe(1);
  expect(gone.err).toMatch(/^deploy: the RPC endpoint does not answer.*run the same command again/);
  expect(gone.err.trim().split('\n')).toHaveLength(1);
  await here.proxy.resume();
  const last = await here.call(settings);
  expect(last).toMatchObject({ code: 0, err: '' });
  expect(readDeployment(here.deploymentFile).coverModule).toBe(run.deployment.coverModule);
  expect(await nonceOf(here)).toBe(run.steps);
}, 300_000);

test('stops at a foreign transaction in its place, mined or waiting, and sends nothing more', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  // Step 4 is signed and never leaves; somebody uses the key meanwhile.
  await here.runKilled(4, 'before', settings);
  const nonce = await nonceOf(here);
  expect(nonce).toBe(3);
  const foreign = (at: number) =>
    sendSigned(here.client, here.deployer, {
      to: owner.address,
      data: '0x',
      gas: 50_000n,
      nonce: at,
    });
  await foreign(nonce);
  const stopped = await here.call({ ...settings, DEPLOY_WAIT_SECONDS: '5' });
  expect(stopped.code).toBe(1);
  expect(stopped.err).toMatch(
    /^deploy: nonce 3 of the deployer .* is used, and no receipt of step 4 .* another transaction was sent with the deployer's key/,
  );
  expect(stopped.err.trim().split('\n')).toHaveLength(1);
  expect(await nonceOf(here)).toBe(nonce + 1);

  // Between two steps: the next one is not even signed.
  const other = await run.another();
  await other.runKilled(3, 'after', settings);
  await other.client.setAutomine(false);
  await sendSigned(other.client, other.deployer, {
    to: owner.address,
    data: '0x',
    gas: 50_000n,
    nonce: await nonceOf(other),
  });
  const waiting = await other.call(settings);
  expect(waiting.code).toBe(1);
  expect(waiting.err).toMatch(/another transaction of the deployer .* is waiting at nonce 3/);
  const journal = Journal.read(`${other.deploymentFile}.journal`, planSchema);
  expect(journal?.steps).toHaveLength(3);
}, 300_000);

test('sends nothing of a rehearsal to the chain that it was forked from, whether finished or just begun', async () => {
  const other = await run.another();
  const finished = readFileSync(`${run.site.deploymentFile}.journal`, 'utf8').split('\n');
  const firstMined = finished.findIndex((line) => line.startsWith('{"mined":'));
  const path = `${other.deploymentFile}.journal`;
  for (const lines of [finished, finished.slice(0, firstMined + 1).concat('')]) {
    writeFileSync(path, lines.join('\n'));
    for (const flag of [[], ['--dry-run'], ['--restate']]) {
      const { code, err } = await other.call({ DEPLOY_PLAN_FILE: run.planFile }, ...flag);
      expect(code).toBe(1);
      expect(err).toMatch(/^deploy: .*journal is of another chain, or this is a reorganised one: /);
      expect(err).toContain(`name another DEPLOYMENT_FILE or move ${path} away`);
      expect(err.trim().split('\n')).toHaveLength(1);
    }
  }
  expect(await nonceOf(other)).toBe(0);

  // Nor where the key has sent as much there: receipts tell.
  for (let nonce = 0; nonce < run.steps; nonce += 1) {
    await sendSigned(other.client, other.deployer, {
      to: owner.address,
      data: '0x',
      gas: 50_000n,
      nonce,
    });
  }
  writeFileSync(path, finished.join('\n'));
  const used = await other.call({ DEPLOY_PLAN_FILE: run.planFile });
  expect(used.code).toBe(1);
  expect(used.err).toMatch(
    /of another chain, .*: step 1 .* was mined there and has no receipt here/,
  );
  expect(await nonceOf(other)).toBe(run.steps);
}, 300_000);

test('goes on after a reorganisation took the last steps back, and not where it took more', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  await here.runKilled(3, 'after', settings);
  const id = await here.client.snapshot();
  await here.runKilled(5, 'after', settings);
  expect(await nonceOf(here)).toBe(8);
  // The last one is taken back, and four before that.
  await here.client.revert({ id });
  expect(await nonceOf(here)).toBe(3);
  const more = await here.call(settings);
  expect(more.code).toBe(1);
  expect(more.err).toMatch(/of another chain, or this is a reorganised one: 7 of its steps/);
  expect(await nonceOf(here)).toBe(3);
  // The fourth one comes back with its block.
  const journal = Journal.read(`${here.deploymentFile}.journal`, planSchema);
  const serializedTransaction = journal?.steps[3]?.raw as Hex;
  await here.client.sendRawTransaction({ serializedTransaction });
  expect(await nonceOf(here)).toBe(4);
  expect(await here.call(settings)).toMatchObject({ code: 0, err: '' });
  expect(readDeployment(here.deploymentFile).coverModule).toBe(run.deployment.coverModule);
  expect(await nonceOf(here)).toBe(run.steps);
}, 300_000);

test('sends no bytes that would fail by now, and signs them anew when asked to', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  const weeks = stepNumber(run, 'publishWeeks');
  expect(weeks).toBeGreaterThan(0);
  await here.runKilled(weeks, 'before', settings);
  // The first week that was decided on is over before the step ever leaves.
  await here.client.increaseTime({ seconds: 9 * 86_400 });
  await here.client.mine({ blocks: 1 });
  const stale = await here.call(settings);
  expect(stale.code).toBe(1);
  expect(stale.err).toMatch(
    /^deploy: step \d+ \(publishWeeks .* would fail, so it was not sent: BadWeek.*--restate/,
  );
  expect(await nonceOf(here)).toBe(weeks - 1);
  const anew = await here.call(settings, '--restate');
  expect(anew).toMatchObject({ code: 0, err: '' });
  expect(await nonceOf(here)).toBe(run.steps);
  const journal = Journal.read(`${here.deploymentFile}.journal`, planSchema);
  expect(journal?.steps[weeks - 1]?.earlier).toHaveLength(1);
  const verified = await here.call({}, '--verify');
  expect(verified).toMatchObject({ code: 0, err: '' });
}, 300_000);

test('decides anew what no signed step rests on yet', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  const weeks = stepNumber(run, 'publishWeeks');
  await here.runKilled(weeks - 1, 'after', settings);
  const path = `${here.deploymentFile}.journal`;
  const { timestamp } = await here.client.getBlock();
  appendFileSync(path, `${JSON.stringify({ decision: 'first week', value: Number(timestamp) })}\n`);
  await here.client.increaseTime({ seconds: 9 * 86_400 });
  await here.client.mine({ blocks: 1 });
  expect(await here.call(settings)).toMatchObject({ code: 0, err: '' });
}, 300_000);

test('stops when the plan, the roles or the key are not those it began with', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  await here.runKilled(20, 'after', settings);
  const nonce = await nonceOf(here);

  const role = await here.call({ ...settings, DEPLOY_GUARDIAN: owner.address });
  expect(role.err).toMatch(/^deploy: the plan changed: DEPLOY_GUARDIAN is /);
  const text = readFileSync(run.planFile, 'utf8');
  const otherPlan = `${here.deploymentFile}.other`;
  writeFileSync(otherPlan, text.replace('US Core', 'US Coal'));
  const plan = await here.call({ DEPLOY_PLAN_FILE: otherPlan });
  expect(plan.err).toMatch(/^deploy: the plan changed: .*other is not the plan/);
  const key = await here.call({ ...settings, WALLET_PRIVATE_KEYS: generatePrivateKey() });
  expect(key.err).toMatch(/^deploy: the deployment in .* is of the key of /);

  // Other contracts than those that were sent, as after a change of the sources.
  const path = `${here.deploymentFile}.journal`;
  const journal = readFileSync(path, 'utf8');
  const [hash] = /"dataHash":"0x[0-9a-f]{64}"/.exec(journal) ?? [''];
  writeFileSync(path, journal.replace(hash, `"dataHash":"0x${'ab'.repeat(32)}"`));
  const sources = await here.call(settings);
  expect(sources.err).toMatch(/^deploy: the plan changed: step 1 /);
  writeFileSync(path, journal.replace('"nonce":5,', '"nonce":6,'));
  expect((await here.call(settings)).err).toMatch(/^deploy: the journal .* lacks a step/);
  for (const { code, err } of [role, plan, key, sources]) {
    expect(code).toBe(1);
    expect(err.trim().split('\n')).toHaveLength(1);
  }
  expect(await nonceOf(here)).toBe(nonce);
}, 300_000);

test('says so when prices left the plan’s meanwhile, and goes on with new ones when told to', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  // ADS stands, CORE does not.
  await here.runKilled(18, 'after', settings);
  await raisePrice(here.client, LIVE_STOCKS.QQQ, 500);
  const off = await here.call(settings);
  expect(off.code).toBe(1);
  expect(off.err).toMatch(/deployment of BasketVault CORE\) would fail.*PriceOffStated/);
  expect(off.err).toContain('--restate');
  const restated = await here.call(settings, '--restate');
  expect(restated).toMatchObject({ code: 0, err: '' });
  const { startBlock: _, ...contracts } = readDeployment(here.deploymentFile);
  const { startBlock: __, ...expected } = run.deployment;
  expect(contracts).toEqual(expected);
  // The new prices are the plan now, also for a run that is not told.
  expect(await here.call(settings)).toMatchObject({ code: 0, err: '' });
}, 300_000);

test('lets one run at a time at a journal', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  const both = await Promise.all([here.run(settings), here.run(settings)]);
  const [first, second] = both.toSorted((a, b) => (a.code ?? 9) - (b.code ?? 9));
  expect(first?.code).toBe(0);
  // The other one met the lock, or came when all was run.site.
  if (second?.code === 1) expect(second.err).toContain('another npm run deploy is under way');
  expect(await nonceOf(here)).toBe(run.steps);
}, 300_000);
