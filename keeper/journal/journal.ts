/**
 * What the keeper writes down: per order its patience, its attempts and a timeline of decisions. An attempt's row is
 * written with its intent's (send.ts), or before it, so a crash leaves a row without an intent at the most, never the
 * reverse.
 * Every write is made under the fence: of replicas on one store only the leader's reach it.
 */
import type DataLoader from 'dataloader';
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Address, Hex } from 'viem';
import { inTurnByKey } from '../../runtime/in-turn.ts';
import { fenced } from '../../runtime/store/fenced.ts';
import { type Fence, unfenced } from '../../runtime/store/lead.ts';
import type { Patience } from '../policy/patience.ts';
import type { AttemptKind } from '../work.ts';
import { type ForeignRuns, readDutyLoss, readForeignRuns } from './losses.ts';
import type { AttemptRow, DecisionRow, KeeperTables } from './migrations.ts';
import { attemptOf, lastAttempts, reader, readJobs } from './reads.ts';

export type Attempt = {
  intentKey: string;
  jobKey: string;
  kind: AttemptKind;
  attempt: number;
  promisedUsdg: bigint;
  createdMs: number;
  updatedMs: number;
  outcome: string;
  hash: Hex | null;
  feeUsdg: bigint | null;
  costUsdg: bigint | null;
  settled: boolean;
  workType: string | null;
  wallet: Address | null;
  duty: boolean;
  expectedUsdg: bigint | null;
  /** The least that its receipt must have moved to us; null where nothing was asked of it. */
  leastUsdg: bigint | null;
  carrier: Carrier | null;
};

/** The sender's intent that carries an attempt together with others, and the attempt's place in it. */
export type Carrier = { key: string; index: number; members: number };

/** What is known of an attempt before it is handed to the sender. */
export type NewAttempt = {
  intentKey: string;
  jobKey: string;
  kind: AttemptKind;
  attempt: number;
  promisedUsdg: bigint;
  workType: string;
  ticker: string | null;
  duty: boolean;
  /** Fee less cost, USDG base units. */
  expectedUsdg: bigint;
  /** The most that it can cost; absent: not known. */
  atRiskUsdg?: bigint | null;
  /** The least that its receipt must move to us; absent: its events tell whether it was done. */
  leastUsdg?: bigint | null;
  /** Absent: it goes by itself. */
  carrier?: Carrier;
};

type AttemptChange = {
  outcome: string;
  hash?: Hex | null;
  feeUsdg?: bigint | null;
  gasUsed?: bigint | null;
  gasPriceWei?: bigint | null;
  gasL1?: bigint | null;
  wallet?: Address;
  costUsdg?: bigint | null;
  settled?: boolean;
};

export type JobMemory = {
  type: string;
  ticker: string | null;
  patience: Patience;
  /** Gas of the last passing simulation. */
  gas: bigint | null;
};

type Decision = { decision: string; detail: string; hash?: Hex | null };

/** A timeline longer than this keeps its newest lines. */
const MAX_DECISIONS_PER_JOB = 500;
const MAX_DETAIL = 400;

export type Journal = {
  readJob(jobKey: string): Promise<JobMemory | null>;
  writeJob(jobKey: string, memory: JobMemory): Promise<void>;
  lastAttempt(jobKey: string, kind: AttemptKind): Promise<Attempt | null>;
  /**
   * Writes the rows of attempts that go out together, all or none: the store is waited for once, not once each. A row
   * of the same number, left by a submit that never was, starts anew.
   */
  openAttempt(...attempts: readonly NewAttempt[]): Promise<void>;
  /** The same within a transaction of this store that another part of the process has begun. */
  openAttemptIn(trx: unknown, ...attempts: readonly NewAttempt[]): Promise<void>;
  changeAttempt(intentKey: string, change: AttemptChange): Promise<void>;
  /** Oldest first. */
  unsettled(limit: number): Promise<Attempt[]>;
  /**
   * What duties that came to an end since `sinceMs` have lost by their receipts, and what those under way may lose at
   * the most. USDG base units.
   */
  dutyLoss(sinceMs: number): Promise<bigint>;
  /** Transactions of work on a foreign contract: those under way, and those that came on chain since `sinceMs`. */
  foreignRuns(contract: Address, sinceMs: number): Promise<ForeignRuns>;
  decide(jobKey: string, decision: Decision): Promise<void>;
  /** Timelines of every order whose id is `id`, oldest line first. */
  timeline(
    id: string,
  ): Promise<
    { jobKey: string; decisions: Selectable<DecisionRow>[]; attempts: Selectable<AttemptRow>[] }[]
  >;
  /** Decisions taken or repeated at or after `sinceMs`, at most 500, oldest first. */
  since(sinceMs: number): Promise<Selectable<DecisionRow>[]>;
  /** Gas of the newest transactions that carried one job each, newest first, at most `limit`. */
  recentGas(limit: number): Promise<bigint[]>;
  /** Deletes decisions and job memories older than `beforeMs`, and settled attempts older than `attemptsBeforeMs`. */
  prune(beforeMs: number, attemptsBeforeMs: number): Promise<void>;
};

