/** What extends a cover market, as steps of a submitter, and the owner's part of it as calls for others to send. */
import { type Address, encodeFunctionData, erc20Abi, type Hex, type LocalAccount } from 'viem';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { coverMarketAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import type { Submitter } from '../submitter.ts';
import { type CoverPlan, statedListings } from './cover-plan.ts';
import { listCover } from './cover-steps.ts';
import { growPools } from './protocol.ts';

export type Sending = {
  deployment: Pick<Deployment, 'coverMarket' | 'usdg'>;
  plan: CoverPlan;
  /** USDG base units to give to the fee pool, last: nothing before it may fail then. */
  gift: bigint;
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
  if (gift === 0n) return;
  await submitter.write(account, {
    address: usdg,
    abi: erc20Abi,
    functionName: 'approve',
    args: [coverMarket, gift],
  });
  await submitter.write(account, {
    address: coverMarket,
    abi: coverMarketAbi,
    functionName: 'fundFees',
    args: [gift],
    gas: 250_000n,
  });
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
