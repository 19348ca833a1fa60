/** An agent that trades cover through the api, and the actions it signs. */
import { encodeFunctionData, erc20Abi, type Hex, type TransactionReceipt } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { coverMarketAbi, coverModuleAbi } from '../../contracts-abi/generated/index.ts';
import { type CoverActionJson, coverActionFromJson } from '../../contracts-abi/typed-data.ts';
import { receiptOf, write } from '../chain/client.ts';
import type { Role } from '../chain/seed/accounts.ts';
import type { Fork } from '../harness/fork.ts';
import { buy } from '../keeper/chain-orders.ts';
import { type Agent, openAgent } from '../relayer/agent.ts';

const USD = 1_000_000n;

export type CoverPlanBody = {
  intent: string;
  ticker: string;
  week: number;
  summary: { cover: number; premium: number; fee: number; cost: number; returned?: number };
  offers: { id: string; coverUsd: number; pricePer1k: number }[];
  status: { account: Hex; coverEnabled: boolean; validUntil: number };
  coverRemainingTodayUsdg: string;
  module: Hex;
  action: CoverActionJson;
  typedData: Parameters<ReturnType<typeof privateKeyToAccount>['signTypedData']>[0];
  relayerUrl: string;
};

/** The owner's account holds $60 of the basket and $1,000; its key may lock $20 of cover a day, or none (null). */
export async function coverAgent(
  fork: Fork,
  ticker: string,
  terms: { owner?: Role; coverDailyLimit?: bigint | null; funds?: bigint } = {},
): Promise<Agent> {
  const { owner = 'alice', coverDailyLimit = 20n * USD, funds = 1_000n * USD } = terms;
  const agent = await openAgent(
    fork,
    owner,
    funds,
    coverDailyLimit === null ? {} : { coverDailyLimit },
  );
  await hold(fork, agent.account, ticker, 60n);
  return agent;
}

/** Alice buys so many dollars of the basket for the account. */
export async function hold(
  fork: Fork,
  account: Hex,
  ticker: string,
  dollars: bigint,
): Promise<void> {
  const vault = fork.vault(ticker);
  const shares = await buy(fork, vault, dollars);
  await write(fork.client, fork.accounts.alice.account, {
    address: vault,
    abi: erc20Abi,
    functionName: 'transfer',
    args: [account, shares],
  });
}

/** The key signs what the api gave it, and a stranger sends it to the module. */
export async function execute(
  fork: Fork,
  agent: Agent,
  plan: CoverPlanBody,
): Promise<TransactionReceipt> {
  const signature = await agent.key.signTypedData(plan.typedData);
  const data = encodeFunctionData({
    abi: coverModuleAbi,
    functionName: 'execute',
    args: [coverActionFromJson(plan.action), signature],
  });
  const hash = await fork.userClient('keeper').sendTransaction({
    to: fork.deployment.coverModule,
    data,
    gas: 3_000_000n,
  });
  return await receiptOf(fork.client, hash, 20_000);
}

export async function usdgOf(fork: Fork, owner: Hex): Promise<bigint> {
  return await fork.client.readContract({
    address: fork.deployment.usdg,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [owner],
  });
}

/** The week trading now and its times. */
export async function currentWeek(
  fork: Fork,
): Promise<{ week: number; close: number; settle: number }> {
  const market = { address: fork.deployment.coverMarket, abi: coverMarketAbi } as const;
  const [, week] = await fork.client.readContract({ ...market, functionName: 'currentWeek' });
  const times = await fork.client.readContract({
    ...market,
    functionName: 'weekOf',
    args: [week],
  });
  return { week, close: times.close, settle: times.settle };
}

type CoverTerms = {
  week: number;
  vault: Hex;
  fromBps: number;
  toBps: number;
  coverUsd: bigint;
  pricePer1k: bigint;
};

type OnMarket =
  | { functionName: 'request'; args: readonly [CoverTerms] }
  | { functionName: 'offer'; args: readonly [CoverTerms, boolean] }
  | { functionName: 'take'; args: readonly [readonly bigint[], readonly bigint[], bigint, bigint] }
  | { functionName: 'fill'; args: readonly [bigint, bigint] };

/** A wallet asks for cover, offers it, takes an offer or fills a request at the market itself, with an approval of as much as it takes. */
export async function onMarket(fork: Fork, role: Role, call: OnMarket): Promise<void> {
  const { account } = fork.accounts[role];
  await write(fork.client, account, {
    address: fork.deployment.usdg,
    abi: erc20Abi,
    functionName: 'approve',
    args: [fork.deployment.coverMarket, 10n ** 12n],
  });
  await write(fork.client, account, {
    address: fork.deployment.coverMarket,
    abi: coverMarketAbi,
    ...call,
  });
}
