/**
 * The relayer's soak: agents trade through it with the exported client, without a pause, while it is killed at random
 * moments, and their own process now and then. What must hold at the end, by the chain's events: every action that was
 * accepted ran exactly once or is known never to run; every nonce is accounted for; the books equal the balances; no
 * gas was lost on a revert. With two replicas both share one PostgreSQL, each is killed in its turn.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Hex } from 'viem';
import { USD } from '../../contracts-abi/constants.ts';
import { intentKey } from '../../relayer/slots.ts';
import { besideRelayer } from '../../relayer/store.ts';
import { openAgents } from '../bench/relay/actions.ts';
import { devAccount } from '../chain/seed/accounts.ts';
import { forkOn } from '../harness/chain-handle.ts';
import { startPostgres } from '../harness/postgres-server.ts';
import { Histogram } from '../kills/journal.ts';
import { startChild } from '../start/children.ts';
import { judge, readJournals, readRuns } from './actions-judge.ts';
import type { AgentsSetUp } from './agents-entry.ts';
import { startBlocks } from './blocks.ts';
import { balancesOf, type Ground, onGround, type SoakResult, startSoakChain } from './ground.ts';
import { createProcess, type SoakProcess } from './processes.ts';
import { readSent } from './sent.ts';

const BLOCK_MS = 250;
const AGENTS = 20;
const FUNDS = 1_500n * USD;
const TICKERS = ['CORE', 'HEALTH', 'MAG7'];
/** From ready to killed: the moment within is drawn. */
const LONGEST_LIFE_MS = 3_000;
const AGENTS_KILLED_EVERY = 10;
const AGENTS_END_MS = 60_000;
const SETTLE_ROUNDS = 20;
/** Longer than any action lives (interface.md, section 5). */
const PAST_ALL_DEADLINES_SECONDS = 1_200;

