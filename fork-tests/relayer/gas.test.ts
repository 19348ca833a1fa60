/** The gas limit of an action: searched once for its sort, then proven by one run; with what an Orbit chain charges for posting. */
import type { Address, Hex } from 'viem';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { type Action, actionDigest } from '../../contracts-abi/typed-data.ts';
import { useFork } from '../harness/fork.ts';
import { type Fault, type Proxy, startProxy } from '../proxy/proxy.ts';
import { type Agent, buyAction, executions, openAgent, signedBody } from './agent.ts';
import { type DataFolder, dataFolder, startTestRelayer, type TestRelayer } from './relayer.ts';

const fork = useFork();
const FEE = 400_000n;
const NODE_INTERFACE: Address = '0x00000000000000000000000000000000000000C8';
/** The fork answers as a node of an Orbit chain would. */
async function chargePosting(): Promise<void> {
  await fork.client.setCode({ address: NODE_INTERFACE, bytecode: CHARGES_POSTING });
  proxy.on(
    'eth_estimateGas',
    {},
    {
      fault: 'rewrite',
      rewrite: (reply) =>
        typeof reply.result === 'string'
          ? { ...reply, result: `0x${(BigInt(reply.result) + POSTING).toString(16)}` }
          : reply,
    },
  );
}
/** Code that answers every call with the words 300000, 1, 1. */
const POSTING = 300_000n;
const CHARGES_POSTING: Hex = '0x620493e06000526001602052600160405260606000f3';
const MISSING = {
  fault: 'error',
  code: -32_601,
  message: 'method not found',
  forwarded: false,
} as const;
let proxy: Proxy;
let data: DataFolder;
let agent: Agent;
let relayer: TestRelayer;

beforeEach(async () => {
  proxy = await startProxy(fork.url);
  data = dataFolder();
  agent = await openAgent(fork, 'alice');
});
afterEach(async () => {
  await relayer?.stop();
  await proxy.stop();
  data.remove();
});

const start = async (env: Record<string, string> = {}): Promise<void> => {
  relayer = await startTestRelayer(fork, data, {
    RPC_URLS: proxy.url,
    RELAY_FEE_STEP_USDG: '0.4',
    ...env,
  });
};
const bought = async (): Promise<{ action: Action; gas: bigint; gasUsed: bigint }> => {
  const action = await buyAction(fork, agent, 50n * USD, { fee: FEE });
  const reply = await relayer.post(await signedBody(fork, agent, action));
  expect(reply).toMatchObject({ status: 200, body: { ok: true } });
  const digest = actionDigest(action, fork.deployment.sessionModule);
  const stored = await relayer.sender.get(`relay:${digest}:0`);
  return { action, gas: stored?.intent.gas ?? 0n, gasUsed: BigInt(String(reply.body.gasUsed)) };
};

it('is searched for the first action of its sort; the next costs the node one run', async () => {
  await start();
  const first = await bought();
  expect(proxy.counts().eth_estimateGas).toBe(1);
  proxy.resetCounts();
  const { gas, gasUsed } = await bought();
  const { eth_simulateV1, eth_estimateGas } = proxy.counts();
  expect({ eth_simulateV1, eth_estimateGas }).toEqual({ eth_simulateV1: 1 });
  // The refund comes only at the end: the limit holds it, and headroom.
  expect(gas).toBeGreaterThan((gasUsed * 5n) / 4n);
  expect(gas).toBeLessThan(first.gasUsed * 2n);
});

it('what the chain charges for posting is in the limit and in the quote', async () => {
  // A quote in the smallest steps, of an action that nobody has paid for yet.
  await start({ RELAY_FEE_STEP_USDG: '0.000001' });
  const unpaid = async (): Promise<bigint> => {
    const action = await buyAction(fork, agent, 50n * USD);
    const { body, status } = await relayer.post(await signedBody(fork, agent, action));
    expect(status).toBe(402);
    return BigInt(String(body.requiredFee));
  };
  const without = await unpaid();
  await relayer.stop();
  await chargePosting();
  await start({ RELAY_FEE_STEP_USDG: '0.000001' });
  const withPosting = await unpaid();
  // A buy needs three to four times that gas: the quote rises by what its share costs.
  expect(withPosting).toBeGreaterThan((without * 120n) / 100n);
  expect(withPosting).toBeLessThan((without * 150n) / 100n);
  await relayer.stop();

  await start();
  // By the search, and then by one run.
  const charged = [(await bought()).gas, (await bought()).gas];
  await relayer.stop();
  proxy.clear();
  await fork.client.setCode({ address: NODE_INTERFACE, bytecode: '0x' });
  await start();
  for (const limit of charged) {
    const more = limit - (await bought()).gas;
    expect(more).toBeGreaterThan(POSTING);
    expect(more).toBeLessThan(2n * POSTING);
  }
});

it('an action that waits behind another of its account has the posting in its limit too', async () => {
  await chargePosting();
  await start({ RELAY_WAIT_MS: '0' });
  await fork.client.setAutomine(false);
  try {
    const limits: bigint[] = [];
    for (let turn = 0; turn < 2; turn += 1) {
      const action = await buyAction(fork, agent, 50n * USD, { fee: FEE });
      const { status } = await relayer.post(await signedBody(fork, agent, action));
      expect(status).toBe(202);
      const digest = actionDigest(action, fork.deployment.sessionModule);
      limits.push((await relayer.sender.get(`relay:${digest}:0`))?.intent.gas ?? 0n);
    }
    await fork.client.mine({ blocks: 1 });
    expect(await executions(fork, agent.account)).toHaveLength(2);
    for (const limit of limits) expect(limit).toBeGreaterThan(1_000_000n + POSTING);
  } finally {
    await fork.client.setAutomine(true);
  }
});

/** The first parameter of eth_call is the call. */
const toNodeInterface = ([call]: unknown[]) =>
  (call as { to?: string }).to?.toLowerCase() === NODE_INTERFACE.toLowerCase();
const always = () => true;

it.each<[string, string, (params: unknown[]) => boolean, Fault]>([
  ['cannot simulate blocks', 'eth_simulateV1', always, MISSING],
  ['refuses to simulate blocks by 403', 'eth_simulateV1', always, { fault: 'http', status: 403 }],
  ['fails to simulate blocks by 500', 'eth_simulateV1', always, { fault: 'http', status: 500 }],
  ['never answers for simulated blocks', 'eth_simulateV1', always, { fault: 'hang' }],
  ['does not tell what posting costs', 'eth_call', toNodeInterface, MISSING],
])('a node that %s is asked for an estimate each time', async (_what, method, where, fault) => {
  await start();
  proxy.on(method, { where }, fault);
  await bought();
  await bought();
  expect(proxy.counts().eth_estimateGas).toBe(2);
});

it('a simulated block that reverts refuses nothing by itself', async () => {
  await start();
  await bought();
  proxy.on(
    'eth_simulateV1',
    {},
    {
      fault: 'rewrite',
      rewrite: (reply) => {
        const [block] = reply.result as { calls: object[] }[];
        const calls = block?.calls.map((call) => ({ ...call, status: '0x0', returnData: '0x' }));
        return { ...reply, result: [{ ...block, calls }] };
      },
    },
  );
  await bought();
});
