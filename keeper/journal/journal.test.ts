import { sql } from 'kysely';
import { pad } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { timelineText } from '../cli/why.ts';
import { createMemories } from '../memory.ts';
import { FRESH, PATIENCE_RULES } from '../policy/patience.ts';
import { workKeyOf } from '../work.ts';
import { createJournal, type Journal } from './journal.ts';
import { type KeeperTables, keeperMigrations } from './migrations.ts';

const ID = pad('0x12', { size: 32 });
const KEY = workKeyOf(pad('0xAB', { size: 20 }), ID);
const HASH = pad('0xCD', { size: 32 });

let store: Store<KeeperTables>;
let journal: Journal;
let clock = 1_800_000_000_000;

beforeEach(async () => {
  clock = 1_800_000_000_000;
  store = await openStore<KeeperTables>({ url: 'file::memory:', migrations: keeperMigrations });
  journal = createJournal(store.db, () => clock);
});
afterEach(() => store.close());

const attempt = (number: number) => ({
  intentKey: `fill:${KEY}:${number}`,
  jobKey: KEY,
  kind: 'fill' as const,
  attempt: number,
  promisedUsdg: 250_000n,
  workType: 'sell',
  ticker: 'TECH',
  duty: false,
  expectedUsdg: 100_000n,
});

describe('the timeline of an order', () => {
  test('joins equal neighbours and keeps the newest words', async () => {
    await journal.decide(KEY, { decision: 'not_due', detail: 'first' });
    clock += 5_000;
    await journal.decide(KEY, { decision: 'not_due', detail: 'second' });
    clock += 5_000;
    await journal.decide(KEY, { decision: 'sent', detail: 'fill', hash: HASH });
    const [timeline] = await journal.timeline(ID);
    expect(timeline?.decisions).toMatchObject([
      { decision: 'not_due', detail: 'second', repeats: 2, last_ms: clock - 5_000 },
      { decision: 'sent', repeats: 1, tx_hash: HASH },
    ]);
    const text = (await timelineText(journal, ID)).join('\n');
    expect(text).toContain('not_due: second  x2 until 2027-01-15T08:00:05.000Z');
    expect(await timelineText(journal, HASH)).toEqual([]);
  });

  test('is bounded', async () => {
    for (let i = 0; i < 1_010; i += 1) {
      await journal.decide(KEY, { decision: i % 2 === 0 ? 'a' : 'b', detail: 'x'.repeat(2_000) });
    }
    const [timeline] = await journal.timeline(ID);
    expect(timeline?.decisions).toHaveLength(500);
    expect(timeline?.decisions[0]?.detail).toHaveLength(400);
  });
});