export function createJournal(
  db: Kysely<KeeperTables>,
  now: () => number = Date.now,
  fence: Fence = unfenced,
): Journal {
  type Work = (trx: Transaction<KeeperTables>) => Promise<void>;
  const write = (work: Work): Promise<void> => fenced(db, fence, work);
  /** What changes something by one statement. */
  const writeOne = (work: Work): Promise<void> => fenced(db, fence, work, { single: true });
  // The next line's number follows from the last line: PostgreSQL would let two of one job read the same last one.
  const turn = inTurnByKey();
  const jobs = reader((keys) => readJobs(db, keys));
  const attempts = new Map<AttemptKind, DataLoader<string, Attempt | null>>();
  const lastOf = (kind: AttemptKind): DataLoader<string, Attempt | null> => {
    const known = attempts.get(kind) ?? reader((keys) => lastAttempts(db, kind, keys));
    attempts.set(kind, known);
    return known;
  };
  return {
    readJob: (jobKey) => jobs.load(jobKey),

    async writeJob(jobKey, { type, ticker, patience, gas }) {
      await writeOne(async (trx) => {
        const values = {
          updated_ms: now(),
          patience: JSON.stringify(patience),
          gas: gas?.toString() ?? null,
        };
        await trx
          .insertInto('keeper_jobs')
          .values({ job_key: jobKey, job_type: type, ticker, first_seen_ms: now(), ...values })
          .onConflict((conflict) => conflict.column('job_key').doUpdateSet(values))
          .execute();
      });
    },

    lastAttempt: (jobKey, kind) => lastOf(kind).load(jobKey),

    async openAttempt(...attempts) {
      await writeOne(async (trx) => {
        await insertAttempts(trx, attempts, now());
      });
    },

    async openAttemptIn(trx, ...attempts) {
      await insertAttempts(trx as Transaction<KeeperTables>, attempts, now());
    },

    async changeAttempt(intentKey, change) {
      await writeOne(async (trx) => {
        const text = (value: bigint | null) => (value === null ? null : value.toString());
        await trx
          .updateTable('keeper_attempts')
          .set({
            outcome: change.outcome,
            updated_ms: now(),
            ...(change.hash === undefined ? {} : { tx_hash: change.hash }),
            ...(change.feeUsdg === undefined ? {} : { fee_usdg: text(change.feeUsdg) }),
            ...(change.gasUsed === undefined ? {} : { gas_used: text(change.gasUsed) }),
            ...(change.gasPriceWei === undefined
              ? {}
              : { gas_price_wei: text(change.gasPriceWei) }),
            ...(change.gasL1 === undefined ? {} : { gas_l1: text(change.gasL1) }),
            ...(change.wallet === undefined ? {} : { wallet: change.wallet }),
            ...(change.costUsdg === undefined ? {} : { cost_usdg: text(change.costUsdg) }),
            ...(change.settled === undefined ? {} : { settled: change.settled ? 1 : 0 }),
          })
          .where('intent_key', '=', intentKey)
          .execute();
      });
    },

    async unsettled(limit) {
      const rows = await db
        .selectFrom('keeper_attempts')
        .selectAll()
        .where('settled', '=', 0)
        .orderBy('created_ms')
        .limit(limit)
        .execute();
      return rows.map(attemptOf);
    },

    dutyLoss: (sinceMs) => readDutyLoss(db, sinceMs),
    foreignRuns: (contract, sinceMs) => readForeignRuns(db, contract, sinceMs),

    decide: (jobKey, { decision, detail, hash = null }) =>
      turn(jobKey, () =>
        writeOne(async (trx) => {
          const at = now();
          const short = detail.slice(0, MAX_DETAIL);
          const last = await trx
            .selectFrom('keeper_decisions')
            .selectAll()
            .where('job_key', '=', jobKey)
            .orderBy('seq', 'desc')
            .limit(1)
            .executeTakeFirst();
          if (last !== undefined && last.decision === decision && last.tx_hash === hash) {
            // The newest words of a repeated decision are the ones worth reading.
            await trx
              .updateTable('keeper_decisions')
              .set({ last_ms: at, repeats: last.repeats + 1, detail: short })
              .where('job_key', '=', jobKey)
              .where('seq', '=', last.seq)
              .execute();
            return;
          }
          const seq = (last?.seq ?? 0) + 1;
          await trx
            .insertInto('keeper_decisions')
            .values({
              job_key: jobKey,
              seq,
              first_ms: at,
              last_ms: at,
              repeats: 1,
              decision,
              detail: short,
              tx_hash: hash,
            })
            .execute();
          if (seq > MAX_DECISIONS_PER_JOB) {
            await trx
              .deleteFrom('keeper_decisions')
              .where('job_key', '=', jobKey)
              .where('seq', '<=', seq - MAX_DECISIONS_PER_JOB)
              .execute();
          }
        }),
      ),

    async timeline(id) {
      const like = `%:${id.toLowerCase()}`;
      const decisions = await db
        .selectFrom('keeper_decisions')
        .selectAll()
        .where('job_key', 'like', like)
        .orderBy('job_key')
        .orderBy('seq')
        .execute();
      const attempts = await db
        .selectFrom('keeper_attempts')
        .selectAll()
        .where('job_key', 'like', like)
        .orderBy('created_ms')
        .execute();
      const keys = [...new Set([...decisions, ...attempts].map((row) => row.job_key))];
      return keys.map((jobKey) => ({
        jobKey,
        decisions: decisions.filter((row) => row.job_key === jobKey),
        attempts: attempts.filter((row) => row.job_key === jobKey),
      }));
    },

    since: (sinceMs) =>
      db
        .selectFrom('keeper_decisions')
        .selectAll()
        .where('last_ms', '>=', sinceMs)
        .orderBy('last_ms')
        .limit(500)
        .execute(),

    async recentGas(limit) {
      const rows = await db
        .selectFrom('keeper_attempts')
        .select('gas_used')
        .where('outcome', '=', 'mined')
        .where('carrier', 'is', null)
        .orderBy('updated_ms', 'desc')
        .limit(limit)
        .execute();
      return rows.flatMap(({ gas_used }) => (gas_used === null ? [] : [BigInt(gas_used)]));
    },

    async prune(beforeMs, attemptsBeforeMs) {
      await write(async (trx) => {
        await trx.deleteFrom('keeper_decisions').where('last_ms', '<', beforeMs).execute();
        await trx.deleteFrom('keeper_jobs').where('updated_ms', '<', beforeMs).execute();
        await trx
          .deleteFrom('keeper_attempts')
          .where('settled', '=', 1)
          .where('updated_ms', '<', attemptsBeforeMs)
          .execute();
      });
    },
  };
}

