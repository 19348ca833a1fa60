/** Reads of the journal by key: what is asked for together is read together. */
import DataLoader from 'dataloader';
import type { Kysely, Selectable } from 'kysely';
import type { Address, Hex } from 'viem';
import { FRESH, type Patience } from '../policy/patience.ts';
import type { AttemptKind } from '../work.ts';
import type { Attempt, Carrier, JobMemory } from './journal.ts';
import type { AttemptRow, KeeperTables } from './migrations.ts';

/** More than jobs are considered at once. */
const KEYS_A_READ = 200;

/** What is asked for by key in one turn is read as one; nothing is kept. A row that cannot be read fails its key alone. */
export function reader<T>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, T | Error>>,
): DataLoader<string, T | null> {
  const load = async (keys: readonly string[]): Promise<(T | Error | null)[]> => {
    const found = await read(keys);
    return keys.map((key) => found.get(key) ?? null);
  };
  return new DataLoader(load, { cache: false, maxBatchSize: KEYS_A_READ });
}

export async function readJobs(
  db: Kysely<KeeperTables>,
  keys: readonly string[],
): Promise<Map<string, JobMemory | Error>> {
  const rows = await db
    .selectFrom('keeper_jobs')
    .select(['job_key', 'job_type', 'ticker', 'patience', 'gas'])
    .where('job_key', 'in', keys)
    .execute();
  const memoryOf = ({ job_type, ticker, patience, gas }: (typeof rows)[number]): JobMemory => ({
    type: job_type,
    ticker,
    patience: { ...FRESH, ...(JSON.parse(patience) as Patience) },
    gas: gas === null ? null : BigInt(gas),
  });
  return new Map(rows.map((row) => [row.job_key, orFault(() => memoryOf(row))]));
}

function orFault<T>(read: () => T): T | Error {
  try {
    return read();
  } catch (error) {
    // expected of a row that was spoilt
    return error instanceof Error ? error : new Error(String(error));
  }
}

export async function lastAttempts(
  db: Kysely<KeeperTables>,
  kind: AttemptKind,
  keys: readonly string[],
): Promise<Map<string, Attempt | Error>> {
  const newest = db
    .selectFrom('keeper_attempts')
    .select(({ fn }) => ['job_key', fn.max('attempt').as('attempt')])
    .where('kind', '=', kind)
    .where('job_key', 'in', keys)
    .groupBy('job_key')
    .as('newest');
  const rows = await db
    .selectFrom('keeper_attempts')
    .innerJoin(newest, (join) =>
      join
        .onRef('newest.job_key', '=', 'keeper_attempts.job_key')
        .onRef('newest.attempt', '=', 'keeper_attempts.attempt'),
    )
    .selectAll('keeper_attempts')
    .where('kind', '=', kind)
    .execute();
  return new Map(rows.map((row) => [row.job_key, orFault(() => attemptOf(row))]));
}

export function attemptOf(row: Selectable<AttemptRow>): Attempt {
  return {
    intentKey: row.intent_key,
    jobKey: row.job_key,
    kind: row.kind as AttemptKind,
    attempt: row.attempt,
    promisedUsdg: BigInt(row.promised_usdg),
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
    outcome: row.outcome,
    hash: row.tx_hash as Hex | null,
    feeUsdg: row.fee_usdg === null ? null : BigInt(row.fee_usdg),
    costUsdg: row.cost_usdg === null ? null : BigInt(row.cost_usdg),
    settled: row.settled === 1,
    workType: row.work_type,
    wallet: row.wallet as Address | null,
    duty: row.duty === 1,
    expectedUsdg: row.expected_usdg === null ? null : BigInt(row.expected_usdg),
    leastUsdg: row.least_usdg === null ? null : BigInt(row.least_usdg),
    carrier: row.carrier === null ? null : (JSON.parse(row.carrier) as Carrier),
  };
}
