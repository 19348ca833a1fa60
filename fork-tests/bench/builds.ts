/**
 * p50 of `POST /v1/tx/buy` over HTTP, dry run included, over the bare RPC calls that it needs: the same calldata to the
 * same node by the same client library, without our code between. The calls are those that the api itself makes for
 * one build, recorded on their way to the node; ours and theirs alternate.
 */
import { erc20Abi } from 'viem';
import { createChainClient } from '../../runtime/chain/client.ts';
import { devWallet } from '../chain/client.ts';
import { devAccount } from '../chain/seed/accounts.ts';
import { type Proxy, startProxy } from '../proxy/proxy.ts';
import { startApiProcess } from './measure/api-process.ts';
import { startBenchChain } from './measure/chain.ts';
import type { ServerProcess } from './measure/process.ts';
import { median, sideBySide } from './measure/rounds.ts';
import type { Bench } from './types.ts';

const ROUNDS = 9;
const BUILDS_A_ROUND = 15;
const UNLIMITED = { HTTP_REQUESTS_PER_MINUTE: '1000000' };
const BUY = { ticker: 'MAG7', amountUsdg: 1_000 };

type Call = { method: string; params: unknown[] };

/** The calls of one build: the aggregated read, and the two of the dry run. */
async function recordCalls(proxy: Proxy, build: () => Promise<void>): Promise<Call[]> {
  const calls: Call[] = [];
  const rules = ['eth_call', 'eth_estimateGas'].map((method) =>
    proxy.on(
      method,
      {
        where: (params) => {
          calls.push({ method, params });
          return false;
        },
      },
      { fault: 'hang' },
    ),
  );
  await build();
  for (const rule of rules) rule.remove();
  return calls;
}

/** Whether the data of a call names this address. */
const mentions = ({ params }: Call, address: string) =>
  JSON.stringify(params).toLowerCase().includes(address.slice(2).toLowerCase());

async function timed(work: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < BUILDS_A_ROUND; count += 1) {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return median(times);
}

export const bench: Bench = async ({ say }) => {
  const { anvil, manifest } = await startBenchChain(say);
  const proxy = await startProxy(anvil.url);
  const servers: ServerProcess[] = [];
  try {
    const { deployment } = manifest;
    const { account } = devAccount('alice');
    await devWallet(anvil.url, account).writeContract({
      address: deployment.usdg,
      abi: erc20Abi,
      functionName: 'approve',
      args: [deployment.zapper, 1n << 255n],
    });
    const api = await startApiProcess(anvil.url, manifest, UNLIMITED);
    servers.push(api);
    const recorded = await startApiProcess(proxy.url, manifest, UNLIMITED);
    servers.push(recorded);
    const buildAt = (url: string) => async () => {
      const response = await fetch(`${url}/v1/tx/buy`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...BUY, address: account.address }),
      });
      const plan = (await response.json()) as { simulation?: { ok: boolean | null } };
      if (plan.simulation?.ok !== true) throw new Error(`no plan: ${JSON.stringify(plan)}`);
    };
    const seen = await recordCalls(proxy, buildAt(recorded.url));
    // Its background work must not take part in what follows.
    await recorded.stop();
    servers.pop();
    // Marks are read beside the build; only the build's own calls know the wallet.
    const calls = seen.filter((call) => mentions(call, account.address));
    const [read, ...dryRun] = calls;
    if (read === undefined || dryRun.length !== 2) {
      throw new Error(`a build made ${calls.length} calls, not one read and two of a dry run`);
    }
    const client = createChainClient({
      urls: [anvil.url],
      timeoutMs: 30_000,
      multicall3: deployment.multicall3,
    });
    const ask = (call: Call) => client.request(call as never);
    const bare = async () => {
      await ask(read);
      await Promise.all(dryRun.map(ask));
    };
    const sides = await sideBySide({
      rounds: ROUNDS,
      ours: () => timed(buildAt(api.url)),
      baseline: () => timed(bare),
      say,
    });
    return {
      ratio: sides.ratio,
      ratios: sides.ratios,
      oursP50Ms: sides.ours,
      bareRpcP50Ms: sides.baseline,
      sequentialRoundTrips: 2,
      readBytes: JSON.stringify(read.params).length,
    };
  } finally {
    for (const server of servers.toReversed()) await server.stop();
    await proxy.stop();
    await anvil.stop();
  }
};
