/**
 * The main job on an Anvil fork with three real processes: a wallet's stop filled by the keeper for its fee, and an
 * agent's signed action relayed for the relayer's.
 */
import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  parseEventLogs,
  type TransactionReceipt,
} from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  accountFactoryAbi,
  exitEscrowAbi,
  navOracleAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import {
  ACTION_TYPES,
  type ActionJson,
  actionFromJson,
  sessionDomain,
} from '../../contracts-abi/typed-data.ts';
import { receiptOf } from '../chain/client.ts';
import type { Role } from '../chain/seed/accounts.ts';
import { type Fork, startFork } from '../harness/fork.ts';
import { createStack, type Stack, until } from './stack.ts';

type Plan = {
  approval: { to: Address; data: Hex } | null;
  tx: { to: Address; data: Hex; value: string };
};

/** A basket that can stand on the live chain too: all of these trade there. */
const MAG7 = ['NVDA', 'AAPL', 'MSFT', 'AMZN', 'GOOGL', 'META', 'TSLA'];

let fork: Fork;
let stack: Stack;

beforeAll(async () => {
  fork = await startFork();
  stack = await createStack({ rpcUrl: fork.url, deployment: fork.deployment });
  await stack.start('api');
  await Promise.all([stack.start('keeper'), stack.start('relayer')]);
});

afterAll(async () => {
  await stack?.stop();
  await fork?.anvil.stop();
});

const balance = (token: Address, owner: Address) =>
  fork.client.readContract({
    address: token,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [owner],
  });

const usdg = (role: Role) => balance(fork.deployment.usdg, fork.accounts[role].account.address);

async function send(
  role: Role,
  call: { to: Address; data: Hex; value?: string },
): Promise<TransactionReceipt> {
  const request = { to: call.to, data: call.data, value: BigInt(call.value ?? '0') };
  // The estimate is exact for the block it saw; the next one may write an observation more.
  const estimate = await fork.client.estimateGas({
    ...request,
    account: fork.accounts[role].account.address,
  });
  const hash = await fork
    .userClient(role)
    .sendTransaction({ ...request, gas: (estimate * 3n) / 2n });
  const receipt = await receiptOf(fork.client, hash, 60_000);
  expect(receipt.status).toBe('success');
  return receipt;
}

async function sendPlan(role: Role, plan: Plan): Promise<TransactionReceipt> {
  if (plan.approval !== null) await send(role, plan.approval);
  return send(role, plan.tx);
}

async function build(path: string, body: unknown): Promise<Plan & Record<string, unknown>> {
  const { status, body: plan } = await stack.post(`${stack.urls.api}${path}`, body);
  expect([status, plan.code]).toEqual([200, undefined]);
  return plan as Plan & Record<string, unknown>;
}

