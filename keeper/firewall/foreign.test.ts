import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Job } from '../source/job.ts';
import { admit } from './admit.ts';
import { addressOf, deployment, known, OURS, sellJob } from './fixture.ts';
import { readAllowList } from './foreign.ts';

const folder = mkdtempSync(join(tmpdir(), 'basket-allow-'));
afterAll(() => rmSync(folder, { recursive: true }));

const THEIRS = addressOf(0xf1);
const RUN = '0xdeadbeef';

function listOf(text: string): string {
  const path = join(folder, 'list.json');
  writeFileSync(path, text);
  return path;
}
const read = (...contracts: object[]) =>
  readAllowList(listOf(JSON.stringify({ contracts })), deployment);

describe('the operator’s list of contracts that are not ours', () => {
  test('is read, selectors in any case', () => {
    const list = read({ address: THEIRS.toLowerCase(), name: 'Vaults', selectors: ['0xDEADBEEF'] });
    expect([...(list.get(THEIRS) ?? [])]).toEqual([RUN]);
  });

  test.each<[string, RegExp, () => unknown]>([
    [
      'a file that is not there',
      /cannot be read/,
      () => readAllowList(join(folder, 'no'), deployment),
    ],
    ['no JSON', /not JSON/, () => readAllowList(listOf('{'), deployment)],
    ['a wrong selector', /selector/, () => read({ address: THEIRS, selectors: ['0x12'] })],
    ['no selector', /selectors/, () => read({ address: THEIRS, selectors: [] })],
    ['an unknown field', /unknown field/, () => read({ address: THEIRS, selectors: [RUN], x: 1 })],
    [
      'an approval',
      /moves or lends out/,
      () => read({ address: THEIRS, selectors: ['0x095ea7b3'] }),
    ],
    [
      'USDG itself',
      /belongs to the protocol/,
      () => read({ address: deployment.usdg, selectors: [RUN] }),
    ],
    [
      'a vault of ours',
      /belongs to the protocol/,
      () => read({ address: deployment.baskets[0]?.vault, selectors: [RUN] }),
    ],
  ])('refuses %s and says so', (_, problem, attempt) => {
    expect(attempt).toThrow(problem);
  });
});

describe('a job on a listed contract', () => {
  const listing = { ...known, foreign: read({ address: THEIRS, selectors: [RUN] }) };
  const job = (change: Partial<Job['tx']> = {}): Job => ({
    ...sellJob(),
    type: 'harvest',
    contract: THEIRS,
    vault: null,
    tx: { to: THEIRS, data: `${RUN}00ff`, value: 0n, ...change },
  });

  test('is admitted as it came', () => {
    expect(admit(job(), listing, OURS, 1)).toMatchObject({
      tag: 'admitted',
      work: { type: 'foreign', source: 1, data: `${RUN}00ff`, contract: THEIRS },
    });
  });

  test.each<[string, string, Job]>([
    ['another target', 'foreign_target', job({ to: deployment.usdg })],
    ['a value', 'foreign_value', job({ value: 1n })],
    ['a selector not listed', 'foreign_selector', job({ data: '0x095ea7b3' })],
    ['no selector', 'foreign_selector', job({ data: '0xdead' })],
  ])('is refused with %s', (_, why, bent) => {
    expect(admit(bent, listing, OURS)).toMatchObject({ tag: 'refused', why, hostile: true });
  });

  test('is refused where nothing is listed', () => {
    expect(admit(job(), known, OURS)).toMatchObject({ tag: 'refused' });
  });
});
