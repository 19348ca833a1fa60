/**
 * Writes down what a keeper is told and what comes of it, for a later replay under another policy. Recording costs no
 * RPC call but the look at the head that a tick takes anyway, and never fails a tick: what cannot be written is lost, and
 * that is said.
 */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import type { Logger } from '../../runtime/logger.ts';
import type { WorldView } from '../chain/world.ts';
import type { KeeperConfig } from '../config.ts';
import type { KeeperTables } from '../journal/migrations.ts';
import type { SourceAnswer } from '../source/job-source.ts';
import { Throttle } from '../../runtime/throttle.ts';
import type { Ticker } from '../tick.ts';
import { type Line, policySettings, wireJob, wirePayout } from './lines.ts';
import { createRecordFile } from './record-file.ts';

const MOST_DECISIONS = 1_000;

type Poll = (signal: AbortSignal) => Promise<SourceAnswer[]>;

export type Recorder = {
  /** The same poll, whose answers are recorded with the block at which they came. */
  poll(ask: Poll): Poll;
  /** The same ticker; what a tick decided and what has come to an end is recorded after it. */
  ticker(ticker: Ticker): Ticker;
  /** Records what came to an end since, and how what is mined and not final yet stands. */
  finish(): Promise<void>;
};

/** What it is given passes through untouched: where the settings name no file, and in a dry run. */
export const SILENT: Recorder = {
  poll: (ask) => ask,
  ticker: (ticker) => ticker,
  finish: async () => undefined,
};

export function createRecorder(options: {
  config: KeeperConfig;
  executor: Address;
  world: WorldView;
  db: Kysely<KeeperTables>;
  logger: Logger;
  now: () => number;
}): Recorder {
  const { config, executor, world, db, logger, now } = options;
  const { KEEPER_RECORD_FILE: path } = config;
  if (path === undefined) return SILENT;
  const maxBytes = config.KEEPER_RECORD_MAX_MB * 1_000_000;
  const policy = policySettings(config);
  const complaints = new Throttle(60_000, 10, now);
  const text = (line: Line): string => `${JSON.stringify(line)}\n`;
  const file = createRecordFile({
    path,
    maxBytes,
    head: () =>
      text({ t: 'session', v: 1, at: now(), executor, policy, own: config.API_URLS.length }),
  });
  let told: string | null = '[]';
  let sinceMs = now();

  async function guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // Expected: a full disk. The keeper earns without its recording.
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).name;
      if (complaints.lets('lost')) logger.warn({ path, why }, 'the recording loses lines');
    }
  }

  async function noteAnswers(answers: readonly SourceAnswer[]): Promise<void> {
    const lists = answers.flatMap((answer) =>
      answer.tag === 'failed'
        ? []
        : [
            {
              source: answer.source,
              jobs: answer.jobs.map(wireJob),
              payouts: answer.payouts.map(wirePayout),
            },
          ],
    );
    const isEmpty = lists.every(({ jobs, payouts }) => jobs.length + payouts.length === 0);
    const next = isEmpty ? '[]' : JSON.stringify(lists);
    if (isEmpty && told === '[]') return;
    // Read now, and used by the tick itself in a moment: the block that the jobs are judged at.
    const head = await world.read(0);
    if (head === null) return;
    const tick = { t: 'tick' as const, at: now(), block: head.blockNumber.toString() };
    const whole = text({ ...tick, answers: isEmpty ? [] : lists });
    const written = await file.append(next === told ? text(tick) : whole, () => whole);
    // After a list that was left out nothing is "as before" until one is written whole again.
    told = written ? next : null;
  }

  async function noteOutcomes(ending = false): Promise<void> {
    const from = sinceMs;
    sinceMs = now();
    const decisions = await db
      .selectFrom('keeper_decisions')
      .select(['job_key', 'decision', 'last_ms'])
      .where('last_ms', '>=', from)
      .orderBy('last_ms')
      .limit(MOST_DECISIONS)
      .execute();
    const attempts = await db
      .selectFrom('keeper_attempts')
      .selectAll()
      .where((is) => {
        const settled = is.and([is('settled', '=', 1), is('updated_ms', '>=', from)]);
        // Nobody may look at these again: what they come to is told as it is now. A later session tells it anew.
        const included = is.and([
          is('settled', '=', 0),
          is('outcome', 'in', ['mined', 'reverted']),
          is('fee_usdg', 'is not', null),
        ]);
        return ending ? is.or([settled, included]) : settled;
      })
      .orderBy('updated_ms')
      .execute();
    const lines: Line[] = [
      ...decisions.map(({ job_key, decision, last_ms }) => ({
        t: 'decision' as const,
        at: last_ms,
        job: job_key,
        decision,
      })),
      ...attempts.map((row) => ({
        t: 'outcome' as const,
        at: row.updated_ms,
        intent: row.intent_key,
        job: row.job_key,
        kind: row.kind,
        outcome: row.outcome,
        hash: row.tx_hash,
        fee: row.fee_usdg,
        gas: row.gas_used,
        gasL1: row.gas_l1,
        cost: row.cost_usdg,
      })),
    ];
    for (const line of lines) await file.append(text(line));
  }

  return {
    poll: (ask) => async (signal) => {
      const answers = await ask(signal);
      if (!signal.aborted) await guarded(() => noteAnswers(answers));
      return answers;
    },
    ticker: (ticker) => ({
      ...ticker,
      tick: async (signal) => {
        try {
          await ticker.tick(signal);
        } finally {
          await guarded(() => noteOutcomes());
        }
      },
    }),
    finish: () => guarded(() => noteOutcomes(true)),
  };
}
