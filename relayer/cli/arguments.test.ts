import { getAddress } from 'viem';
import { expect, test } from 'vitest';
import { parseArguments } from './arguments.ts';

const DIGEST = `0x${'aB'.repeat(32)}`;
const KEY = `0x${'aB'.repeat(20)}`;

test.each<[string, object]>([
  ['', { tag: 'run' }],
  ['run', { tag: 'run' }],
  ['run now', { tag: 'usage' }],
  ['--wallet 0x12', { tag: 'usage' }],
  [`why ${DIGEST}`, { tag: 'why', digest: DIGEST.toLowerCase() }],
  ['why', { tag: 'usage' }],
  ['why 12', { tag: 'usage' }],
  [`why ${DIGEST} ${DIGEST}`, { tag: 'usage' }],
  ['doctor', { tag: 'doctor' }],
  ['sweep', { tag: 'sweep' }],
  ['sweep all', { tag: 'usage' }],
  ['quarantine', { tag: 'quarantine', release: null }],
  ['quarantine list', { tag: 'quarantine', release: null }],
  ['quarantine list now', { tag: 'usage' }],
  [`quarantine release ${KEY}`, { tag: 'quarantine', release: getAddress(KEY.toLowerCase()) }],
  ['quarantine release', { tag: 'usage' }],
  [`quarantine release ${DIGEST}`, { tag: 'usage' }],
  ['statement', { tag: 'statement', since: '7d', csv: false, by: 'all' }],
  ['statement --since=36h --by key --csv', { since: '36h', csv: true, by: 'key' }],
  ['statement --by wallet', { tag: 'usage' }],
  ['statement --since', { tag: 'usage' }],
])('"%s" is understood', (line, command) => {
  expect(parseArguments(line.split(' ').filter((word) => word !== ''))).toMatchObject(command);
});
