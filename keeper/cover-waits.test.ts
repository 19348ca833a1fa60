import { beforeEach, expect, test } from 'vitest';
import { createMetrics, type Metrics } from '../runtime/metrics.ts';
import { type CoverWaits, createCoverWaits } from './cover-waits.ts';
import { createKeeperMetrics } from './metrics.ts';
import type { Work } from './work.ts';

const MINUTE = 60_000;
let clock: number;
let metrics: Metrics;
let waits: CoverWaits;

beforeEach(() => {
  clock = 1_800_000_000_000;
  metrics = createMetrics('keeper');
  waits = createCoverWaits({ metrics: createKeeperMetrics(metrics), now: () => clock });
});

const listed = (...types: Work['type'][]) =>
  types.map((type, index) => [{ type, key: `${type}:${index}` } as Work]);
const gauge = async (type: string, name = 'cover_due') =>
  new RegExp(`${name}{type="${type}"} (\\d+)`).exec(await metrics.registry.metrics())?.[1];

test('counts what is listed, by type', async () => {
  waits.saw(listed('sell', 'payout', 'payout', 'snapshot'));
  expect([await gauge('payout'), await gauge('snapshot'), await gauge('void')]).toEqual([
    '2',
    '1',
    '0',
  ]);
  waits.saw([]);
  expect(await gauge('payout')).toBe('0');
});

test('tells of a snapshot after five minutes, of a payout after thirty, of a missed week at once', async () => {
  waits.saw(listed('snapshot', 'payout', 'payout'));
  clock += 5 * MINUTE - 1;
  waits.saw(listed('snapshot', 'payout', 'payout'));
  expect(waits.warning()).toBeNull();
  clock += 1;
  expect(waits.warning()).toBe(
    'cover work waits: 1 snapshot for up to 5 min; keeper why <id> says why',
  );
  for (let minute = 0; minute < 25; minute += 1) {
    clock += MINUTE;
    waits.saw(listed('void', 'payout', 'payout'));
  }
  expect(waits.warning()).toBe(
    'cover work waits: 1 void for up to 24 min, 2 payout for up to 30 min; keeper why <id> says why',
  );
  expect(await gauge('payout', 'cover_waits_seconds')).toBe('1800');
});

test('goes on counting over an answer that fails, and forgets what is not listed for a minute', () => {
  waits.saw(listed('snapshot'));
  for (let minute = 0; minute < 6; minute += 1) {
    waits.saw([]);
    clock += MINUTE;
    waits.saw(listed('snapshot'));
  }
  expect(waits.warning()).toMatch(/1 snapshot for up to 6 min/);
  clock += MINUTE + 1;
  waits.saw([]);
  expect(waits.warning()).toBeNull();
});

test('is about one piece of work and not about a weekend full of others', async () => {
  for (let minute = 0; minute < 40; minute += 1) {
    waits.saw([[{ type: 'payout', key: `payout:${minute}` } as Work]]);
    clock += MINUTE;
  }
  expect(waits.warning()).toBeNull();
  expect(Number(await gauge('payout', 'cover_waits_seconds'))).toBeLessThan(120);
});

test('stays bounded, whatever is listed', () => {
  for (let tick = 0; tick < 20; tick += 1) {
    waits.saw(
      Array.from({ length: 400 }, (_, at) => [{ type: 'void', key: `void:${tick}:${at}` } as Work]),
    );
  }
  expect(waits.warning()).toMatch(/^cover work waits: 5000 void/);
});
