/** The week's budget of duties over the real journal: whatever is sent, mined, forgotten and restarted. */
import * as fc from 'fast-check';
import { pad } from 'viem';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { openStore, type Store } from '../runtime/store/store.ts';
import { createDutyBudget, type DutyBudget } from './duty-budget.ts';
import { type DutyTerms, dutyTerms } from './duty-terms.ts';
import { createJournal, type Journal } from './journal/journal.ts';
import { type StoreTables, storeMigrations } from './journal/migrations.ts';
import { createKeeperMetrics } from './metrics.ts';
import { DUTY_PERIOD_MS } from './policy/duty.ts';
import { gasCostUsdg } from '../runtime/money/gas-cost.ts';
import type { Terms } from './send.ts';
import type { CoverType } from './work.ts';

const BUDGET = 1_000_000n;
const ETH_PRICE = 3_000n * 10n ** 18n;
const DAY = 86_400_000;
const JOB = `${pad('0xc1', { size: 20 })}:snapshot:7`;

let store: Store<StoreTables>;
let journal: Journal;
let dutyBudget: DutyBudget;
let clock = 1_800_000_000_000;
let opened = 0;

beforeEach(async () => {
  store = await openStore<StoreTables>({ url: 'file::memory:', migrations: storeMigrations });
  opened = 0;
  restart();
});
afterEach(() => store.close());

/** The next process has nothing but the store. */
function restart(): void {
  const now = (): number => clock;
  journal = createJournal(store.db, now);
  const metrics = createKeeperMetrics(createMetrics('keeper'));
  const logger = createLogger('keeper', 'silent');
  dutyBudget = createDutyBudget({ budgetUsdg: BUDGET, journal, metrics, logger, now });
}

const terms = (
  gainUsdg: bigint,
  gas: bigint,
  gasPriceWei: bigint,
  type: CoverType = 'snapshot',
): Promise<DutyTerms> =>
  dutyTerms(
    {
      dutyBudget,
      rules: {
        minProfitUsdg: 10_000n,
        marginBps: 1_000n,
        gasPriceHeadroomBps: 2_500n,
        gasLimitHeadroomBps: 2_000n,
        feeToleranceBps: 100n,
      },
    },
    { gainUsdg, gas },
    { market: { gasPriceWei, ethPrice: ETH_PRICE } },
    type,
  );

type Sent = { key: string; worst: bigint };

/** As `send` writes it down. */
async function open({ gasLimit, maxFeePerGas, duty, profitUsdg }: Terms): Promise<Sent> {
  const attempt = (opened += 1);
  const key = `snapshot:${JOB}:${attempt}`;
  const worst = gasCostUsdg(gasLimit, maxFeePerGas, ETH_PRICE);
  await journal.openAttempt({
    intentKey: key,
    jobKey: JOB,
    kind: 'snapshot',
    attempt,
    promisedUsdg: 0n,
    workType: 'snapshot',
    ticker: 'TECH',
    duty,
    expectedUsdg: profitUsdg,
    atRiskUsdg: worst,
  });
  return { key, worst };
}

const mine = ({ key }: Sent, costUsdg: bigint) =>
  journal.changeAttempt(key, { outcome: 'reverted', costUsdg, feeUsdg: 0n, settled: true });

test('duties under way at once may not cost more than the budget together, in a spike of the gas price either', async () => {
  let atRisk = 0n;
  let sent = 0;
  for (; sent < 100; sent += 1) {
    // 400,000 gas at 0.02 gwei: $0.024 each, $0.036 with all headroom.
    const next = await terms(0n, 400_000n, 20_000_000n);
    if (next.tag === 'refused') {
      expect(next.ending[0]).toBe('over_budget');
      break;
    }
    atRisk += (await open(next.terms)).worst;
  }
  // Several fit, each at no more than twice what it needs.
  expect(sent).toBe(14);
  expect(atRisk).toBeLessThanOrEqual(BUDGET);
  expect(await journal.dutyLoss(0)).toBe(atRisk);
});

test('payouts, as many as there are, leave half of the budget to the steps', async () => {
  let payouts = 0n;
  for (;;) {
    const next = await terms(0n, 400_000n, 20_000_000n, 'payout');
    if (next.tag === 'refused') break;
    payouts += (await open(next.terms)).worst;
  }
  expect(payouts).toBeGreaterThan(BUDGET / 3n);
  expect(payouts).toBeLessThanOrEqual(BUDGET / 2n);
  for (const type of ['snapshot', 'settle', 'void'] as const) {
    const step = await terms(0n, 400_000n, 20_000_000n, type);
    if (step.tag === 'refused') throw new Error(step.ending[1]);
    await open(step.terms);
  }
});

test('what a receipt says it cost is charged in place of what it might have cost', async () => {
  const first = await terms(0n, 6_000_000n, 20_000_000n);
  if (first.tag === 'refused') throw new Error(first.ending[1]);
  const sent = await open(first.terms);
  expect(sent.worst).toBe(BUDGET);
  expect((await terms(0n, 400_000n, 20_000_000n)).tag).toBe('refused');
  await mine(sent, 360_000n);
  expect((await terms(0n, 6_000_000n, 20_000_000n)).tag).toBe('terms');
});

test('the budget comes back a week after it was lost, not at a date and not at a restart', async () => {
  const first = await terms(0n, 6_000_000n, 20_000_000n);
  if (first.tag === 'refused') throw new Error(first.ending[1]);
  const sent = await open(first.terms);
  clock += 2 * DAY;
  restart();
  await mine(sent, 900_000n);
  const lostAt = clock;
  for (const later of [DAY, 6 * DAY, DUTY_PERIOD_MS]) {
    clock = lostAt + later;
    restart();
    expect((await terms(0n, 6_000_000n, 20_000_000n)).tag).toBe('refused');
  }
  clock = lostAt + DUTY_PERIOD_MS + 1;
  restart();
  expect((await terms(0n, 6_000_000n, 20_000_000n)).tag).toBe('terms');
});

test('in no seven days is more lost than the budget, whatever happens', async () => {
  const step = fc.record({
    waitMs: fc.oneof(fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 0, max: 4 * DAY })),
    gas: fc.bigInt(100_000n, 8_000_000n),
    gasPriceWei: fc.bigInt(10n ** 6n, 10n ** 8n),
    gainUsdg: fc.bigInt(0n, 50_000n),
    /** How many of those under way come to an end first, and at what part of the worst. */
    ends: fc.integer({ min: 0, max: 3 }),
    costBps: fc.bigInt(0n, 10_000n),
    restarts: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async (steps) => {
      await store.db.deleteFrom('keeper_attempts').execute();
      const underWay: Sent[] = [];
      const lost: { atMs: number; amount: bigint }[] = [];
      for (const { waitMs, gas, gasPriceWei, gainUsdg, ends, costBps, restarts } of steps) {
        clock += waitMs;
        if (restarts) restart();
        for (const ended of underWay.splice(0, ends)) {
          const amount = (ended.worst * costBps) / 10_000n;
          await mine(ended, amount);
          lost.push({ atMs: clock, amount });
        }
        const next = await terms(gainUsdg, gas, gasPriceWei);
        if (next.tag === 'terms' && next.terms.duty) underWay.push(await open(next.terms));
        const week = lost.filter(({ atMs }) => atMs > clock - DUTY_PERIOD_MS);
        expect(week.reduce((sum, { amount }) => sum + amount, 0n)).toBeLessThanOrEqual(BUDGET);
      }
    }),
    { numRuns: 25 },
  );
});
