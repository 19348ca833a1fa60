import fc from 'fast-check';
import { type Hex, numberToHex } from 'viem';
import { describe, expect, test } from 'vitest';
import { deployment, ENERGY, STRANGER } from '../firewall/fixture.ts';
import type { OpenOrder, OpenSchedule } from './book.ts';
import { type Candidate, dueFills, takeTurn } from './due.ts';

const id: Hex = numberToHex(1, { size: 32 });
const NOW = 10_000;

const order = (change: Partial<OpenOrder>): OpenOrder => ({
  kind: 'order',
  type: 'sell',
  id,
  vault: ENERGY,
  amount: 5n,
  stopNav: 0n,
  tpNav: 0n,
  triggerNav: 0n,
  deadline: NOW + 1,
  block: 1,
  log: 0,
  ...change,
});
const plan = (change: Partial<OpenSchedule> = {}): OpenSchedule => ({
  kind: 'schedule',
  id,
  vault: ENERGY,
  total: 100n,
  slots: 3,
  interval: 60,
  startAt: NOW,
  nextSlot: 0,
  block: 1,
  log: 0,
  ...change,
});

const dueAt = (item: OpenOrder | OpenSchedule, nav: bigint | null = 100n, now = NOW) =>
  dueFills([item], new Map(nav === null ? [] : [[ENERGY, nav]]), now, deployment);

describe('an order', () => {
  test.each<[string, Partial<OpenOrder>, bigint, boolean]>([
    ['a stop at its level', { stopNav: 100n }, 100n, true],
    ['a stop above its level', { stopNav: 100n }, 101n, false],
    ['a take-profit at its level', { tpNav: 100n }, 100n, true],
    ['a take-profit below its level', { tpNav: 100n }, 99n, false],
    ['a bracket between its levels', { stopNav: 90n, tpNav: 110n }, 100n, false],
    ['a bracket above', { stopNav: 90n, tpNav: 110n }, 111n, true],
    ['a limit at its trigger', { type: 'limit', triggerNav: 100n }, 100n, true],
    ['a limit above its trigger', { type: 'limit', triggerNav: 100n }, 101n, false],
    ['a limit without a trigger', { type: 'limit' }, 100n, true],
    ['an expired one', { stopNav: 100n, deadline: NOW }, 1n, false],
  ])('%s', (_, change, nav, due) => {
    expect(dueAt(order(change), nav)).toHaveLength(due ? 1 : 0);
  });

  test('is not due without a reference of its basket', () => {
    expect(dueAt(order({ stopNav: 100n }), null)).toEqual([]);
    const other = new Map([[STRANGER, 1n]]);
    expect(dueFills([order({ stopNav: 100n })], other, NOW, deployment)).toEqual([]);
  });

  test('names the escrow of its type and all of its amount', () => {
    expect(dueAt(order({ stopNav: 100n }))).toMatchObject([
      { type: 'sell', escrow: deployment.exitEscrow, amount: 5n, slot: null },
    ]);
    expect(dueAt(order({ type: 'limit' }))).toMatchObject([
      { type: 'limit', escrow: deployment.limitEscrow },
    ]);
  });
});

describe('a schedule', () => {
  test.each<[string, Partial<OpenSchedule>, number, { slot: number; amount: bigint } | null]>([
    ['a second before its start', {}, NOW - 1, null],
    ['at its start', {}, NOW, { slot: 0, amount: 33n }],
    ['at the last second of a slot', {}, NOW + 59, { slot: 0, amount: 33n }],
    ['at the first second of the next', {}, NOW + 60, { slot: 1, amount: 33n }],
    ['with that slot filled', { nextSlot: 2 }, NOW + 60, null],
    ['in its last slot, with the remainder', { nextSlot: 1 }, NOW + 179, { slot: 2, amount: 34n }],
    ['at its end', {}, NOW + 180, null],
  ])('%s', (_, change, now, expected) => {
    const due = dueAt(plan(change), 1n, now);
    expect(due).toMatchObject(expected === null ? [] : [expected]);
    expect(due).toHaveLength(expected === null ? 0 : 1);
  });

  test('spends its total over all of its slots', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 10n ** 12n), fc.integer({ min: 1, max: 50 }), (total, slots) => {
        const amounts = Array.from({ length: slots }, (_, slot) =>
          dueAt(plan({ total, slots, nextSlot: slot }), 1n, NOW + slot * 60),
        ).flatMap((due) => due.map(({ amount }) => amount));
        expect(amounts.reduce((sum, amount) => sum + amount, 0n)).toBe(total);
      }),
    );
  });
});

describe('turns', () => {
  const due = (count: number): Candidate[] =>
    Array.from({ length: count }, (_, block) => ({
      type: 'sell',
      id,
      escrow: deployment.exitEscrow,
      amount: 1n,
      slot: null,
      key: `sell:${block}`,
      vault: ENERGY,
      block,
      log: 0,
    }));

  test('come to everybody, however many wait', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 10 }),
        (count, most) => {
          const all = due(count);
          const seen = new Set<string>();
          let after: Candidate | null = null;
          for (let turn = 0; turn * most < count + most; turn += 1) {
            const taken: Candidate[] = takeTurn(all, after, most);
            expect(taken.length).toBe(Math.min(most, count));
            expect(new Set(taken).size).toBe(taken.length);
            for (const { key } of taken) seen.add(key);
            after = taken.at(-1) ?? null;
          }
          expect(seen.size).toBe(count);
        },
      ),
    );
  });
});