type Options = {
  kills: number;
  replicas: 1 | 2;
  /** Of the moments of the kills: the same seed draws the same ones. */
  seed: number;
  say: (line: string) => void;
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function soakRelayer(options: Options): Promise<SoakResult> {
  return await onGround(options.say, (ground) => run(options, ground));
}

/** A small generator with a seed: [0, 1). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

async function run({ kills, replicas, seed }: Options, ground: Ground): Promise<SoakResult> {
  const { folder, say, atEnd } = ground;
  const random = randomOf(seed);
  const problems: string[] = [];
  const { anvil, client, manifest } = await startSoakChain(ground);
  const { deployment } = manifest;
  const fork = forkOn(anvil, manifest);
  const agents = await openAgents(fork, AGENTS, FUNDS, { dailyLimit: 50_000n * USD });
  say(`${agents.length} agents opened`);
  const blocks = await startBlocks(client, BLOCK_MS);
  atEnd(() => blocks.stop());
  const startBlock = (await client.getBlockNumber()) + 1n;
  const wallet = devAccount('relayer');
  const { address } = wallet.account;
  const balances = () => balancesOf(client, manifest, address);
  const before = await balances();

  const databaseUrl = await sharedDatabase(replicas, folder, atEnd);
  const relayers: SoakProcess[] = [];
  const apis: SoakProcess[] = [];
  for (let index = 0; index < replicas; index += 1) {
    const common = { folder, rpcUrl: anvil.url, deployment };
    const relayer = await createProcess({
      ...common,
      name: `relayer-${index}`,
      entry: 'relayer',
      env: (port) => ({
        RELAYER_PORT: String(port),
        DATABASE_URL: databaseUrl,
        WALLET_PRIVATE_KEYS: wallet.privateKey,
        RELAY_KEY_REQUESTS_PER_MINUTE: '100000',
        RELAY_DAILY_GAS_BUDGET_ETH: '100',
        RELAY_WAIT_MS: '2000',
      }),
    });
    atEnd(() => relayer.stop());
    // Plans name the relayer that they are for.
    const api = await createProcess({
      ...common,
      name: `api-${index}`,
      entry: 'api',
      env: (port) => ({
        API_PORT: String(port),
        PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
        RELAYER_URL: relayer.url,
      }),
    });
    atEnd(() => api.stop());
    await Promise.all([relayer.start(), api.start()]);
    relayers.push(relayer);
    apis.push(api);
  }

  const journals = join(folder, 'journals');
  mkdirSync(journals);
  const deploymentFile = join(folder, 'deployment.json');
  writeFileSync(deploymentFile, JSON.stringify(deployment));
  const agentsFile = join(folder, 'agents.json');
  const setUp: AgentsSetUp = {
    agents: agents.map(({ account, privateKey, ownerAddress }, index) => ({
      name: `agent-${index}`,
      owner: ownerAddress,
      account,
      privateKey,
      ticker: TICKERS[index % TICKERS.length] ?? 'CORE',
      relayerUrl: relayers[index % replicas]?.url ?? '',
      apiUrl: apis[index % replicas]?.url ?? '',
    })),
    rpcUrl: anvil.url,
    deploymentFile,
    folder: journals,
  };
  writeFileSync(agentsFile, JSON.stringify(setUp));
  const startAgents = (env: Record<string, string> = {}) =>
    startChild({
      name: 'agents',
      entry: join(import.meta.dirname, 'agents-entry.ts'),
      cwd: folder,
      env: { PATH: process.env.PATH, AGENTS_FILE: agentsFile, ...env },
      onLine: (line) => say(`agents: ${line}`),
    });

  const states = new Histogram();
  let trading = startAgents();
  atEnd(() => trading.stop(1_000));
  let agentKills = 0;
  for (let kill = 1; kill <= kills; kill += 1) {
    await sleep(random() * LONGEST_LIFE_MS);
    const victim = relayers[Math.floor(random() * relayers.length)];
    if (victim === undefined) throw new Error('no relayer');
    await victim.kill();
    states.add(await statesLeft(databaseUrl, Date.now()));
    if (kill % AGENTS_KILLED_EVERY === 0) {
      trading.kill();
      await trading.exited;
      agentKills += 1;
      trading = startAgents();
    }
    await victim.start();
    if (kill % 20 === 0) say(`${kill} kills`);
  }
  say('no more kills: the agents end');
  await trading.stop(AGENTS_END_MS);

  await client.increaseTime({ seconds: PAST_ALL_DEADLINES_SECONDS });
  for (let round = 0; ; round += 1) {
    if ((await startAgents({ SETTLE: '1' }).exited) === 0) break;
    if (round === SETTLE_ROUNDS) {
      problems.push('the agents did not learn of every action');
      break;
    }
  }
  const judgement = judge(readJournals(journals), await readRuns(client, deployment, startBlock));
  problems.push(...judgement.problems);

  const [latest, pending] = await Promise.all([
    client.getTransactionCount({ address, blockTag: 'latest' }),
    client.getTransactionCount({ address, blockTag: 'pending' }),
  ]);
  if (latest !== pending) problems.push(`${pending - latest} transactions of the wallet wait`);
  const sent = await readSent(client, address, startBlock);
  if (sent.reverted > 0) problems.push(`${sent.reverted} transactions reverted`);
  for (const relayer of relayers) await relayer.stop();
  const after = await balances();
  const books = await booksOf(databaseUrl);
  const earned = after.usdg - before.usdg;
  if (books.feesUsdg !== earned) {
    problems.push(`the books have ${books.feesUsdg} of USDG, the chain ${earned}`);
  }
  const spent = before.wei - after.wei;
  if (sent.gasWei !== spent) {
    problems.push(`the chain's receipts have ${sent.gasWei} wei of gas, the wallet spent ${spent}`);
  }
  if (books.gasWei !== sent.executedWei) {
    problems.push(
      `the books have ${books.gasWei} wei of gas of actions, the chain ${sent.executedWei}`,
    );
  }
  if (judgement.executedOnce === 0) problems.push('nothing was executed');
  if (problems.length > 0) {
    for (const relayer of relayers) say(`${relayer.name}:\n${relayer.log.slice(-40).join('\n')}`);
  }
  say(`states found after the kills:\n${states.render()}`);
  const { problems: _, ...actions } = judgement;
  const figures = {
    kills: states.total,
    replicas,
    agentKills,
    ...actions,
    transactions: sent.count,
    cancels: sent.cancels,
    reverted: sent.reverted,
    feesUsdg: books.feesUsdg.toString(),
    gasWei: spent.toString(),
    states: states.counts(),
  };
  return { ok: problems.length === 0, figures, problems };
}

/** A SQLite file, or for several relayers a database of a PostgreSQL of their own. */
async function sharedDatabase(
  replicas: number,
  folder: string,
  atEnd: Ground['atEnd'],
): Promise<string> {
  if (replicas === 1) return `file:${join(folder, 'relayer.sqlite')}`;
  const postgres = await startPostgres();
  atEnd(() => postgres.stop());
  return await postgres.database('soak');
}

/** What a relayer that has just died left: slots that are claimed without an intent, and intents by phase. */
async function statesLeft(url: string, now: number): Promise<string> {
  return await besideRelayer({ DATABASE_URL: url }, true, async ({ db }) => {
    const lately = now - 10_000;
    const intents = await db
      .selectFrom('sender_intent')
      .select('phase')
      .distinct()
      .where('updated_at', '>', lately)
      .where('confirmed', '=', 0)
      .execute();
    const slots = await db
      .selectFrom('relay_slots')
      .select(['state', 'digest', 'attempt'])
      .where('updated_at', '>', lately)
      .execute();
    const keys = slots.map(({ digest, attempt }) => intentKey(digest as Hex, attempt));
    const handed = await db
      .selectFrom('sender_intent')
      .select('key')
      .where('key', 'in', keys.length === 0 ? [''] : keys)
      .execute();
    const known = new Set(handed.map(({ key }) => key));
    const alone = slots.filter((_, index) => !known.has(keys[index] ?? ''));
    const found = [
      ...new Set(alone.map(({ state }) => `slot ${state}`)),
      ...intents.map(({ phase }) => phase),
    ];
    return found.length === 0 ? 'nothing under way' : found.toSorted().join('+');
  });
}

async function booksOf(url: string): Promise<{ feesUsdg: bigint; gasWei: bigint }> {
  return await besideRelayer({ DATABASE_URL: url }, true, async ({ db }) => {
    const rows = await db.selectFrom('relay_ledger').select(['fee_usdg', 'gas_wei']).execute();
    return {
      feesUsdg: rows.reduce((sum, row) => sum + BigInt(row.fee_usdg), 0n),
      gasWei: rows.reduce((sum, row) => sum + BigInt(row.gas_wei), 0n),
    };
  });
}
