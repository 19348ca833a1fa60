import { expect, test } from 'vitest';
import { parseArguments } from './arguments.ts';

const ID = `0x${'aB'.repeat(32)}`;

test.each<[string, object]>([
  ['', { tag: 'run', dryRun: false }],
  ['--dry-run', { tag: 'run', dryRun: true }],
  ['once', { tag: 'once', dryRun: false }],
  ['once --dry-run', { tag: 'once', dryRun: true }],
  ['dry-run', { tag: 'once', dryRun: true }],
  [`why ${ID}`, { tag: 'why', id: ID.toLowerCase() }],
  ['why', { tag: 'usage' }],
  [
    'backtest a.ndjson --anvil http://127.0.0.1:8599',
    { tag: 'backtest', file: 'a.ndjson', anvil: 'http://127.0.0.1:8599', asRecorded: false },
  ],
  ['backtest --as-recorded --anvil http://h:1 a', { tag: 'backtest', file: 'a', asRecorded: true }],
  ['backtest a', { tag: 'usage' }],
  ['backtest --anvil http://h:1', { tag: 'usage' }],
  ['backtest a --anvil', { tag: 'usage' }],
  ['backtest a b --anvil http://h:1', { tag: 'usage' }],
  ['backtest a --anvil file:///a', { tag: 'usage' }],
  ['why 0x12', { tag: 'usage' }],
  ['run now', { tag: 'usage' }],
  ['--key 0x12', { tag: 'usage' }],
  ['once --dry-run --dry-run', { tag: 'usage' }],
  ['dry-run --csv', { tag: 'usage' }],
  [`why ${ID} --dry-run`, { tag: 'usage' }],
  ['doctor', { tag: 'doctor' }],
  ['doctor now', { tag: 'usage' }],
  ['statement', { tag: 'statement', since: '7d', csv: false, by: 'all' }],
  [
    'statement --since 2026-11-01 --csv',
    { tag: 'statement', since: '2026-11-01', csv: true, by: 'all' },
  ],
  [
    'statement --by=wallet --since=36h',
    { tag: 'statement', since: '36h', csv: false, by: 'wallet' },
  ],
  ['statement --by week', { tag: 'usage' }],
  ['statement --since', { tag: 'usage' }],
  ['statement --csv=yes', { tag: 'usage' }],
  ['statement 7d', { tag: 'usage' }],
])('"%s" is understood', (line, command) => {
  expect(parseArguments(line.split(' ').filter((word) => word !== ''))).toMatchObject(command);
});