describe('attempts', () => {
  test('are found newest first and settle one by one', async () => {
    await journal.openAttempt(attempt(1));
    clock += 1;
    await journal.openAttempt(attempt(2));
    expect((await journal.lastAttempt(KEY, 'fill'))?.attempt).toBe(2);
    expect(await journal.lastAttempt(KEY, 'arm')).toBeNull();
    await journal.changeAttempt(attempt(1).intentKey, {
      outcome: 'refused:fee_cap',
      settled: true,
    });
    expect((await journal.unsettled(10)).map(({ attempt: number }) => number)).toEqual([2]);
  });

  test('and jobs that are asked for at once are each their own, and read anew each time', async () => {
    const keys = Array.from({ length: 450 }, (_, at) => `${KEY}${at}`);
    const of = (jobKey: string, number: number) => ({
      ...attempt(number),
      intentKey: `fill:${jobKey}:${number}`,
      jobKey,
    });
    const odd = keys.filter((_, at) => at % 2 === 1);
    for (const key of odd) await journal.openAttempt(of(key, 1), of(key, 2));
    const lastOf = async () =>
      (await Promise.all(keys.map((key) => journal.lastAttempt(key, 'fill')))).map((one) =>
        one === null ? null : `${one.jobKey}/${one.attempt}`,
      );
    const expected = (number: number) =>
      keys.map((key, at) => (at % 2 === 1 ? `${key}/${number}` : null));
    expect(await lastOf()).toEqual(expected(2));
    await journal.openAttempt(...odd.map((key) => of(key, 3)));
    expect(await lastOf()).toEqual(expected(3));
    const arms = await Promise.all(odd.map((key) => journal.lastAttempt(key, 'arm')));
    expect(arms.every((one) => one === null)).toBe(true);
    const [known] = odd;
    if (known === undefined) throw new Error('no key');
    const memory = { type: 'sell', ticker: 'CORE', patience: FRESH, gas: 7n };
    await journal.writeJob(known, memory);
    const jobs = await Promise.all([known, 'nobody', known].map((key) => journal.readJob(key)));
    expect(jobs).toEqual([memory, null, memory]);
    const [, spoilt] = odd;
    if (spoilt === undefined) throw new Error('no key');
    await journal.writeJob(spoilt, memory);
    await sql`update keeper_jobs set patience = '{' where job_key = ${spoilt}`.execute(store.db);
    const read = await Promise.allSettled([known, spoilt].map((key) => journal.readJob(key)));
    expect(read.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  test('of a submit that never was start anew under the same number', async () => {
    await journal.openAttempt(attempt(1));
    await journal.changeAttempt(attempt(1).intentKey, {
      outcome: 'never_submitted',
      settled: true,
    });
    await journal.openAttempt(attempt(1));
    expect(await journal.unsettled(10)).toMatchObject([{ outcome: 'submitting', attempt: 1 }]);
  });

  test('that go out together are written together, all or none', async () => {
    await sql`CREATE TRIGGER broken BEFORE INSERT ON keeper_attempts WHEN NEW.attempt = 3
      BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`.execute(store.db);
    const all = [1, 2, 3].map(attempt);
    await expect(journal.openAttempt(...all)).rejects.toThrow(/full/);
    expect(await journal.unsettled(10)).toEqual([]);
    await sql`DROP TRIGGER broken`.execute(store.db);
    await journal.openAttempt(...all);
    expect(await journal.unsettled(10)).toHaveLength(3);
  });

  test('that are not settled survive a clean-up of old rows', async () => {
    await journal.openAttempt(attempt(1));
    await journal.openAttempt(attempt(2));
    await journal.changeAttempt(attempt(2).intentKey, { outcome: 'mined', settled: true });
    await journal.prune(clock + 1, clock);
    expect((await journal.timeline(ID))[0]?.attempts).toHaveLength(2);
    await journal.prune(clock + 1, clock + 1);
    const [timeline] = await journal.timeline(ID);
    expect(timeline?.attempts).toMatchObject([{ attempt: 1 }]);
  });
});

describe('the budget of duties', () => {
  const duty = (number: number) => ({
    ...attempt(number),
    duty: true,
    expectedUsdg: -70_000n,
    atRiskUsdg: 300_000n,
  });
  const end = (number: number, change: { outcome: string; costUsdg?: bigint; feeUsdg?: bigint }) =>
    journal.changeAttempt(duty(number).intentKey, { ...change, settled: true });

  test('is charged by the receipt, before it with all that is at risk, and not by what never ran', async () => {
    const since = clock;
    await journal.openAttempt(attempt(1));
    await journal.openAttempt(duty(2));
    expect(await journal.dutyLoss(since)).toBe(300_000n);
    await end(2, { outcome: 'mined', feeUsdg: 100_000n, costUsdg: 130_000n });
    await journal.openAttempt(duty(3));
    await end(3, { outcome: 'reverted', costUsdg: 20_000n });
    await journal.openAttempt(duty(4));
    await end(4, { outcome: 'refused:expired' });
    expect(await journal.dutyLoss(since)).toBe(50_000n);
    // On chain at an ETH price that nobody knew.
    await journal.openAttempt(duty(5));
    await end(5, { outcome: 'mined', feeUsdg: 0n });
    expect(await journal.dutyLoss(since)).toBe(350_000n);
    expect(await journal.dutyLoss(clock + 1)).toBe(0n);
  });

  test('is charged with what is under way however long ago it began', async () => {
    await journal.openAttempt(duty(1));
    clock += 30 * 86_400_000;
    expect(await journal.dutyLoss(clock)).toBe(300_000n);
    await end(1, { outcome: 'mined', feeUsdg: 0n, costUsdg: 90_000n });
    // Lost now, not when it was sent.
    expect(await journal.dutyLoss(clock)).toBe(90_000n);
  });

  test('is charged as expected with what an older version left under way', async () => {
    const { atRiskUsdg: _, ...older } = duty(1);
    await journal.openAttempt(older);
    expect(await journal.dutyLoss(clock)).toBe(70_000n);
  });
});

describe('memory', () => {
  const job = { type: 'sell', ticker: 'TECH' };
  const memoriesOf = (capacity = 10) =>
    createMemories({ journal, rules: PATIENCE_RULES, capacity, now: () => clock });

  test('of a quarantine survives a restart', async () => {
    const first = memoriesOf();
    await first.recall(KEY, job);
    for (let i = 0; i < PATIENCE_RULES.failuresUntilQuarantine; i += 1) {
      await first.apply(KEY, { tag: 'failed', reason: 'bad swaps' }, 'terms');
    }
    expect(first.quarantined(clock)).toBe(1);
    const { patience } = await memoriesOf().recall(KEY, job);
    expect(patience.quarantine).toMatchObject({ reason: 'bad swaps', fingerprint: 'terms' });
  });

  test('is bounded: what was not used longest is dropped', async () => {
    const memories = memoriesOf(2);
    for (const key of ['a:1', 'b:1', 'a:1', 'c:1']) await memories.recall(key, job);
    await memories.apply('a:1', { tag: 'wait', ms: 5_000 });
    const kept = await memories.recall('a:1', job);
    expect(kept.patience.notBeforeMs).toBe(clock + 5_000);
  });
});
