/**
 * The agents of the relayer's soak, a process that may be killed at any moment: each trades with the exported client
 * and keeps its journal in a file. SIGTERM: no new intent, those under way come to an answer. SETTLE=1: only finds out
 * what became of what an earlier life left, and ends with 0 when nothing is open.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Address, erc20Abi, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { SHARE, USD } from '../../contracts-abi/constants.ts';
import { readDeployment } from '../../contracts-abi/deployment.ts';
import {
  createChainReader,
  createPlanner,
  createRelayerClient,
  type Outcome,
  PlanError,
  pinsOf,
  type RelayerClient,
  type Terms,
} from '../../relayer/client/index.ts';
import { openFileJournal } from '../../relayer/client/journal-file.ts';
import { connect } from '../chain/client.ts';

export type AgentSetUp = {
  name: string;
  owner: Address;
  account: Address;
  privateKey: Hex;
  ticker: string;
  relayerUrl: string;
  /** Of the api whose plans name this relayer. */
  apiUrl: string;
};

export type AgentsSetUp = {
  agents: AgentSetUp[];
  rpcUrl: string;
  deploymentFile: string;
  /** Of the journals, one file for each agent. */
  folder: string;
};

/** Tries of one intent before the agent goes on to the next; what is open is settled at the end. */
const MOST_TRIES = 20;
const PAUSE_MS = 250;
const SIZE = 20n * USD;
/** Shares worth selling: of a basket near $100. */
const LEAST_SHARES = SHARE / 20n;

const file = process.env.AGENTS_FILE;
if (file === undefined) throw new Error('AGENTS_FILE is not set');
const setUp = JSON.parse(readFileSync(file, 'utf8')) as AgentsSetUp;
const deployment = readDeployment(setUp.deploymentFile);
const client = connect(setUp.rpcUrl);
const ending = new AbortController();
process.on('SIGTERM', () => ending.abort());
process.stdin.on('end', () => process.exit(1)).resume();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function termsOf({ account, ticker }: AgentSetUp): Promise<Terms> {
  const vault = deployment.baskets.find((basket) => basket.ticker === ticker)?.vault;
  if (vault === undefined) throw new Error(`no basket ${ticker}`);
  const shares = await client.readContract({
    address: vault,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [account],
  });
  return shares > LEAST_SHARES
    ? { type: 'trade', kind: 'sell', ticker, shares, slippageBps: 300 }
    : { type: 'trade', kind: 'buy', ticker, budget: SIZE, slippageBps: 300 };
}

/** Until the intent has an end, somebody else has to act, or the agents stop. */
async function pursue(
  { name }: AgentSetUp,
  once: () => Promise<Outcome>,
): Promise<Outcome['tag'] | 'given up'> {
  for (let tries = 0; tries < MOST_TRIES && !ending.signal.aborted; tries += 1) {
    let outcome: Outcome;
    try {
      outcome = await once();
    } catch (error) {
      // Expected while the api is busy: nothing was planned.
      if (!(error instanceof PlanError)) throw error;
      await pause(PAUSE_MS);
      continue;
    }
    if (outcome.tag === 'executed' || outcome.tag === 'neverExecuted') return outcome.tag;
    if (outcome.tag === 'refused' && outcome.next.startsWith('ask_')) {
      say(`${name}: ${outcome.code} ${outcome.message}`);
      return outcome.tag;
    }
    if (outcome.tag === 'refused') {
      await pause(Math.min(outcome.retryAfterSeconds ?? 0, 5) * 1_000 + PAUSE_MS);
    }
  }
  return 'given up';
}

async function agentOf(agent: AgentSetUp) {
  const signer = privateKeyToAccount(agent.privateKey);
  const journal = await openFileJournal(join(setUp.folder, `${agent.name}.journal`));
  const relayer = await createRelayerClient({
    relayerUrl: agent.relayerUrl,
    signer,
    journal,
    chain: createChainReader(client),
    policy: {
      pins: pinsOf(deployment),
      account: agent.account,
      kinds: ['buy', 'sell'],
      maxSpend: 100n * USD,
      maxSlippageBps: 300,
      maxFee: 2n * USD,
    },
    timing: { pollMs: 200, totalMs: 15_000, postTimeoutMs: 15_000 },
  });
  return { signer, journal, relayer };
}

async function live(agent: AgentSetUp): Promise<void> {
  const { signer, journal, relayer } = await agentOf(agent);
  const plan = createPlanner({
    apiUrl: agent.apiUrl,
    owner: agent.owner,
    key: signer.address,
  });
  await relayer.recover();
  const known = new Set((await journal.read()).map((record) => (record as { id: string }).id));
  for (let turn = known.size; !ending.signal.aborted; turn += 1) {
    const terms = await termsOf(agent);
    const id = `${agent.name} ${turn}`;
    await pursue(agent, () => relayer.run({ id, terms, plan: (fee) => plan(terms, fee) }));
  }
  await journal.close();
}

/** True once nothing is open. */
async function settle(agent: AgentSetUp): Promise<boolean> {
  const { journal, relayer } = await agentOf(agent);
  const isSettled = async (from: RelayerClient): Promise<boolean> =>
    (await from.recover()).every(({ tag }) => tag === 'executed' || tag === 'neverExecuted');
  const done = await isSettled(relayer);
  await journal.close();
  return done;
}

if (process.env.SETTLE === '1') {
  const done = await Promise.all(setUp.agents.map(settle));
  process.exit(done.every(Boolean) ? 0 : 1);
} else {
  await Promise.all(setUp.agents.map(live));
  process.exit(0);
}
