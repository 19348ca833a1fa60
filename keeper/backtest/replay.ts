/**
 * Replays a recording under a policy: for each tick that was recorded the scratch Anvil is set back to the block at
 * which the keeper looked, and the keeper's own tick (firewall, simulation, policy, send) runs there on what the sources
 * had listed, at the time it was then. What the policy sent stays in its journal, so nothing is executed twice though
 * the chain of a later block does not know of it.
 */
import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Selectable } from 'kysely';
import type { Address, PublicClient } from 'viem';
import { type Deployment, readDeployment } from '../../contracts-abi/deployment.ts';
import { createChainClient } from '../../runtime/chain/client.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { senderSettings } from '../../runtime/sender/options.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { createOrderReader } from '../chain/order.ts';
import { createSimulator } from '../chain/simulate.ts';
import { createWorldView, type WorldView } from '../chain/world.ts';
import type { KeeperConfig } from '../config.ts';
import type { KeeperContext } from '../context.ts';
import { createDistrust } from '../distrust.ts';
import { type ForeignContracts, readKnownProtocol } from '../firewall/known-protocol.ts';
import { createJournal } from '../journal/journal.ts';
import { type AttemptRow, type StoreTables, storeMigrations } from '../journal/migrations.ts';
import { createMemories } from '../memory.ts';
import { createKeeperMetrics } from '../metrics.ts';
import { PATIENCE_RULES } from '../policy/patience.ts';
import { policyOf } from '../rules.ts';
import { parseJobs } from '../source/job.ts';
import type { SourceAnswer } from '../source/job-source.ts';
import { parsePayouts } from '../source/payout.ts';
import { createTicker, type Ticker } from '../tick.ts';
import { workKeyOf } from '../work.ts';
import { parseLine, type PolicySettings, type SessionLine, type TickLine } from './lines.ts';
import { createReplaySender } from './replay-sender.ts';
import { type Attempted, type PolicyResult, resultOf } from './result.ts';
import { anvilRequest, assertScratchAnvil, BacktestError, resetTo } from './scratch-anvil.ts';

const MEMORY_CAPACITY = 100_000;

export type Backtest = {
  recorded: PolicyResult;
  replayed: PolicyResult;
  recordedPolicy: PolicySettings;
  ticks: number;
  /** Ticks in which the policy had nothing to look at: the lists were as before and every job was still waiting. */
  idleTicks: number;
  /** Lines that are none. */
  torn: number;
};

/**
 * @param config what the replay decides with; its RPC_URLS are only compared with `anvilUrl`
 * @param asRecorded the settings of the recording's own policy replace those of `config`
 * @throws BacktestError
 */
export async function runBacktest(options: {
  file: string;
  anvilUrl: string;
  config: KeeperConfig;
  foreign: ForeignContracts;
  asRecorded: boolean;
  logger: Logger;
}): Promise<Backtest> {
  const { file, anvilUrl, config } = options;
  const client = createChainClient({
    urls: [anvilUrl],
    timeoutMs: Math.max(config.RPC_TIMEOUT_MS, 30_000),
    multicall3: readDeployment(config.DEPLOYMENT_FILE).multicall3,
  });
  await assertScratchAnvil(client, anvilUrl, config.RPC_URLS);
  const store = await openStore<StoreTables>({ url: 'file::memory:', migrations: storeMigrations });
  try {
    return await replayAll({ ...options, files: filesOf(file), client, store });
  } finally {
    await store.close();
  }
}

/** The older part first, where there is one. */
function filesOf(file: string): string[] {
  if (!existsSync(file)) throw new BacktestError(`there is no recording at ${file}`);
  return existsSync(`${file}.1`) ? [`${file}.1`, file] : [file];
}

type Parts = {
  files: readonly string[];
  config: KeeperConfig;
  foreign: ForeignContracts;
  asRecorded: boolean;
  logger: Logger;
  client: PublicClient;
  store: Store<StoreTables>;
};

