/** A budget of duties that does not suffice is told: once in the log, in `/ready` while work waits, in the metrics. */
import { beforeEach, expect, test } from 'vitest';
import { createMetrics, type Metrics } from '../runtime/metrics.ts';
import { createDutyBudget, type DutyBudget } from './duty-budget.ts';
import { createKeeperMetrics } from './metrics.ts';
import { DUTY_PERIOD_MS } from './policy/duty.ts';
import type { CoverType } from './work.ts';

const BUDGET = 1_000_000n;
const MINUTE = 60_000;

let clock: number;
let lostUsdg: bigint;
let reads: number;
let warned: unknown[];
let metrics: Metrics;
let budget: DutyBudget;

beforeEach(() => begin(BUDGET));

function begin(budgetUsdg: bigint): void {
  clock = 1_800_000_000_000;
  lostUsdg = 0n;
  reads = 0;
  warned = [];
  metrics = createMetrics('keeper');
  budget = createDutyBudget({
    budgetUsdg,
    journal: {
      dutyLoss: async (sinceMs) => {
        expect(sinceMs).toBe(clock - DUTY_PERIOD_MS);
        reads += 1;
        return lostUsdg;
      },
    },
    metrics: createKeeperMetrics(metrics),
    logger: { warn: (line: object) => void warned.push(line) } as never,
    now: () => clock,
  });
}

const valueOf = async (name: string): Promise<number> => {
  const [line] = (await metrics.registry.metrics())
    .split('\n')
    .filter((text) => text.startsWith(`basket_keeper_${name} `));
  return Number(line?.split(' ')[1]);
};

/** A duty is judged, and refused where more than is left may be lost. */
async function judge(atRiskUsdg: bigint, type: CoverType = 'snapshot'): Promise<void> {
  const leftUsdg = await budget.left(type);
  if (atRiskUsdg > leftUsdg) budget.refuse({ type, atRiskUsdg, leftUsdg });
}

test('while it suffices nobody hears of it', async () => {
  lostUsdg = 250_000n;
  await judge(750_000n);
  expect(await valueOf('duty_budget_left_usdg')).toBe(0.75);
  expect(await valueOf('duties_over_budget_total')).toBe(0);
  expect(budget.warning()).toBeNull();
  expect(warned).toEqual([]);
});

test('a duty that waits is told in the log once, and in /ready for as long as it is asked for', async () => {
  lostUsdg = 998_000n;
  for (let looks = 1; looks <= 100; looks += 1) {
    await judge(30_000n);
    clock += MINUTE / 4;
    expect(budget.warning()).toBe(
      "a snapshot that may cost $0.03 waits: $0.002 is left for it of the week's $1 (KEEPER_DUTY_BUDGET_USDG)",
    );
    expect(await valueOf('duties_over_budget_total')).toBe(looks);
  }
  expect(await valueOf('duty_budget_left_usdg')).toBe(0.002);
  expect(warned).toEqual([
    { type: 'snapshot', leftUsdg: '$0.002', atRiskUsdg: '$0.03', budgetUsdg: '$1' },
  ]);
  // Somebody else did it: nothing lists it any more.
  clock += 2 * MINUTE;
  expect(budget.warning()).toBeNull();
});

test('a budget that comes back ends the note, and the next time it is spent is told again', async () => {
  lostUsdg = BUDGET;
  await judge(30_000n);
  expect(budget.warning()).not.toBeNull();
  clock += 11 * MINUTE;
  lostUsdg = 0n;
  await budget.look();
  expect(budget.warning()).toBeNull();
  expect(await valueOf('duty_budget_left_usdg')).toBe(1);
  lostUsdg = BUDGET;
  await judge(30_000n);
  expect(budget.warning()).not.toBeNull();
  expect(warned).toHaveLength(2);
});

test('a payout waits for more than what is kept for steps, and is told until there is that much', async () => {
  lostUsdg = 490_000n;
  await judge(10_000n, 'payout');
  expect(budget.warning()).toBeNull();
  await judge(30_000n, 'payout');
  expect(budget.warning()).toMatch(/^a payout that may cost \$0.03 waits: \$0.01 is left for it/);
  clock += MINUTE;
  await budget.look();
  expect(budget.warning()).not.toBeNull();
  lostUsdg = 470_000n;
  clock += MINUTE;
  await budget.look();
  expect(budget.warning()).toBeNull();
});

test('one that is spent and comes back by turns does not flood the log', async () => {
  for (let turn = 0; turn < 60; turn += 1) {
    lostUsdg = turn % 2 === 0 ? BUDGET : 0n;
    await judge(30_000n);
    clock += MINUTE / 6;
  }
  expect(warned).toHaveLength(1);
});

test('what is left is read once a minute while no duty is asked for', async () => {
  for (let looks = 0; looks < 600; looks += 1) {
    await budget.look();
    clock += 1_000;
  }
  expect(reads).toBe(10);
});

test('a budget of nothing alarms nobody, and is told all the same', async () => {
  begin(0n);
  await judge(30_000n);
  expect(await valueOf('duties_over_budget_total')).toBe(0);
  expect(budget.warning()).toMatch(/\$0 is left for it of the week's \$0/);
  expect(warned).toHaveLength(1);
});