/** In one statement: of a hundred fills each would be one of its own. */
async function insertAttempts(
  trx: Transaction<KeeperTables>,
  attempts: readonly NewAttempt[],
  nowMs: number,
): Promise<void> {
  const rows = attempts.map(({ intentKey, jobKey, kind, attempt, promisedUsdg, ...more }) => ({
    intent_key: intentKey,
    job_key: jobKey,
    kind,
    attempt,
    work_type: more.workType,
    ticker: more.ticker,
    duty: more.duty ? 1 : 0,
    expected_usdg: more.expectedUsdg.toString(),
    at_risk_usdg: more.atRiskUsdg?.toString() ?? null,
    least_usdg: more.leastUsdg?.toString() ?? null,
    carrier: more.carrier === undefined ? null : JSON.stringify(more.carrier),
    promised_usdg: promisedUsdg.toString(),
    ...UNSENT,
    created_ms: nowMs,
    updated_ms: nowMs,
  }));
  if (rows.length === 0) return;
  await trx
    .insertInto('keeper_attempts')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .column('intent_key')
        .doUpdateSet((eb) =>
          Object.fromEntries(BEGUN_ANEW.map((column) => [column, eb.ref(`excluded.${column}`)])),
        ),
    )
    .execute();
}

/** Of an attempt that is about to be handed to the sender. */
const UNSENT = {
  wallet: null,
  gas_l1: null,
  outcome: 'submitting',
  tx_hash: null,
  fee_usdg: null,
  gas_used: null,
  gas_price_wei: null,
  cost_usdg: null,
  settled: 0,
};

/** What a row takes over from one of the same number that is written again. */
const BEGUN_ANEW = [
  'work_type',
  'ticker',
  'duty',
  'expected_usdg',
  'at_risk_usdg',
  'least_usdg',
  'carrier',
  'promised_usdg',
  'created_ms',
  'updated_ms',
  'wallet',
  'gas_l1',
  'outcome',
  'tx_hash',
  'fee_usdg',
  'gas_used',
  'gas_price_wei',
  'cost_usdg',
  'settled',
] as const;
