/** What extends a cover market, as steps of a submitter, and the owner's part of it as calls for others to send. */
import { type Address, encodeFunctionData, erc20Abi, type Hex, type LocalAccount } from 'viem';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { coverMarketAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import type { Submitter } from '../submitter.ts';
import { type Gift, stillLacking } from './cover-gift.ts';
import { type CoverPlan, statedListings } from './cover-plan.ts';
import { capDecision, listCover } from './cover-steps.ts';
import { growPools } from './protocol.ts';
import { type RecordedStep, recordSteps } from './recording-submitter.ts';

export type Sending = {
  deployment: Pick<Deployment, 'coverMarket' | 'usdg'>;
  plan: CoverPlan;
  /** Given last: nothing before it may fail then. */
  gift: Gift;
};

export async function sendCover(
  client: ReadClient,
  submitter: Submitter,
  account: LocalAccount,
  { deployment: { coverMarket, usdg }, plan, gift }: Sending,
): Promise<void> {
  await growPools(submitter, account, plan.growth);
  if (plan.weeks.length > 0) {
    await submitter.write(account, {
      address: coverMarket,
      abi: coverMarketAbi,
      functionName: 'publishWeeks',
      args: [plan.weeks],
    });
  }
  for (const { basket, sharers } of plan.listings) {
    const { ticker, vault } = basket;
    await listCover(client, submitter, account, coverMarket, ticker, vault, sharers);
  }
  if (gift.amount === 0n) return;
  // Others may have filled the pool since it was read: what is signed is what lacks at that moment.
  const lacking = async (before: bigint, name: string): Promise<bigint> => {
    const read = async () => String(await stillLacking(client, coverMarket, gift.level, before));
    return BigInt(await submitter.decide(name, read, String(before)));
  };
  const allowed = await lacking(gift.amount, 'approval of a gift');
  if (allowed === 0n) return;
  // A run that was broken off in between has approved already.
  if (gift.allowance < allowed) {
    await submitter.write(account, {
      address: usdg,
      abi: erc20Abi,
      functionName: 'approve',
      args: [coverMarket, allowed],
    });
  }
  const amount = await lacking(allowed, 'gift');
  if (amount === 0n) return;
  await submitter.write(account, {
    address: coverMarket,
    abi: coverMarketAbi,
    functionName: 'fundFees',
    args: [amount],
    gas: 250_000n,
  });
}

/**
 * The same without sending any. `caps`: whole dollars by basket, where they are foreseen; absent: each listing is
 * there, although a basket whose turn comes may have too little depth left by then.
 */
export async function coverSteps(
  client: ReadClient,
  account: LocalAccount,
  sending: Sending,
  caps: ReadonlyMap<string, bigint> = new Map(),
): Promise<RecordedStep[]> {
  const decisions = new Map(
    [...caps].map(([ticker, cap]) => [capDecision(ticker), Number(cap)] as const),
  );
  const { submitter, steps } = recordSteps(account, 0, decisions);
  await sendCover(client, submitter, account, sending);
  return steps;
}

type OwnerCall = { what: string; to: Address; data: Hex };

/** In the order to send them. Their caps hold in any order, since nothing can be read between them. */
export function ownerCalls(
  { coverMarket: to }: Pick<Deployment, 'coverMarket'>,
  plan: CoverPlan,
): OwnerCall[] {
  const calls: OwnerCall[] = [];
  if (plan.weeks.length > 0) {
    calls.push({
      what: `publishWeeks, ${plan.weeks.length} weeks`,
      to,
      data: encodeFunctionData({
        abi: coverMarketAbi,
        functionName: 'publishWeeks',
        args: [plan.weeks],
      }),
    });
  }
  for (const { basket, statedCap } of statedListings(plan)) {
    calls.push({
      what: `listVault, ${basket.ticker} with a cap of $${statedCap}`,
      to,
      data: encodeFunctionData({
        abi: coverMarketAbi,
        functionName: 'listVault',
        args: [basket.vault, statedCap],
      }),
    });
  }
  return calls;
}

export function callLines(calls: readonly OwnerCall[]): string[] {
  return calls.flatMap(({ what, to, data }, index) => [
    `Call ${index + 1} of ${calls.length} for the owner: ${what}`,
    `  to    ${to}`,
    '  value 0',
    `  data  ${data}`,
  ]);
}
