/** What a leading keeper does by the clock beside its loop. */
import type { Kysely } from 'kysely';
import type { Address, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { pruneSettled } from '../../runtime/sender/prune.ts';
import type { Fence } from '../../runtime/store/lead.ts';
import type { WorldView } from '../chain/world.ts';
import { usdgOf } from '../../runtime/config.ts';
import type { KeeperConfig } from '../config.ts';
import type { KeeperContext } from '../context.ts';
import type { StoreTables } from '../journal/migrations.ts';
import { createMoves } from '../../runtime/money/moves.ts';
import { readStatement } from '../money/statement.ts';
import { statementLine } from '../money/statement-text.ts';
import { createTreasury } from '../money/treasury.ts';
import { coverClock, readCoverMoments } from './cover-times.ts';
import { createTimedJobs, type TimedJob, type TimedJobs } from '../../runtime/timed-jobs.ts';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const HOUR_MS = 3_600_000;
/** Timelines are for finding out what happened lately. */
const KEEP_DECISIONS_MS = 30 * DAY_MS;
/** Attempts are the books: a year and a bit, so that last year's statement can be written. */
const KEEP_ATTEMPTS_MS = 400 * DAY_MS;
/** Longer than any attempt: an attempt whose intent is forgotten would be taken for one that was never sent. */
const KEEP_INTENTS_MS = KEEP_ATTEMPTS_MS + 30 * DAY_MS;
const MOVE_WAIT_MS = 15_000;

export type Housekeeping = TimedJobs & {
  /** For `/ready`: which wallets run out of ETH; null when none does. */
  warning(): string | null;
};

export type HousekeepingJob = 'balances' | 'sweep' | 'prune' | 'statement' | 'cover';

/** @param nudge ends the pause of the loop */
export function createHousekeeping(parts: {
  config: KeeperConfig;
  context: KeeperContext;
  client: PublicClient;
  deployment: Deployment;
  db: Kysely<StoreTables>;
  fence: Fence;
  world: WorldView;
  wallets: readonly Address[];
  nudge: () => void;
}): Housekeeping {
  const { config, context, client, deployment, db, fence, world } = parts;
  const { journal, now } = context;
  const logger = context.logger.child({ module: 'housekeeping' });
  const treasury = createTreasury({
    context: {
      moves: createMoves(db, { table: 'keeper_moves', now, fence }),
      sender: context.sender,
      receipts: context.orders,
      metrics: context.metrics,
      logger,
      usdg: deployment.usdg,
      swap: { weth: deployment.weth, router: deployment.swapRouter02 },
      ethPrice: () => world.status().world?.market.ethPrice ?? null,
      waitMs: MOVE_WAIT_MS,
      now,
    },
    client,
    deployment,
    journal,
    world,
    metrics: context.metrics,
    wallets: parts.wallets,
    timeoutMs: config.RPC_TIMEOUT_MS,
    lowTransactions: BigInt(config.KEEPER_LOW_ETH_TRANSACTIONS),
    gasPriceHeadroomBps: context.rules.gasPriceHeadroomBps,
    sweepTo: config.KEEPER_SWEEP_TO ?? null,
    sweepRules: {
      floatUsdg: usdgOf(config.KEEPER_FLOAT_USDG),
      leastUsdg: usdgOf(config.KEEPER_SWEEP_LEAST_USDG),
      periodMs: config.KEEPER_SWEEP_EVERY_HOURS * HOUR_MS,
    },
    topUpRules: {
      belowTransactions: BigInt(config.KEEPER_LOW_ETH_TRANSACTIONS),
      amountUsdg: usdgOf(config.KEEPER_TOPUP_USDG),
      dailyUsdg: usdgOf(config.KEEPER_TOPUP_DAILY_USDG),
      slippageBps: BigInt(config.KEEPER_TOPUP_SLIPPAGE_BPS),
    },
    dryRun: context.dryRun,
  });
  const jobs: { name: HousekeepingJob; expression: string; run: TimedJob['run'] }[] = [
    { name: 'balances', expression: config.KEEPER_BALANCE_CRON, run: () => treasury.look() },
    { name: 'sweep', expression: config.KEEPER_SWEEP_CRON, run: () => treasury.sweep() },
    {
      name: 'prune',
      expression: '41 * * * *',
      run: async () => {
        await journal.prune(now() - KEEP_DECISIONS_MS, now() - KEEP_ATTEMPTS_MS);
        await pruneSettled(db, { beforeMs: now() - KEEP_INTENTS_MS, fence });
      },
    },
    {
      name: 'statement',
      expression: config.KEEPER_STATEMENT_CRON,
      run: async () => {
        const statement = await readStatement(db, now() - WEEK_MS);
        logger.info(statementLine(statement), 'statement of the last seven days');
      },
    },
    {
      name: 'cover',
      expression: '* * * * *',
      run: coverClock({
        read: () => readCoverMoments(client, deployment.coverMarket, config.RPC_TIMEOUT_MS, now()),
        nudge: parts.nudge,
        logger,
        now,
      }),
    },
  ];
  const timed = createTimedJobs(
    context.dryRun ? jobs.filter(({ name }) => name !== 'sweep' && name !== 'prune') : jobs,
    logger,
    context.metrics,
  );
  return { ...timed, warning: () => treasury.warning() };
}
