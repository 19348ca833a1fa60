/** A journal that was begun on a fork, a rehearsal, and is found where the command speaks to another chain. */
import { readFileSync, writeFileSync } from 'node:fs';
import { zeroHash } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDeployment } from '../../../contracts-abi/deployment.ts';
import { nonceOf, owner, ROLES, runUnbroken, type UnbrokenRun } from './deploy-process.ts';

let run: UnbrokenRun;

beforeAll(async () => {
  run = await runUnbroken();
}, 300_000);

afterAll(() => run?.stop());

test('killed after its first broadcast a rehearsal is gone on with there, and on no other chain', async () => {
  const rehearsal = await run.another();
  const live = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  await rehearsal.callBroken(1, 'after', settings);
  expect(await nonceOf(rehearsal)).toBe(1);
  const path = `${live.deploymentFile}.journal`;
  const journal = readFileSync(`${rehearsal.deploymentFile}.journal`, 'utf8');
  // Nobody has noted that the first step was mined.
  expect(journal.trim().split('\n').at(-1)).toMatch(/^\{"step":0,/);
  writeFileSync(path, journal);
  for (const flags of [[], ['--dry-run'], ['--restate']]) {
    const refused = await live.call({}, ...flags);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(
      /^deploy: .*journal may be of another chain, such as a rehearsal's/,
    );
    expect(refused.err).toContain('add --same-chain');
    expect(refused.err.trim().split('\n')).toHaveLength(1);
  }
  expect(await nonceOf(live)).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe(journal);

  // A block that the rehearsal made for itself tells more.
  writeFileSync(path, journal.replace(/("head":\{"number":\d+,"hash":")0x\w+/, `$1${zeroHash}`));
  const foreign = await live.call();
  expect(foreign.err).toMatch(/is of another chain, or .* is not the one that it began after/);
  expect(await nonceOf(live)).toBe(0);

  // Where it was begun, the step is in sight.
  const gone = await rehearsal.call(settings);
  expect(gone).toMatchObject({ code: 0, err: '' });
  expect(await nonceOf(rehearsal)).toBe(run.steps);
}, 120_000);

test('what was signed and never left goes out when the operator says that this is the chain', async () => {
  const here = await run.another();
  const settings = { DEPLOY_PLAN_FILE: run.planFile };
  await here.callBroken(1, 'before', settings);
  expect(await nonceOf(here)).toBe(0);
  expect((await here.call(settings)).err).toContain('add --same-chain');
  expect(await here.call(settings, '--dry-run', '--same-chain')).toMatchObject({ code: 0 });
  const [first] = /"hash":"0x\w+","raw"/.exec(
    readFileSync(`${here.deploymentFile}.journal`, 'utf8'),
  ) as RegExpExecArray;
  expect(await here.call(settings, '--same-chain')).toMatchObject({ code: 0, err: '' });
  expect(readFileSync(`${here.deploymentFile}.journal`, 'utf8')).toContain(first);
  expect(await nonceOf(here)).toBe(run.steps);
  expect(readDeployment(here.deploymentFile).coverModule).toBe(run.deployment.coverModule);
}, 120_000);

test('a journal in which nothing is signed binds nothing: its plan is made anew', async () => {
  const live = await run.another();
  const path = `${live.deploymentFile}.journal`;
  const [header] = readFileSync(`${run.site.deploymentFile}.journal`, 'utf8').split('\n');
  writeFileSync(path, `${header}\n`);
  const deployed = await live.call({ ...ROLES, DEPLOY_PLAN_FILE: run.planFile });
  expect(deployed).toMatchObject({ code: 0, err: '' });
  expect(deployed.out).not.toContain('Going on with the deployment');
  expect(deployed.out).toContain(`Owner ${owner.address},`);
}, 120_000);
