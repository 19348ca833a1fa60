/** The doctor and the statement on PostgreSQL: who leads, and the same books. */
import { expect, test } from 'vitest';
import { checkStore } from '../../keeper/doctor/store.ts';
import { createJournal } from '../../keeper/journal/journal.ts';
import { type StoreTables, storeMigrations } from '../../keeper/journal/migrations.ts';
import { readStatement, totalOf } from '../../keeper/money/statement.ts';
import { contend } from '../../runtime/store/leadership.ts';
import { openStore } from '../../runtime/store/store.ts';
import { usePostgres } from '../harness/postgres.ts';

const postgres = usePostgres();

test('a PostgreSQL tells whether a keeper leads on it, and its journal gives a statement', async () => {
  const url = await postgres.database('doctor');
  expect(await checkStore(url)).toMatchObject([
    { level: 'ok', says: 'postgres, 0 attempts in the journal; no keeper leads' },
  ]);
  const leadership = contend(url, 'keeper-sender', () => undefined);
  expect(await leadership.claim()).toBe(1);
  try {
    const [finding] = await checkStore(url);
    expect(finding?.says).toMatch(/; a keeper leads from 127\.0\.0\.1 since /);
  } finally {
    await leadership.release();
  }
  const store = await openStore<StoreTables>({ url, migrations: storeMigrations });
  try {
    const journal = createJournal(store.db, () => 1_800_000_000_000);
    const intentKey = 'fill:1';
    await journal.openAttempt({
      intentKey,
      jobKey: 'job',
      kind: 'fill',
      attempt: 1,
      promisedUsdg: 1n,
      workType: 'sell',
      ticker: null,
      duty: false,
      expectedUsdg: 0n,
    });
    await journal.changeAttempt(intentKey, {
      outcome: 'mined',
      feeUsdg: 250_000n,
      gasUsed: 10n ** 6n,
      gasPriceWei: 10n ** 9n,
      costUsdg: 100_000n,
      settled: true,
    });
    const { earnings } = await readStatement(store.db, 0);
    expect(totalOf(earnings)).toMatchObject({ executed: 1, feesUsdg: 250_000n, gasUsdg: 100_000n });
  } finally {
    await store.close();
  }
});
