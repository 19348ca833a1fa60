/** What is read again after a node that lagged: never less than the overlap, and never the same for ever. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Overlap } from './overlap.ts';

const BLOCKS = 10;

test('a run that fails is gone on with, and what was left out is read again once one comes through', () => {
  const overlap = new Overlap(BLOCKS, 0);
  expect(overlap.startOf(100)).toBe(90);
  overlap.readTo(95, false);
  expect(overlap.startOf(100)).toBe(95);
  overlap.readTo(104, true);
  // fails, and has come through what the rows held: the next one reads all of it again
  expect(overlap.startOf(104)).toBe(90);
  overlap.readTo(104, false);
  overlap.through();
  expect(overlap.startOf(104)).toBe(94);
});

test('rows that were undone begin anew, and no more than four times the overlap is read again', () => {
  const overlap = new Overlap(BLOCKS, 0);
  overlap.startOf(100);
  overlap.readTo(95, false);
  overlap.forget();
  expect(overlap.startOf(50)).toBe(40);
  overlap.readTo(45, false);
  overlap.startOf(50);
  overlap.readTo(200, true);
  expect(overlap.startOf(200)).toBe(160);
  expect(new Overlap(BLOCKS, 97).startOf(100)).toBe(97);
});

test('whatever failed in which order: the last blocks before a run are read by it or by one after it', () => {
  const failed = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 1, max: 4 })),
    {
      maxLength: 60,
    },
  );
  fc.assert(
    fc.property(failed, (runs) => {
      const overlap = new Overlap(BLOCKS, 0);
      let next = 100;
      /** The last run by number that was to read a block, and that did. */
      const due = new Map<number, number>();
      const read = new Map<number, number>();
      const begin = (run: number): number => {
        for (let block = next - BLOCKS; block < next; block += 1) due.set(block, run);
        return overlap.startOf(next);
      };
      const advance = (run: number, from: number, to: number): void => {
        for (let block = from; block < to; block += 1) read.set(block, run);
        overlap.readTo(to, to > next);
        next = Math.max(next, to);
      };
      for (const [run, [steps, size]] of runs.entries()) {
        let position = begin(run);
        for (let step = 0; step < steps; step += 1) {
          advance(run, position, position + size);
          position += size;
        }
      }
      // Then two come through: the first may go on with one that failed.
      for (const run of [runs.length, runs.length + 1]) {
        advance(run, begin(run), next + 1);
        overlap.through();
      }
      for (const [block, run] of due) {
        if (block >= next - 1 - 4 * BLOCKS) expect(read.get(block)).toBeGreaterThanOrEqual(run);
      }
      expect(overlap.startOf(next)).toBe(next - BLOCKS);
    }),
  );
});
