/**
 * Actions per second from the post to the broadcast: a real relayer process over a bare pipeline behind one route
 * (relay/bare-entry.ts: native recovery, eth_call, sign, one durable insert, send), in turns on one Anvil that mines
 * after each round (a simulation while it mines meets the state of one block and the time of another), as many wallets
 * each, posted to alike.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { until } from '../e2e/stack.ts';
import { forkOn } from '../harness/chain-handle.ts';
import { startBenchChain } from './measure/chain.ts';
import { type ServerProcess, startServerProcess } from './measure/process.ts';
import { sideBySide } from './measure/rounds.ts';
import { holdPrices, openAgents, signedActions } from './relay/actions.ts';
import { percentile, postAll } from './relay/posts.ts';
import type { Bench } from './types.ts';

const ROUNDS = 7;
const ACTIONS_A_ROUND = 60;
/**
 * Of both, before what is counted: a relayer runs for weeks, and its processor time for an action falls until all of its
 * code is compiled, which is far more than the bare pipeline's.
 */
const WARM_UP_ROUNDS = 20;
/** They take turns: of one a day holds fifty at this fee. */
const AGENTS = 2 * ACTIONS_A_ROUND;
const CONCURRENCY = 32;
const WALLETS = 8;
const RELAYER_ENTRY = fileURLToPath(new URL('../../relayer/main.ts', import.meta.url));
const BARE_ENTRY = fileURLToPath(new URL('relay/bare-entry.ts', import.meta.url));
const PATH = '/relay/v1/account/execute';
/** What an operator with this load sets; the rest is as by default. */
const SETTINGS = {
  // Answered once it is broadcast.
  RELAY_WAIT_MS: '0',
  RELAY_FEE_STEP_USDG: '0.4',
  RELAY_KEY_REQUESTS_PER_MINUTE: '100000',
  RELAY_DAILY_GAS_BUDGET_ETH: '1000',
  HTTP_REQUESTS_PER_MINUTE: '0',
  SENDER_MAX_IN_FLIGHT_PER_WALLET: '64',
};

export const bench: Bench = async ({ say }) => {
  const { anvil, manifest } = await startBenchChain(say);
  const servers: ServerProcess[] = [];
  try {
    const fork = forkOn(anvil, manifest);
    const keys = async (): Promise<string> => {
      const made = Array.from({ length: WALLETS }, generatePrivateKey);
      for (const key of made) {
        const { address } = privateKeyToAccount(key);
        await fork.client.setBalance({ address, value: 10n ** 20n });
      }
      return made.join(',');
    };
    const agents = await openAgents(fork, AGENTS);
    say(`${agents.length} agents opened`);
    const ownKeys = await keys();
    const relayer = await startServerProcess({
      entry: RELAYER_ENTRY,
      readyPath: '/ready',
      env: (port, folder) => {
        const deploymentFile = join(folder, 'deployment.json');
        writeFileSync(deploymentFile, JSON.stringify(manifest.deployment));
        return {
          RPC_URLS: anvil.url,
          DEPLOYMENT_FILE: deploymentFile,
          DATABASE_URL: `file:${join(folder, 'relayer.sqlite')}`,
          WALLET_PRIVATE_KEYS: ownKeys,
          RELAYER_PORT: String(port),
          ...SETTINGS,
        };
      },
    });
    servers.push(relayer);
    const bareKeys = await keys();
    const bare = await startServerProcess({
      entry: BARE_ENTRY,
      readyPath: '/',
      env: (port, folder) => ({
        RPC_URL: anvil.url,
        SESSION_MODULE: manifest.deployment.sessionModule,
        DATABASE_FILE: join(folder, 'bare.sqlite'),
        WALLET_PRIVATE_KEYS: bareKeys,
        PORT: String(port),
      }),
    });
    servers.push(bare);

    let posted = 0;
    const settled = () =>
      until('every action has run', async () => {
        const events = await fork.client.getContractEvents({
          address: manifest.deployment.sessionModule,
          abi: sessionModuleAbi,
          eventName: 'Executed',
          fromBlock: 0n,
        });
        return events.length >= posted ? true : null;
      });
    const back = await holdPrices(fork);
    const measured = (url: string, times: number[]) => async (): Promise<number> => {
      // One action of each.
      const now = agents.splice(0, ACTIONS_A_ROUND);
      agents.push(...now);
      const bodies = await signedActions(fork, now, ACTIONS_A_ROUND);
      await fork.client.setAutomine(false);
      const round = await postAll(`${url}${PATH}`, bodies, CONCURRENCY);
      posted += bodies.length;
      times.push(...round.times);
      await fork.client.mine({ blocks: 1 });
      await settled();
      await fork.client.setAutomine(true);
      await back();
      return round.perSecond;
    };
    const [ourTimes, bareTimes]: [number[], number[]] = [[], []];
    const ours = measured(relayer.url, ourTimes);
    const baseline = measured(bare.url, bareTimes);
    for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
      await ours();
      await baseline();
    }
    const sides = await sideBySide({ rounds: ROUNDS, ours, baseline, say });
    // Nor does the first round of these count, as in the ratio.
    const uncounted = (WARM_UP_ROUNDS + 1) * ACTIONS_A_ROUND;
    const [own, theirs] = [ourTimes.slice(uncounted), bareTimes.slice(uncounted)];
    return {
      ratio: sides.ratio,
      ratios: sides.ratios,
      oursPerSecond: sides.ours,
      barePerSecond: sides.baseline,
      oursP50Ms: percentile(own, 0.5),
      oursP99Ms: percentile(own, 0.99),
      bareP50Ms: percentile(theirs, 0.5),
      bareP99Ms: percentile(theirs, 0.99),
      concurrency: CONCURRENCY,
      wallets: WALLETS,
    };
  } catch (error) {
    const output = servers.map((server) => server.output().slice(-3_000)).join('\n');
    throw new Error(`${String(error)}\n${output}`, { cause: error });
  } finally {
    for (const server of servers.toReversed()) await server.stop();
    await anvil.stop();
  }
};
