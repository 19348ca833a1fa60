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
  ['why 0x12', { tag: 'usage' }],
  ['run now', { tag: 'usage' }],
  ['--key 0x12', { tag: 'usage' }],
])('"%s" is understood', (line, command) => {
  expect(parseArguments(line.split(' ').filter((word) => word !== ''))).toMatchObject(command);
});
