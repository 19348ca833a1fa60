/** What the journal's attempts lost, or may still lose, as the policies need it. Read only. */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import type { ForeignRun } from '../policy/breaker.ts';
import type { KeeperTables } from './migrations.ts';

export type ForeignRuns = {
  /** On chain, with a receipt that was read. */
  runs: ForeignRun[];
  /** Job keys of what is under way, or not read yet. */
  underWay: string[];
};

const amount = (text: string | null): bigint => BigInt(text ?? '0');

/** Times of `runs` are those of the last look at them. */
export async function readForeignRuns(
  db: Kysely<KeeperTables>,
  contract: Address,
  sinceMs: number,
): Promise<ForeignRuns> {
  const rows = await db
    .selectFrom('keeper_attempts')
    .select(['job_key', 'outcome', 'settled', 'updated_ms'])
    .select(['fee_usdg', 'cost_usdg', 'at_risk_usdg', 'least_usdg'])
    .where('kind', '=', 'foreign')
    .where('job_key', 'like', `${contract.toLowerCase()}:%`)
    .where((where) => where.or([where('updated_ms', '>=', sinceMs), where('settled', '=', 0)]))
    .execute();
  const found: ForeignRuns = { runs: [], underWay: [] };
  for (const row of rows) {
    const ran = row.outcome === 'mined' || row.outcome === 'reverted';
    if (ran && row.fee_usdg !== null) {
      found.runs.push({
        reverted: row.outcome === 'reverted',
        feeUsdg: amount(row.fee_usdg),
        costUsdg: amount(row.cost_usdg ?? row.at_risk_usdg),
        leastUsdg: row.least_usdg === null ? null : amount(row.least_usdg),
        atMs: row.updated_ms,
      });
    } else if (row.settled === 0) {
      found.underWay.push(row.job_key);
    }
  }
  return found;
}

/** See `Journal.dutyLoss`. What never ran lost nothing; what ran at a price not known counts as at risk. */
export async function readDutyLoss(db: Kysely<KeeperTables>, sinceMs: number): Promise<bigint> {
  const rows = await db
    .selectFrom('keeper_attempts')
    .select(['outcome', 'settled', 'fee_usdg', 'cost_usdg', 'at_risk_usdg', 'expected_usdg'])
    .where('duty', '=', 1)
    .where((where) => where.or([where('updated_ms', '>=', sinceMs), where('settled', '=', 0)]))
    .execute();
  let loss = 0n;
  for (const row of rows) {
    const ran = row.outcome === 'mined' || row.outcome === 'reverted';
    if (row.settled === 1 && !ran) continue;
    const lost =
      ran && row.cost_usdg !== null
        ? amount(row.cost_usdg) - amount(row.fee_usdg)
        : // Rows of an older version tell what was expected alone.
          amount(row.at_risk_usdg ?? (-amount(row.expected_usdg)).toString());
    if (lost > 0n) loss += lost;
  }
  return loss;
}