async function replayAll(parts: Parts): Promise<Backtest> {
  const recorded: Attempted[] = [];
  const decisions = new Map<string, string>();
  const listed = new Set<string>();
  let session: SessionLine | null = null;
  let replay: Replay | null = null;
  let answers: SourceAnswer[] = [];
  let ticks = 0;
  let idleTicks = 0;
  let torn = 0;
  for (const file of parts.files) {
    for await (const text of createInterface({
      input: createReadStream(file),
      crlfDelay: Infinity,
    })) {
      if (text === '') continue;
      const line = parseLine(text);
      if (line === null) {
        torn += 1;
        continue;
      }
      switch (line.t) {
        case 'session':
          if (session !== null && session.executor !== line.executor) {
            throw new BacktestError('the recording holds sessions of two executors: split it');
          }
          session = line;
          break;
        case 'decision':
          decisions.set(line.job, line.decision);
          break;
        case 'outcome':
          recorded.push({
            ...line,
            feeUsdg: BigInt(line.fee ?? 0),
            gasUsed: BigInt(line.gas ?? 0),
            gasL1: line.gasL1 === null ? null : BigInt(line.gasL1),
            costUsdg: line.cost === null ? null : BigInt(line.cost),
          });
          break;
        case 'tick': {
          if (session === null) {
            torn += 1;
            break;
          }
          const isNew = line.answers !== undefined;
          if (line.answers !== undefined) answers = answersOf(line.answers);
          replay ??= createReplay(parts, session);
          for (const { key } of keysOf(answers)) listed.add(key);
          ticks += 1;
          if (!(await replay.tick(line, answers, isNew))) idleTicks += 1;
          break;
        }
      }
    }
  }
  if (session === null) throw new BacktestError('the file is no recording');
  return {
    recorded: resultOf(recorded, decisions, listed),
    replayed: await replayedResult(parts.store, listed),
    recordedPolicy: session.policy,
    ticks,
    idleTicks,
    torn,
  };
}

/** Through the keeper's own parsers: a recording may come from elsewhere. */
function answersOf(told: NonNullable<TickLine['answers']>): SourceAnswer[] {
  return told.map(({ source, jobs, payouts }) => {
    const parsedJobs = parseJobs({ jobs }, jobs.length);
    const parsedPayouts = parsePayouts({ payouts }, payouts.length);
    return {
      tag: 'jobs',
      source,
      jobs: parsedJobs.tag === 'parsed' ? parsedJobs.entries : [],
      payouts: parsedPayouts.tag === 'parsed' ? parsedPayouts.entries : [],
      payoutFault: null,
      malformed: [],
      dropped: 0,
    };
  });
}

function keysOf(
  answers: readonly SourceAnswer[],
): { key: string; type: string; ticker: string | null }[] {
  return answers.flatMap((answer) =>
    answer.tag === 'failed'
      ? []
      : [
          ...answer.jobs.map(({ contract, id, type, ticker }) => ({
            key: workKeyOf(contract, id),
            type,
            ticker,
          })),
          ...answer.payouts.map(({ contract, id, type, ticker }) => ({
            key: workKeyOf(contract, id, type),
            type,
            ticker,
          })),
        ],
  );
}

type Replay = {
  /** False when nothing was to be looked at. */
  tick(line: TickLine, answers: readonly SourceAnswer[], isNew: boolean): Promise<boolean>;
};

