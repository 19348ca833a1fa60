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

const listed = (...types: Work['type'][]) => types.map((type) => [{ type } as Work]);
const gauge = async (type: string) =>
  new RegExp(`cover_due{type="${type}"} (\\d+)`).exec(await metrics.registry.metrics())?.[1];

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

test('tells of a snapshot after five minutes, of a payout after thirty, of a missed week at once', () => {
  waits.saw(listed('snapshot', 'payout', 'payout'));
  clock += 5 * MINUTE - 1;
  expect(waits.warning()).toBeNull();
  clock += 1;
  expect(waits.warning()).toBe('cover work waits: 1 snapshot for 5 min; keeper why <id> says why');
  clock += 25 * MINUTE;
  waits.saw(listed('payout', 'void'));
  expect(waits.warning()).toBe(
    'cover work waits: 1 void for 0 min, 1 payout for 30 min; keeper why <id> says why',
  );
});

test('forgets what was not listed for a moment', () => {
  waits.saw(listed('payout'));
  clock += 40 * MINUTE;
  waits.saw([]);
  waits.saw(listed('payout'));
  expect(waits.warning()).toBeNull();
});
