/** The keeper's settings: its own options and the groups of the runtime. */
import { z } from 'zod';
import {
  addressOption,
  baseUrlListOption,
  booleanOption,
  chainOptions,
  decimalOption,
  intOption,
  loadConfig,
  logOptions,
  option,
  portOption,
  storeOptions,
} from '../runtime/config.ts';
import { httpOptions } from '../runtime/http/server.ts';
import { keyOptions } from '../runtime/keys/wallets.ts';
import { senderOptions } from '../runtime/sender/options.ts';
import { DISCOVERY_MODES } from './discovery/plug.ts';
import { cronOption } from '../runtime/timed-jobs.ts';

export const keeperOptions = z.object({
  KEEPER_PORT: option(portOption.default(8082), {
    description: 'Port of the keeper: /health, /ready, /metrics.',
    example: '8082',
  }),
  API_URLS: option(baseUrlListOption.default(['http://127.0.0.1:8080']), {
    description: 'APIs whose /v1/jobs is executed, comma-separated; none of them is trusted.',
    example: 'http://127.0.0.1:8080',
  }),
  KEEPER_POLL_MS: option(intOption(100, 60_000).default(1_000), {
    description:
      'Time between the end of one tick and the start of the next, in milliseconds; an API that tells of other due jobs is looked at at once, and no more than once a second while all that it listed is under way.',
    example: '1000',
  }),
  KEEPER_SOURCE_TIMEOUT_MS: option(intOption(100, 60_000).default(5_000), {
    description: 'Deadline of one request to an API, body included, in milliseconds.',
    example: '5000',
  }),
  KEEPER_CONCURRENCY: option(intOption(1, 32).default(4), {
    description:
      'Questions to the node, and transactions on their way to it, at once: each of one job, or of as many fills as KEEPER_BATCH_MAX.',
    example: '4',
  }),
  KEEPER_MAX_JOBS: option(intOption(1, 5_000).default(500), {
    description: 'Jobs read of one answer; the rest is dropped and counted.',
    example: '500',
  }),
  KEEPER_MIN_PROFIT_USDG: option(decimalOption(0, 1_000).default(0.01), {
    description: 'Least that a fee must leave after gas, in dollars.',
    example: '0.01',
  }),
  KEEPER_MARGIN_PERCENT: option(intOption(0, 1_000).default(10), {
    description: 'What a fee must leave after gas, in percent of the gas cost.',
    example: '10',
  }),
  KEEPER_GAS_PRICE_HEADROOM_PERCENT: option(intOption(0, 1_000).default(25), {
    description:
      'How much the gas price may rise until inclusion, in percent, when a fee is judged.',
    example: '25',
  }),
  KEEPER_FEE_TOLERANCE_BPS: option(intOption(0, 10_000).default(100), {
    description: 'How far the simulated fee may lie below the promised one, in bps.',
    example: '100',
  }),
  KEEPER_DUTY_BUDGET_USDG: option(decimalOption(0, 1_000).default(1), {
    description:
      "What cover snapshots, settlements, voids and payouts that do not pay for their gas may cost in a week, in dollars: others' money depends on them.",
    example: '1',
  }),
  KEEPER_BATCH_MAX: option(intOption(1, 50).default(10), {
    description:
      'Most fills that are simulated in one question and go into one transaction, where that is cheaper than one each; 1 sends each by itself.',
    example: '10',
  }),
  KEEPER_ALLOW_LIST_FILE: option(z.string().min(1).optional(), {
    description:
      'File of contracts that are not ours whose jobs are executed too: {"contracts":[{"address":"0x…","selectors":["0x…"]}]}.',
    example: '.data/allow-list.json',
  }),
  KEEPER_FOREIGN_LOSSES: option(intOption(1, 1_000).default(3), {
    description:
      'So many losing transactions of one contract of the allow-list within 24 hours stop all of its work: reverted, paid less than simulated, or less than their gas.',
    example: '3',
  }),
  KEEPER_FOREIGN_LOSS_USDG: option(decimalOption(0, 10_000).default(5), {
    description:
      'What work of one contract of the allow-list may lose within 24 hours, fees less gas, in dollars, before all of it stops; no single transaction of it may cost more.',
    example: '5',
  }),
  KEEPER_DISCOVERY: option(z.enum(DISCOVERY_MODES).default('fallback'), {
    description:
      'Whether the keeper finds work on the chain itself: off, fallback (only while no API answers) or always.',
    example: 'fallback',
  }),
  KEEPER_DISCOVERY_MS: option(intOption(200, 60_000).default(4_000), {
    description:
      'Time between two looks at the chain of its own discovery while nothing is due, in milliseconds.',
    example: '4000',
  }),
  KEEPER_ARM: option(booleanOption.default(true), {
    description: 'Whether to arm orders whose fill misses its floor.',
    example: 'true',
  }),
  KEEPER_LOW_ETH_TRANSACTIONS: option(intOption(1, 100_000).default(20), {
    description:
      'A wallet whose ETH is good for fewer transactions than this is warned of, and topped up where that is on.',
    example: '20',
  }),
  KEEPER_SWEEP_TO: option(addressOption.optional(), {
    description:
      'Cold address to which USDG above the float is sent; absent: nothing is swept. Not a wallet of this keeper.',
    example: '0x000000000000000000000000000000000000c01d',
  }),
  KEEPER_FLOAT_USDG: option(decimalOption(0, 1_000_000).default(10), {
    description: 'USDG that stays in a wallet when it is swept, in dollars.',
    example: '10',
  }),
  KEEPER_SWEEP_LEAST_USDG: option(decimalOption(0.01, 1_000_000).default(10), {
    description: 'Less than this above the float is not swept, in dollars.',
    example: '10',
  }),
  KEEPER_SWEEP_EVERY_HOURS: option(intOption(1, 8_760).default(24), {
    description: 'Least time from one sweep of a wallet to the next, in hours.',
    example: '24',
  }),
  KEEPER_SWEEP_CRON: option(cronOption.default('17 * * * *'), {
    description: 'When a sweep is looked for: a cron expression, UTC.',
    example: '17 * * * *',
  }),
  KEEPER_TOPUP_DAILY_USDG: option(decimalOption(0, 10_000).default(0), {
    description:
      'Most earned USDG that may be swapped for ETH in a day, in dollars, when a wallet runs out of it; 0: none.',
    example: '0',
  }),
  KEEPER_TOPUP_USDG: option(decimalOption(1, 10_000).default(5), {
    description: 'Most that one top-up swaps, in dollars.',
    example: '5',
  }),
  KEEPER_TOPUP_SLIPPAGE_BPS: option(intOption(0, 300).default(100), {
    description:
      "How far a top-up may bring less ETH than the oracle's price says, in bps, pool fee included.",
    example: '100',
  }),
  KEEPER_BALANCE_CRON: option(cronOption.default('*/5 * * * *'), {
    description: 'When balances are looked at, and topped up: a cron expression, UTC.',
    example: '*/5 * * * *',
  }),
  KEEPER_STATEMENT_CRON: option(cronOption.default('0 0 * * 1'), {
    description: "When the last seven days' statement is logged: a cron expression, UTC.",
    example: '0 0 * * 1',
  }),
  KEEPER_HEAD_MAX_AGE_MS: option(intOption(1_000, 3_600_000).default(30_000), {
    description:
      'Not ready when the head of the chain has not advanced for this long, in milliseconds.',
    example: '30000',
  }),
  KEEPER_RECORD_FILE: option(z.string().min(1).optional(), {
    description:
      'Where what the APIs list and what comes of it is recorded, for `keeper backtest`; absent: nowhere.',
    example: '.data/keeper-recording.ndjson',
  }),
  KEEPER_RECORD_MAX_MB: option(intOption(1, 100_000).default(100), {
    description: 'Most that the recording and the part before it take on disk, in megabytes.',
    example: '100',
  }),
  KEEPER_DRAIN_MS: option(intOption(0, 15_000).default(8_000), {
    description:
      'How long a stop waits for transactions in flight, in milliseconds; the journal carries the rest.',
    example: '8000',
  }),
});

export const keeperConfigSchema = z.object({
  ...logOptions.shape,
  ...chainOptions.shape,
  ...storeOptions.shape,
  ...httpOptions.shape,
  ...keyOptions.shape,
  ...senderOptions.shape,
  ...keeperOptions.shape,
});

export type KeeperConfig = Readonly<z.infer<typeof keeperConfigSchema>>;

/** @throws ConfigError naming every wrong variable. */
export function loadKeeperConfig(env: NodeJS.ProcessEnv = process.env): KeeperConfig {
  return loadConfig(keeperConfigSchema, env);
}

/** SQLite file of the keeper when DATABASE_URL is not set. */
export const DEFAULT_DATABASE_URL = 'file:.data/keeper.sqlite';

/** Of the lead and, on SQLite, of the file: one keeper at a time sends from a journal. */
export const LEAD_NAME = 'keeper-sender';
