/**
 * Replays a recording under a policy: for each tick that was recorded the scratch Anvil is set back to the block at
 * which the keeper looked, and the keeper's own tick (firewall, simulation, policy, send) runs there on what the sources
 * had listed, at the time it was then. What the policy sent stays in its journal, so nothing is executed twice though
 * the chain of a later block does not know of it.
 */
import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Selectable } from 'kysely';
import type { PublicClient } from 'viem';
import { readDeployment } from '../../contracts-abi/deployment.ts';
import { createChainClient } from '../../runtime/chain/client.ts';
import type { Logger } from '../../runtime/logger.ts';
import { senderSettings } from '../../runtime/sender/options.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { createWorldView, type WorldView } from '../chain/world.ts';
import type { KeeperConfig } from '../config.ts';
import { createDistrust } from '../distrust.ts';
import { type ForeignContracts, readKnownProtocol } from '../firewall/known-protocol.ts';
import { type AttemptRow, type StoreTables, storeMigrations } from '../journal/migrations.ts';
import type { SourceAnswer } from '../source/job-source.ts';
import { createTicker, type Ticker } from '../tick.ts';
import { parseLine, type PolicySettings, type SessionLine, type TickLine } from './lines.ts';
import { replayContext } from './replay-context.ts';
import { type Attempted, type PolicyResult, resultOf } from './result.ts';
import { answersOf, keysOf } from './told.ts';
import { anvilRequest, assertScratchAnvil, BacktestError, resetTo } from './scratch-anvil.ts';

/** A node that times out is asked so often. */
const MOST_TRIES = 3;
/** The longest that a job waits after its node did not answer (policy/patience.ts). */
const LONGEST_UNAVAILABLE_MS = 10_001;

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
  const told = resultOf(recorded, decisions, listed);
  return {
    recorded: told,
    // What nobody knows the recorded end of says nothing about a policy.
    replayed: await replayedResult(parts.store, listed, told.open),
    recordedPolicy: session.policy,
    ticks,
    idleTicks,
    torn,
  };
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
  const context = replayContext({
    config,
    deployment,
    executor,
    client,
    store,
    logger,
    tipWei,
    now,
  });
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

  /** The chain as it was at that block, read for the first time. */
  async function standAt(block: string): Promise<WorldView> {
    for (let tries = 1; ; tries += 1) {
      await resetTo(client, BigInt(block), executor);
      // Anvil has forgotten the blocks of before: nothing that was read of them may be used.
      const fresh = createWorldView({
        client,
        oracle: deployment.oracle,
        tipWei,
        timeoutMs: 60_000,
        now,
      });
      if ((await fresh.read(0)) !== null) return fresh;
      if (tries === MOST_TRIES) {
        throw new BacktestError(
          `the chain cannot be read at block ${block} (${fresh.status().fault}): the node behind the Anvil must keep past states`,
        );
      }
    }
  }

  async function wasUnanswered(): Promise<boolean> {
    const line = await store.db
      .selectFrom('keeper_decisions')
      .select('job_key')
      .where('decision', '=', 'unavailable')
      .where('last_ms', '=', nowMs)
      .executeTakeFirst();
    return line !== undefined;
  }

  return {
    async tick(line, told, isNew) {
      nowMs = Math.max(nowMs, line.at);
      answers = told;
      if ((!isNew || keysOf(answers).length === 0) && (await isIdle())) return false;
      const fresh = await standAt(line.block);
      world = fresh;
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
        // Its journal is in memory, and its result is read from it.
        isWatched: () => false,
        timelinesPerMinute: Number.POSITIVE_INFINITY,
      });
      await ticker.tick(new AbortController().signal);
      // What the node did not answer is no decision of the policy: it is asked again, on the chain as it stands now.
      for (let tries = 1; await wasUnanswered(); tries += 1) {
        if (tries === MOST_TRIES) {
          throw new BacktestError(
            `the Anvil does not answer at block ${line.block}: the node behind it must keep past states and keep up`,
          );
        }
        nowMs += LONGEST_UNAVAILABLE_MS;
        await ticker.tick(new AbortController().signal);
      }
      await anvilRequest(client, 'anvil_stopImpersonatingAccount', [executor]);
      return true;
    },
  };
}

function unread(): never {
  throw new BacktestError('the registry was not read');
}

async function replayedResult(
  store: Store<StoreTables>,
  listed: ReadonlySet<string>,
  leftOut: ReadonlySet<string>,
): Promise<PolicyResult> {
  const attempts = await store.db.selectFrom('keeper_attempts').selectAll().execute();
  const lines = await store.db
    .selectFrom('keeper_decisions')
    .select(['job_key', 'decision'])
    .orderBy('job_key')
    .orderBy('seq')
    .execute();
  const decisions = new Map(lines.map(({ job_key, decision }) => [job_key, decision]));
  return resultOf(attempts.map(attemptedOf), decisions, listed, leftOut);
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
