/** Orders as a person makes them: the api's own plans, signed and sent by a dev account. */
import { type Address, erc20Abi, type Hex, parseEventLogs, type TransactionReceipt } from 'viem';
import {
  exitEscrowAbi,
  limitEscrowAbi,
  navOracleAbi,
} from '../../contracts-abi/generated/index.ts';
import type { ApiUnderTest } from '../api/use-api.ts';
import { transact } from '../chain/client.ts';
import type { Role } from '../chain/seed/accounts.ts';
import type { Fork } from '../harness/fork.ts';

type Plan = { approval: { to: Address; data: Hex } | null; tx: { to: Address; data: Hex } };

async function sendPlan(
  fork: Fork,
  api: ApiUnderTest,
  role: Role,
  path: string,
  body: object,
): Promise<TransactionReceipt> {
  const { account } = fork.accounts[role];
  await api.settled();
  const answer = await api.post(path, { address: account.address, simulate: false, ...body });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
  const plan = answer.body as unknown as Plan;
  if (plan.approval !== null) await transact(fork.client, account, plan.approval);
  return transact(fork.client, account, { to: plan.tx.to, data: plan.tx.data });
}

/** Buys for so many dollars; returns the shares that the account then holds. */
export async function buyShares(
  fork: Fork,
  api: ApiUnderTest,
  role: Role,
  ticker: string,
  dollars: number,
): Promise<bigint> {
  await sendPlan(fork, api, role, '/v1/tx/buy', { ticker, amountUsdg: dollars, slippageBps: 300 });
  return balanceOf(fork, fork.vault(ticker), fork.accounts[role].account.address);
}

/** Places a stop at `factor` times the reference now; returns the order's id. */
export async function placeStop(
  fork: Fork,
  api: ApiUnderTest,
  role: Role,
  ticker: string,
  shares: bigint,
  factor: number,
): Promise<Hex> {
  const stopNav = (await referenceNav(fork, ticker)) * factor;
  const receipt = await sendPlan(fork, api, role, '/v1/tx/exit', {
    ticker,
    shares: shares.toString(),
    stopNav,
  });
  const [created] = parseEventLogs({
    abi: exitEscrowAbi,
    eventName: 'ExitCreated',
    logs: receipt.logs,
  });
  if (created === undefined) throw new Error('no ExitCreated');
  return created.args.id;
}

/** Places a limit buy at `factor` times the reference now; returns the order's id. */
export async function placeLimit(
  fork: Fork,
  api: ApiUnderTest,
  role: Role,
  ticker: string,
  dollars: number,
  factor: number,
): Promise<Hex> {
  const triggerNav = (await referenceNav(fork, ticker)) * factor;
  const receipt = await sendPlan(fork, api, role, '/v1/tx/limit', {
    ticker,
    amountUsdg: dollars,
    triggerNav,
  });
  const [created] = parseEventLogs({
    abi: limitEscrowAbi,
    eventName: 'LimitCreated',
    logs: receipt.logs,
  });
  if (created === undefined) throw new Error('no LimitCreated');
  return created.args.id;
}

/** Dollars per share. */
async function referenceNav(fork: Fork, ticker: string): Promise<number> {
  const nav = await fork.client.readContract({
    address: fork.deployment.oracle,
    abi: navOracleAbi,
    functionName: 'referenceNav',
    args: [fork.vault(ticker)],
  });
  return Number(nav) / 1e18;
}

export function balanceOf(fork: Fork, token: Address, holder: Address): Promise<bigint> {
  return fork.client.readContract({
    address: token,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [holder],
  });
}

/** IOrderEscrow.State as a number: 1 open, 2 filled, 3 cancelled. */
export function stateOf(fork: Fork, escrow: Address, id: Hex): Promise<number> {
  return fork.client.readContract({
    address: escrow,
    abi: exitEscrowAbi,
    functionName: 'stateOf',
    args: [id],
  });
}

/** Alice takes her exit back, ahead of whatever else waits for the block: nobody's keeper pays such a gas price. */
export async function cancelFirst(fork: Fork, id: Hex): Promise<void> {
  await fork.userClient('alice').writeContract({
    address: fork.deployment.exitEscrow,
    abi: exitEscrowAbi,
    functionName: 'cancel',
    args: [id],
    gas: 300_000n,
    maxFeePerGas: 100_000_000_000n,
    maxPriorityFeePerGas: 50_000_000_000n,
  });
}

/** Every OrderFilled of the order on chain, with its block. */
export async function fillsOf(fork: Fork, escrow: Address, id: Hex) {
  const logs = await fork.client.getLogs({
    address: escrow,
    fromBlock: BigInt(fork.deployment.startBlock),
  });
  return parseEventLogs({ abi: exitEscrowAbi, eventName: 'OrderFilled', logs }).filter(
    ({ args }) => args.id === id,
  );
}

/** Moves every constituent of HEALTH by `factor` and lets the ten-minute average follow. */
export async function moveHealth(fork: Fork, factor: number, seconds = 610): Promise<void> {
  await fork.pushPrice('LLY', factor);
  await fork.pushPrice('UNH', factor);
  if (seconds > 0) await fork.warp(seconds);
}