describe('the main job', () => {
  it('fills a stop that the price crossed: the owner has the USDG, the keeper more than its gas', async () => {
    const alice = fork.accounts.alice.account.address;
    const keeper = fork.accounts.keeper.account.address;
    const vault = fork.vault('MAG7');

    const buy = await build('/v1/tx/buy', { ticker: 'MAG7', amountUsdg: 2_000, address: alice });
    const spentBefore = await usdg('alice');
    await sendPlan('alice', buy);
    const shares = await balance(vault, alice);
    expect(shares >= BigInt(String(buy.minShares))).toBe(true);
    expect(spentBefore - (await usdg('alice'))).toBeLessThanOrEqual(2_000_000_000n);

    const [reference] = await fork.client.readContract({
      address: fork.deployment.oracle,
      abi: navOracleAbi,
      functionName: 'tryReferenceNav',
      args: [vault],
    });
    const stopNav = Number(((Number(reference) / 1e18) * 0.97).toFixed(4));
    const exit = await build('/v1/tx/exit', {
      ticker: 'MAG7',
      address: alice,
      shares: shares.toString(),
      stopNav,
    });
    expect(exit.kind).toBe('stop_loss');
    const created = await sendPlan('alice', exit);
    const [order] = parseEventLogs({
      abi: exitEscrowAbi,
      eventName: 'ExitCreated',
      logs: created.logs,
    });
    const id = order?.args.id as Hex;
    expect(await balance(vault, alice)).toBe(0n);

    const open = await until('the order in the api', async () => {
      const { body } = await stack.get(`${stack.urls.api}/v1/orders/${alice}`);
      const orders = body.orders as { id: string }[];
      return orders.some((candidate) => candidate.id === id) ? orders : null;
    });
    expect(open).toHaveLength(1);

    const ownerBefore = await usdg('alice');
    const keeperBefore = await usdg('keeper');
    for (const symbol of MAG7) await fork.pushPrice(symbol, 0.95);
    // Spot has crossed, the average has not: nothing may be filled yet.
    const { body: early } = await stack.get(`${stack.urls.api}/v1/jobs`);
    expect(early.jobs).toEqual([]);
    await fork.warp(660);

    const fill = await until('the fill by the keeper', async () => {
      const logs = await fork.client.getContractEvents({
        address: fork.deployment.exitEscrow,
        abi: exitEscrowAbi,
        eventName: 'OrderFilled',
        args: { id },
        fromBlock: BigInt(fork.deployment.startBlock),
      });
      return logs[0] ?? null;
    }).catch((error: unknown) => {
      const said = (name: 'api' | 'keeper') => stack.running.get(name)?.log.slice(-15).join('\n');
      throw new Error(`${String(error)}\n${said('keeper')}\n${said('api')}`, { cause: error });
    });
    const { net, executorFee, executor } = fill.args as {
      net: bigint;
      executorFee: bigint;
      executor: Address;
    };
    expect(executor).toBe(keeper);
    expect((await usdg('alice')) - ownerBefore).toBe(net);
    expect((await usdg('keeper')) - keeperBefore).toBe(executorFee);

    const receipt = await fork.client.getTransactionReceipt({ hash: fill.transactionHash });
    const [ethPrice] = await fork.client.readContract({
      address: fork.deployment.oracle,
      abi: navOracleAbi,
      functionName: 'ethPrice',
    });
    const gasUsdg = (receipt.gasUsed * receipt.effectiveGasPrice * ethPrice) / 10n ** 30n;
    expect(executorFee > gasUsdg).toBe(true);

    await until('the order gone from the api', async () => {
      const { body } = await stack.get(`${stack.urls.api}/v1/orders/${alice}`);
      return (body.orders as unknown[]).length === 0 ? true : null;
    });
  });

  it('relays an agent action: 402, a fee re-signed with the same nonce, the receipt, and the same answer again', async () => {
    const bob = fork.accounts.bob.account.address;
    const key = fork.accounts.agent.account.address;
    const account = await fork.client.readContract({
      address: fork.deployment.accountFactory,
      abi: accountFactoryAbi,
      functionName: 'accountOf',
      args: [bob],
    });
    const sessionUrl = `${stack.urls.api}/v1/agent/session?owner=${bob}&key=${key}`;
    expect((await stack.get(sessionUrl)).body).toMatchObject({
      account,
      deployed: false,
      active: false,
    });

    await send('bob', {
      to: fork.deployment.accountFactory,
      data: encodeFunctionData({
        abi: accountFactoryAbi,
        functionName: 'openAndGrant',
        args: [
          {
            key,
            validUntil: (await fork.now()) + 7 * 86_400,
            maxSlippageBps: 200,
            coverEnabled: false,
            dailyLimit: 100_000_000n,
            coverDailyLimit: 0n,
          },
        ],
      }),
    });
    await send('bob', {
      to: fork.deployment.usdg,
      data: encodeFunctionData({
        abi: erc20Abi,
        functionName: 'transfer',
        args: [account, 500_000_000n],
      }),
    });
    expect((await stack.get(sessionUrl)).body).toMatchObject({ deployed: true, active: true });

    const { status, body: plan } = await stack.post(`${stack.urls.api}/v1/agent/trade`, {
      owner: bob,
      key,
      ticker: 'CORE',
      side: 'buy',
      amountUsdg: 50,
    });
    expect([status, plan.code]).toEqual([200, undefined]);
    const action = plan.action as ActionJson;
    expect(action.fee).toBe('0');
    const relayerUrl = String(plan.relayerUrl);

    const signed = async (fee: string) => ({
      action: { ...action, fee },
      signature: await fork.accounts.agent.account.signTypedData({
        domain: sessionDomain(fork.deployment.sessionModule),
        types: ACTION_TYPES,
        primaryType: 'Action',
        message: actionFromJson({ ...action, fee }),
      }),
    });

    const unpaid = await stack.post(relayerUrl, await signed('0'));
    expect(unpaid).toMatchObject({
      status: 402,
      body: { ok: false, code: 'FEE_REQUIRED', retryable: false },
    });
    const fee = String(unpaid.body.requiredFee);
    expect(BigInt(fee)).toBeGreaterThan(0n);

    const relayerBefore = await usdg('relayer');
    const accountBefore = await balance(fork.deployment.usdg, account);
    const paid = await signed(fee);
    const executed = await stack.post(relayerUrl, paid);
    expect(executed).toMatchObject({ status: 200, body: { ok: true } });
    expect(await balance(fork.vault('CORE'), account)).toBe(BigInt(action.amount));
    expect((await usdg('relayer')) - relayerBefore).toBe(BigInt(fee));
    const spent = accountBefore - (await balance(fork.deployment.usdg, account));
    expect(spent - BigInt(fee)).toBeLessThanOrEqual(50_000_000n);

    const again = await stack.post(relayerUrl, paid);
    expect([again.status, again.body.hash]).toEqual([200, executed.body.hash]);
    const events = await fork.client.getContractEvents({
      address: fork.deployment.sessionModule,
      abi: sessionModuleAbi,
      eventName: 'Executed',
      fromBlock: BigInt(fork.deployment.startBlock),
    });
    expect(events).toHaveLength(1);
    expect(events[0]?.transactionHash).toBe(executed.body.hash);
  });
});
