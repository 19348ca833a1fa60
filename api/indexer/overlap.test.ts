/** What is read again of a node that lags: nothing is lost to it, and never the same read for ever. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MOST_AHEAD, Overlap } from './overlap.ts';

const BLOCKS = 10;

test('the blocks in which a node may lag are read again by every run, and no others', () => {
  const overlap = new Overlap(BLOCKS, 0);
  expect(overlap.startOf(0, 100)).toBe(0);
  overlap.readTo(50, 100);
  // It fails there: all of that was read under a head that is far enough on.
  expect(overlap.startOf(50, 100)).toBe(50);
  overlap.readTo(101, 100);
  overlap.through();
  expect(overlap.startOf(101, 103)).toBe(91);
});

test('a run that fails is gone on with, and what it left out is read again by the one after', () => {
  const overlap = new Overlap(BLOCKS, 0);
  overlap.startOf(0, 100);
  overlap.readTo(101, 100);
  overlap.through();
  expect(overlap.startOf(101, 101)).toBe(91);
  overlap.readTo(95, 101);
  expect(overlap.startOf(101, 103)).toBe(95);
  overlap.readTo(104, 103);
  overlap.through();
  expect(overlap.startOf(104, 104)).toBe(92);
});

test('where the chain has moved on too far meanwhile, nothing is left out', () => {
  const overlap = new Overlap(BLOCKS, 0);
  overlap.startOf(0, 100);
  overlap.readTo(101, 100);
  overlap.through();
  overlap.startOf(101, 101);
  overlap.readTo(95, 101);
  expect(overlap.startOf(101, 92 + MOST_AHEAD * BLOCKS)).toBe(92);
});

test('a process that starts reads again as much as may not count, and never from before the first block', () => {
  const overlap = new Overlap(BLOCKS, 70);
  overlap.takeUp(900);
  expect(overlap.startOf(901, 901)).toBe(701);
  const large = new Overlap(100, 70);
  large.takeUp(900);
  expect(large.startOf(901, 901)).toBe(901 - MOST_AHEAD * 100);
  // What this process has read itself it knows, unless another may have written since.
  overlap.readTo(902, 901);
  overlap.takeUp(901);
  expect(overlap.startOf(902, 902)).toBe(892);
  overlap.forget();
  overlap.takeUp(150);
  expect(overlap.startOf(151, 151)).toBe(70);
});

/** A run: how many reads of how many blocks it gets before it fails, and what came before it. */
const run = fc.record({
  reads: fc.integer({ min: 0, max: 12 }),
  size: fc.integer({ min: 1, max: 7 }),
  grown: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 80 })),
  before: fc.constantFrom('nothing', 'nothing', 'nothing', 'nothing', 'restart', 'reorg'),
  depth: fc.integer({ min: 1, max: 15 }),
});

test('whatever fails, restarts and is undone: once runs come through, every block was told by a node that had it', () => {
  fc.assert(
    fc.property(fc.array(run, { maxLength: 40 }), (runs) => {
      let overlap = new Overlap(BLOCKS, 0, 0);
      let [head, next] = [60, 0];
      const found = new Set<number>();
      const read = (from: number, to: number): void => {
        // Of the newest blocks a node has nothing yet.
        for (let block = from; block < Math.min(to, head - BLOCKS + 1); block += 1)
          found.add(block);
        next = Math.max(next, to);
        overlap.readTo(to, head);
        if (to > head) overlap.through();
      };
      for (const { reads, size, grown, before, depth } of runs) {
        if (before === 'restart') {
          overlap = new Overlap(BLOCKS, 0, 0);
          overlap.takeUp(next - 1);
        } else if (before === 'reorg') {
          next = Math.max(next - depth, 0);
          for (const block of found) if (block >= next) found.delete(block);
          overlap.undone(next - 1);
          head = Math.max(head - 2 * depth, next);
        }
        head += grown;
        let position = overlap.startOf(next, head);
        for (let count = 0; count < reads && position <= head; count += 1) {
          const to = Math.min(position + size, head + 1);
          read(position, to);
          position = to;
        }
      }
      // Then two come through.
      for (let count = 0; count < 2; count += 1) {
        head += 1;
        read(overlap.startOf(next, head), head + 1);
      }
      for (let block = 0; block <= head - BLOCKS; block += 1) expect(found).toContain(block);
    }),
    { numRuns: 1_000 },
  );
});

test('of a chain that stands, a node that gives little of each run tells everything in the end', () => {
  for (let reads = 1; reads <= 6; reads += 1) {
    const overlap = new Overlap(BLOCKS, 0);
    let next = 0;
    let runs = 0;
    for (; next <= 100 && runs < 300; runs += 1) {
      let position = overlap.startOf(next, 100);
      for (let count = 0; count < reads && position <= 100; count += 1) {
        position += 2;
        next = Math.max(next, position);
        overlap.readTo(position, 100);
      }
      if (position > 100) overlap.through();
    }
    expect(next).toBeGreaterThan(100);
  }
});

test('of one that grows, it is followed where it gives twice what comes', () => {
  const overlap = new Overlap(BLOCKS, 0);
  let [head, next] = [100, 0];
  const lags: number[] = [];
  for (let count = 0; count < 400; count += 1) {
    head += 2;
    let position = overlap.startOf(next, head);
    for (let reads = 0; reads < 5 && position <= head; reads += 1) {
      position = Math.min(position + 1, head + 1);
      next = Math.max(next, position);
      overlap.readTo(position, head);
    }
    if (position > head) overlap.through();
    if (count >= 300) lags.push(head + 1 - next);
  }
  expect(Math.max(...lags)).toBeLessThan(MOST_AHEAD * BLOCKS);
  expect(Math.min(...lags)).toBe(0);
});
