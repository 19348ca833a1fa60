import { expect, it } from 'vitest';
import { dollars, dollarsAtMost, moment } from './words.ts';

it('writes dollars with cents, and smaller amounts to the last digit', () => {
  expect([0n, 1_234_500_000n, 10_000n, 1n].map(dollars)).toEqual([
    '$0.00',
    '$1,234.50',
    '$0.01',
    '$0.000001',
  ]);
});

it('rounds a bound up', () => {
  expect([0n, 1n, 3_000_000n, 3_000_001n].map(dollarsAtMost)).toEqual(['$0', '$1', '$3', '$4']);
});

it('writes a moment with its zone', () => {
  expect(moment(1_800_000_000, 'en-US', 'UTC')).toBe('Jan 15, 2027, 8:00 AM (UTC)');
});
