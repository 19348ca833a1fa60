import { describe, expect, it } from 'vitest';
import { isOver, outcomeOf, stepDue } from './steps-due.ts';

const times = { close: 100_000, settle: 300_000 };
const HOUR = 3_600;

describe('steps of a week of cover', () => {
  it.each([
    ['before the close', 'open', 99_999, null],
    ['at the close', 'open', 100_000, 'snapshot'],
    ['in the last second of the hour', 'open', 100_000 + HOUR - 1, 'snapshot'],
    ['once the close snapshot was missed', 'open', 100_000 + HOUR, 'void'],
    ['closed, before the settlement', 'closed', 299_999, null],
    ['closed, long after the close', 'closed', 100_000 + HOUR, null],
    ['at the settlement', 'closed', 300_000, 'settle'],
    ['in the last second of that hour', 'closed', 300_000 + HOUR - 1, 'settle'],
    ['once the settle snapshot was missed', 'closed', 300_000 + HOUR, 'void'],
    ['once settled', 'settled', 300_001, null],
    ['once void', 'void', 100_000 + HOUR, null],
  ] as const)('%s', (_name, outcome, now, step) => {
    expect(stepDue({ outcome, sold: true }, times, now)).toBe(step);
    expect(stepDue({ outcome, sold: false }, times, now)).toBe(null);
  });

  it('are over a day after the last moment of a settlement, when none is left', () => {
    const last = times.settle + HOUR + 86_400;
    expect(isOver({ outcome: 'settled', sold: true }, times, last - 1)).toBe(false);
    expect(isOver({ outcome: 'settled', sold: true }, times, last)).toBe(true);
    expect(isOver({ outcome: 'open', sold: false }, times, last)).toBe(true);
    // Nobody has voided it yet: it waits for ever.
    expect(isOver({ outcome: 'open', sold: true }, times, last)).toBe(false);
    expect(isOver({ outcome: 'closed', sold: true }, times, last)).toBe(false);
  });

  it('read outcomes in the order of the contract', () => {
    expect([0, 1, 2, 3].map(outcomeOf)).toEqual(['open', 'closed', 'settled', 'void']);
  });
});
