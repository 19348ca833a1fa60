/** What a relayer does with its own money by the clock, and when a command asks for it. Only the one that sends does. */
import type { Kysely } from 'kysely';
import type { Address, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { createReceiptReader } from '../../runtime/chain/receipt.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { createMoves } from '../../runtime/money/moves.ts';
import { senderSettings } from '../../runtime/sender/options.ts';
import type { Sender } from '../../runtime/sender/types.ts';
import { type Fence, unfenced } from '../../runtime/store/lead.ts';
import { createTimedJobs, type TimedJobs } from '../../runtime/timed-jobs.ts';
import type { MarksReader } from '../chain/marks.ts';
import { pruneRelay } from '../pruning.ts';
import type { RelayerConfig } from '../config.ts';
import type { StoreTables } from '../store.ts';
import { fundRulesOf, sweepRulesOf } from './options.ts';
import { createPurse, type Purse } from './purse.ts';
import { answerSweep, pendingSweep } from './requests.ts';

export type MoneyDeps = {
  config: RelayerConfig;
  deployment: Deployment;
  client: PublicClient;
  db: Kysely<StoreTables>;
  /** Of the lead under which the sender writes. */
  fence?: Fence;
  sender: Sender;
  wallets: readonly Address[];
  treasury: Address | null;
  marks: Pick<MarksReader, 'read'>;
  metrics: Metrics;
  logger: Logger;
  /** How long one transaction is waited for; what takes longer is taken up in the next round. */
  waitMs?: number;
};

/** Short: a stop waits for what runs. */
const MOVE_WAIT_MS = 4_000;

export type Housekeeping = TimedJobs & {
  purse: Purse;
  /** For `/ready`: which wallets run out of ETH, in words; null when none does. */
  warning: () => string | null;
};

export function createPurseOf(deps: MoneyDeps): Purse {
  const { config, deployment, client, db, sender, marks, metrics } = deps;
  const logger = deps.logger.child({ module: 'money' });
  let ethPrice: bigint | null = null;
  const refreshPrice = async () => {
    try {
      ({ ethPrice } = await marks.read());
    } catch (err) {
      // Expected of an oracle without a price: moves count in ETH alone until it has one.
      logger.debug({ err }, 'the ETH price is not known');
    }
  };
  const usdg = metrics.gauge('usdg_balance', 'USDG of a wallet, in dollars.', ['wallet']);
  const low = metrics.gauge('wallets_low', 'Wallets that run out of ETH.');
  return createPurse({
    context: {
      moves: createMoves(db, {
        table: 'relay_moves',
        now: Date.now,
        fence: deps.fence ?? unfenced,
      }),
      sender,
      receipts: { receipt: createReceiptReader(client, config.RPC_TIMEOUT_MS) },
      metrics: {
        moves: metrics.counter(
          'moves_total',
          "Transactions of the relayer's own money (sweep, fund) by how they ended.",
          ['kind', 'outcome'],
        ),
      },
      logger,
      usdg: deployment.usdg,
      swap: null,
      ethPrice: () => ethPrice,
      waitMs: deps.waitMs ?? MOVE_WAIT_MS,
      now: Date.now,
    },
    client,
    deployment,
    wallets: deps.wallets,
    treasury: deps.treasury,
    fundRules: fundRulesOf(config),
    sweepTo: config.RELAY_SWEEP_TO ?? null,
    tipWei: senderSettings(config).tip,
    refreshPrice,
    timeoutMs: config.RPC_TIMEOUT_MS,
    onUsdg: (wallet, amount) => usdg.set({ wallet }, Number(amount) / 1e6),
    onLow: (wallets) => low.set(wallets),
  });
}

export function createHousekeeping(
  deps: MoneyDeps & {
    /** Asked before each run: of several relayers the one that leads moves money. */
    leads: () => boolean;
  },
): Housekeeping {
  const { config, db, leads } = deps;
  const logger = deps.logger.child({ module: 'housekeeping' });
  const purse = createPurseOf(deps);
  const whileLeading = (run: () => Promise<void>) => async (): Promise<void> => {
    if (leads()) await run();
  };
  const jobs = createTimedJobs(
    [
      {
        name: 'balances',
        expression: config.RELAY_BALANCE_CRON,
        run: whileLeading(() => purse.look()),
      },
      {
        name: 'sweep',
        expression: config.RELAY_SWEEP_CRON,
        run: whileLeading(async () => {
          if (config.RELAY_SWEEP_TO !== undefined) await purse.sweep(sweepRulesOf(config));
        }),
      },
      {
        name: 'requests',
        expression: '*/2 * * * * *',
        run: whileLeading(async () => {
          const askedAt = await pendingSweep(db);
          if (askedAt === null) return;
          const lines = await purse.sweep({ ...sweepRulesOf(config), periodMs: 0 });
          await answerSweep(db, askedAt, lines.join('\n'));
        }),
      },
      {
        name: 'prune',
        expression: '41 * * * *',
        run: whileLeading(async () => {
          const gone = await pruneRelay(db, { now: Date.now(), fence: deps.fence ?? unfenced });
          if (gone.intents + gone.books + gone.slots > 0) logger.info(gone, 'old rows are gone');
        }),
      },
    ],
    logger,
    {
      housekeeping: deps.metrics.counter(
        'housekeeping_total',
        'Runs of the timed jobs, by result.',
        ['task', 'result'],
      ),
    },
  );
  // What a leader saw last says nothing once another one leads.
  return { ...jobs, purse, warning: () => (leads() ? purse.warning() : null) };
}