function createReplay(parts: Parts, session: SessionLine): Replay {
  const { client, store, logger } = parts;
  const config = parts.asRecorded ? { ...parts.config, ...session.policy } : parts.config;
  const { executor } = session;
  const deployment = readDeployment(config.DEPLOYMENT_FILE);
  const tipWei = senderSettings(config).tip;
  let nowMs = session.at;
  const now = (): number => nowMs;
  const context = contextOf({ config, deployment, executor, client, store, logger, tipWei, now });
  let world: WorldView | null = null;
  let answers: readonly SourceAnswer[] = [];
  let known: Awaited<ReturnType<typeof readKnownProtocol>> | null = null;
  let ticker: Ticker | null = null;
  const distrust = createDistrust({ logger, metrics: context.metrics, now, own: session.own });

  const isIdle = async (): Promise<boolean> => {
    for (const { key, type, ticker } of keysOf(answers)) {
      const { patience } = await context.memories.recall(key, { type, ticker });
      if (Math.max(patience.notBeforeMs, patience.quarantine?.untilMs ?? 0) <= nowMs) return false;
    }
    return true;
  };

  return {
    async tick(line, told, isNew) {
      nowMs = Math.max(nowMs, line.at);
      answers = told;
      if ((!isNew || keysOf(answers).length === 0) && (await isIdle())) return false;
      await resetTo(client, BigInt(line.block), executor);
      // Anvil has forgotten the blocks of before: nothing that was read of them may be used.
      const fresh = createWorldView({
        client,
        oracle: deployment.oracle,
        tipWei,
        timeoutMs: 60_000,
        now,
      });
      world = fresh;
      if ((await fresh.read(0)) === null) {
        throw new BacktestError(
          `the chain cannot be read at block ${line.block} (${fresh.status().fault}): the node behind the Anvil must keep past states`,
        );
      }
      known ??= await readKnownProtocol(client, deployment, parts.foreign);
      ticker ??= createTicker({
        context: { ...context, distrust: (source, what) => distrust.strike(source, what) },
        world: {
          read: async (maxAgeMs) => (await world?.read(maxAgeMs)) ?? null,
          status: () => (world ?? fresh).status(),
        },
        protocol: {
          known: () => known ?? unread(),
          refresh: async () => {
            known = await readKnownProtocol(client, deployment, parts.foreign);
          },
        },
        poll: async () => answers.filter(({ source }) => !distrust.isDropped(source)),
        distrust,
        // One after the other: a replay of the same recording comes to the same result.
        concurrency: 1,
      });
      await ticker.tick(new AbortController().signal);
      await anvilRequest(client, 'anvil_stopImpersonatingAccount', [executor]);
      return true;
    },
  };
}

function unread(): never {
  throw new BacktestError('the registry was not read');
}

function contextOf(given: {
  config: KeeperConfig;
  deployment: Deployment;
  executor: Address;
  client: PublicClient;
  store: Store<StoreTables>;
  logger: Logger;
  tipWei: bigint;
  now: () => number;
}): KeeperContext {
  const { config, deployment, executor, client, store, logger, tipWei, now } = given;
  const { usdg, multicall3 } = deployment;
  const timeoutMs = 60_000;
  const journal = createJournal(store.db, now);
  return {
    logger,
    metrics: createKeeperMetrics(createMetrics('keeper')),
    journal,
    memories: createMemories({ journal, rules: PATIENCE_RULES, capacity: MEMORY_CAPACITY, now }),
    sender: createReplaySender({ client, executor, tipWei, now }),
    simulator: createSimulator({ client, usdg, multicall3, timeoutMs }),
    orders: createOrderReader(client, timeoutMs),
    ...policyOf(config),
    patience: PATIENCE_RULES,
    executor,
    dutyTurn: (work) => work(),
    usdg,
    multicall3,
    distrust: () => undefined,
    dryRun: false,
    submitTimeoutMs: timeoutMs,
    now,
  };
}

async function replayedResult(
  store: Store<StoreTables>,
  listed: ReadonlySet<string>,
): Promise<PolicyResult> {
  const attempts = await store.db.selectFrom('keeper_attempts').selectAll().execute();
  const lines = await store.db
    .selectFrom('keeper_decisions')
    .select(['job_key', 'decision'])
    .orderBy('job_key')
    .orderBy('seq')
    .execute();
  const decisions = new Map(lines.map(({ job_key, decision }) => [job_key, decision]));
  return resultOf(attempts.map(attemptedOf), decisions, listed);
}

function attemptedOf(row: Selectable<AttemptRow>): Attempted {
  return {
    intent: row.intent_key,
    job: row.job_key,
    kind: row.kind,
    outcome: row.outcome,
    feeUsdg: BigInt(row.fee_usdg ?? 0),
    gasUsed: BigInt(row.gas_used ?? 0),
    gasL1: row.gas_l1 === null ? null : BigInt(row.gas_l1),
    costUsdg: row.cost_usdg === null ? null : BigInt(row.cost_usdg),
  };
}
