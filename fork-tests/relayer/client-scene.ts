/**
 * A real api and a real relayer on a fork, a proxy before the relayer, and the client of an agent with a grant.
 *
 *   const scene = useClientScene();
 *   test('…', async () => { const { run } = await scene.client(createMemoryJournal()); … });
 */
import type { Hex } from 'viem';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import {
  type ActionJson,
  actionFromJson,
  actionTypedData,
} from '../../contracts-abi/typed-data.ts';
import {
  createChainReader,
  createPlanner,
  createRelayerClient,
  type Intent,
  type Journal,
  type Outcome,
  pinsOf,
  type Policy,
  type RelayerClient,
  type RelayerClientOptions,
  type Terms,
  type TradeTerms,
} from '../../relayer/client/index.ts';
import { type ApiUnderTest, useApi } from '../api/use-api.ts';
import { type Fork, useFork } from '../harness/fork.ts';
import { type Agent, executions, type GrantTerms, openAgent } from './agent.ts';
import { type RelayProxy, startRelayProxy } from './relay-proxy.ts';
import { type DataFolder, dataFolder, startTestRelayer, type TestRelayer } from './relayer.ts';

export const buyTerms: TradeTerms = {
  type: 'trade',
  kind: 'buy',
  ticker: 'CORE',
  budget: 50n * USD,
  slippageBps: 100,
};
export const sellTerms = (shares: bigint): TradeTerms => ({
  type: 'trade',
  kind: 'sell',
  ticker: 'CORE',
  shares,
  slippageBps: 200,
});

type Change = Partial<Omit<RelayerClientOptions, 'chain'>> & {
  chain?: RelayerClientOptions['chain'] | null;
};
/** The client believes the relayer. */
export const withoutChain: Change = { chain: null };

export type ClientScene = {
  readonly fork: Fork;
  readonly api: ApiUnderTest;
  readonly proxy: RelayProxy;
  readonly data: DataFolder;
  readonly agent: Agent;
  readonly policy: Policy;
  /** The relayer of this process; a test may stop it and put another behind the proxy. */
  readonly relayer: TestRelayer;
  client: (journal: Journal, change?: Change) => Promise<RelayerClient>;
  /** Counts how often a plan was asked for, and with which fees. */
  intent: (id: string, terms?: Terms) => Intent & { asked: bigint[] };
  /** Transactions that executed an action of the agent, oldest first. */
  hashes: () => Promise<Hex[]>;
  /** The plan with other terms, typed data and all. */
  tampered: (plan: unknown, change: Partial<ActionJson>) => unknown;
};

/** An intent that must not be planned again. */
export const planned = (id: string): Intent => ({
  id,
  terms: buyTerms,
  plan: () => Promise.reject(new Error('planned a second time')),
});

export function hashOf(outcome: Outcome | null): Hex {
  expect(outcome).toMatchObject({ tag: 'executed' });
  return (outcome as Extract<Outcome, { tag: 'executed' }>).hash;
}

/**
 * Registers the hooks: proxy for the file, agent, relayer and its data for each test, and the api for the file, or for
 * each test where its index matters.
 */
export function useClientScene(
  options: { api?: 'test' | 'file'; grant?: GrantTerms } = {},
): ClientScene {
  const fork = useFork();
  const current = {} as { -readonly [K in keyof ClientScene]: ClientScene[K] };
  beforeAll(async () => {
    current.proxy = await startRelayProxy();
  });
  afterAll(() => current.proxy.stop());
  const settings = {
    get RELAYER_URL() {
      return current.proxy.url;
    },
  };
  const api = useApi(fork, { per: options.api ?? 'file', settings });
  beforeEach(async () => {
    const data = dataFolder();
    const agent = await openAgent(fork, 'alice', 1_000n * USD, options.grant);
    const relayer = await startTestRelayer(fork, data, {
      RELAY_WAIT_MS: '2000',
      // The base fee falls from block to block: a finer step would have a fee asked again here and there.
      RELAY_FEE_STEP_USDG: '0.1',
    });
    const { proxy } = current;
    Object.assign(proxy, { upstream: relayer.url, faults: [] });
    proxy.posts.length = 0;
    proxy.statuses.length = 0;
    const policy: Policy = {
      pins: pinsOf(fork.deployment),
      account: agent.account,
      kinds: ['buy', 'sell'],
      maxSpend: 100n * USD,
      maxSlippageBps: 300,
      maxFee: 2n * USD,
    };
    Object.assign(current, { fork, api, data, agent, relayer, policy });
  });
  afterEach(async () => {
    await fork.client.setAutomine(true);
    await current.relayer.stop();
    current.data.remove();
  });

  current.client = async (journal, { chain, ...change } = {}) => {
    const { proxy, policy, agent } = current;
    return await createRelayerClient({
      relayerUrl: proxy.url,
      policy,
      signer: agent.key,
      journal,
      relayerSigner: fork.accounts.relayer.account.address,
      ...(chain === null ? {} : { chain: chain ?? createChainReader(fork.client) }),
      timing: { pollMs: 50, totalMs: 30_000 },
      ...change,
    });
  };
  current.intent = (id, terms = buyTerms) => {
    const { agent } = current;
    const owner = fork.accounts[agent.owner].account.address;
    const planner = createPlanner({ apiUrl: api.url, owner, key: agent.key.address });
    const asked: bigint[] = [];
    const plan = async (fee: bigint) => {
      asked.push(fee);
      return await planner(terms, fee);
    };
    return { id, terms, plan, asked };
  };
  current.hashes = async () =>
    (await executions(fork, current.agent.account)).map(({ transactionHash }) => transactionHash);
  current.tampered = (plan, change) => {
    const before = plan as { action: ActionJson };
    const action = { ...before.action, ...change };
    const typedData = actionTypedData(actionFromJson(action), fork.deployment.sessionModule);
    return { ...before, action, typedData };
  };
  return current;
}
