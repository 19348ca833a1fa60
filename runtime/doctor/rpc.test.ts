import { expect, test } from 'vitest';
import { hostOf, lineOf, warn } from './finding.ts';
import { clockFinding, lagFindings, type RpcReport, withoutStrangers } from './rpc.ts';

const reading = (skewMs: number) => ({
  theirsMs: 1_800_000_000_000,
  oursMs: 1_800_000_000_000 + skewMs,
});

test.each<[string, number[], string, string]>([
  ['agrees', [300, -400, 900], 'ok', '0 s ahead of 3 others'],
  ['is 20 s fast', [20_000, 20_500], 'warn', 'ahead of 2 others'],
  ['is two minutes slow', [-120_000], 'fail', '120 s behind 1 others'],
  ['is judged by the median: one liar changes nothing', [0, 200, 9e9], 'ok', '0 s ahead'],
  ['is not known where nobody tells', [], 'warn', 'nobody answered with a Date'],
])('a clock that %s', (_, skews, level, words) => {
  const finding = clockFinding(skews.map(reading));
  expect(finding.level).toBe(level);
  expect(finding.says).toContain(words);
});

const report = (about: string, seconds: bigint | null, hasContract = true): RpcReport => ({
  url: 'http://x',
  about,
  hasContract,
  head: seconds === null ? null : { number: 1n, seconds, baseFee: null },
  clock: null,
  findings: [],
});

test('an endpoint without the contract that others have is of no use; where none has it the file is judged', () => {
  const [ours, other] = withoutStrangers([report('rpc 1', 9n), report('rpc 2', 9n, false)]);
  expect(ours).toMatchObject({ head: { number: 1n }, findings: [] });
  expect(other).toMatchObject({ head: null, findings: [{ about: 'rpc 2', level: 'fail' }] });
  const alone = [report('rpc 1', 9n, false)];
  expect(withoutStrangers(alone)).toEqual(alone);
});

test('endpoints far behind the best are named', () => {
  const reports = [
    report('rpc 1', 100n),
    report('rpc 2', 89n),
    report('rpc 3', null),
    report('rpc 4', 95n),
  ];
  expect(lagFindings(reports)).toMatchObject([
    { about: 'rpc 2', says: '11 s behind the best endpoint' },
  ]);
});

test('a line names what to do and never a key', () => {
  expect(hostOf('https://user:pass@rpc.example/v2/KEY?k=1')).toBe('rpc.example');
  expect(hostOf('nothing')).toBe('no URL');
  expect(lineOf(warn('rpc 1', 'it is slow', 'use another'))).toBe(
    'warn  rpc 1         it is slow: use another',
  );
});
