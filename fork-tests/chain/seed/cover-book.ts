/**
 * Offers of two underwriters for the weeks that trade when the chain is handed over: several ranges at several prices in
 * every cover basket, so that a book has depth, a cheapest price, and an offer too dear for a session key. And a fee pool
 * that pays whoever serves the first weekend, which a new market's would not.
 */
import { type Address, erc20Abi, type LocalAccount } from 'viem';
import { COVER_WEEKS_AHEAD, USD } from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { coverMarketAbi, localTokenAbi } from '../../../contracts-abi/generated/index.ts';
import type { ChainClient } from '../client.ts';
import { type Submitter, submitInBlocks } from '../submitter.ts';
import { devAccount } from './accounts.ts';

type OfferSeed = {
  underwriter: 'erin' | 'frank';
  fromBps: number;
  toBps: number;
  coverUsd: bigint;
  /** Cents per $1,000 of cover in the week trading now; each later week costs a tenth more. */
  cents: bigint;
  /** What is left at the cutoff may be rolled on to the next week. */
  repeats: boolean;
};

const OFFERS: readonly OfferSeed[] = [
  { underwriter: 'erin', fromBps: 300, toBps: 1_000, coverUsd: 800n, cents: 640n, repeats: true },
  {
    underwriter: 'frank',
    fromBps: 300,
    toBps: 1_000,
    coverUsd: 500n,
    cents: 590n,
    repeats: false,
  },
  {
    underwriter: 'erin',
    fromBps: 200,
    toBps: 700,
    coverUsd: 400n,
    cents: 1_450n,
    repeats: false,
  },
  {
    underwriter: 'frank',
    fromBps: 500,
    toBps: 1_500,
    coverUsd: 600n,
    cents: 210n,
    repeats: true,
  },
  // Above $29.70: an owner may take it, a session key may not.
  {
    underwriter: 'frank',
    fromBps: 100,
    toBps: 400,
    coverUsd: 200n,
    cents: 3_400n,
    repeats: false,
  },
];

const CENT = USD / 100n;
/** Pays 500 steps. More than the market's reserve, since here nobody collects what exceeds that. */
const FEE_POOL = 50n * USD;

/** Gives the market's fee pool $50 of USDG that `from` holds, in two transactions. */
export async function fundFeePool(
  submitter: Submitter,
  from: LocalAccount,
  { usdg, coverMarket }: Deployment,
): Promise<void> {
  await submitter.write(from, {
    address: usdg,
    abi: erc20Abi,
    functionName: 'approve',
    args: [coverMarket, FEE_POOL],
  });
  await submitter.write(from, {
    address: coverMarket,
    abi: coverMarketAbi,
    functionName: 'fundFees',
    args: [FEE_POOL],
  });
}

/**
 * Mints what the offers lock, on top of the underwriters' own funds, and what the fee pool is given; places and gives it
 * in one block.
 */
export async function seedCoverBook(
  client: ChainClient,
  issuer: LocalAccount,
  deployment: Deployment,
): Promise<void> {
  const { usdg, coverMarket, baskets } = deployment;
  const market = { address: coverMarket, abi: coverMarketAbi } as const;
  const [vaults, weeks] = await Promise.all([
    client.readContract({ ...market, functionName: 'coverVaults' }),
    tradingWeeks(client, coverMarket),
  ]);
  const submitter = await submitInBlocks(client);
  await submitter.write(issuer, {
    address: usdg,
    abi: localTokenAbi,
    functionName: 'mint',
    args: [issuer.address, FEE_POOL],
  });
  await fundFeePool(submitter, issuer, deployment);
  for (const underwriter of ['erin', 'frank'] as const) {
    const { account } = devAccount(underwriter);
    const own = OFFERS.filter((offer) => offer.underwriter === underwriter);
    const dollars = own.reduce((sum, { coverUsd }) => sum + coverUsd, 0n);
    const locked = dollars * USD * BigInt(vaults.length * weeks.length);
    await submitter.write(issuer, {
      address: usdg,
      abi: localTokenAbi,
      functionName: 'mint',
      args: [account.address, locked],
    });
    await submitter.write(account, {
      address: usdg,
      abi: erc20Abi,
      functionName: 'approve',
      args: [coverMarket, locked],
    });
    for (const vault of baskets.map((basket) => basket.vault).filter((v) => vaults.includes(v))) {
      for (const [ahead, week] of weeks.entries()) {
        for (const { fromBps, toBps, coverUsd, cents, repeats } of own) {
          const pricePer1k = ((cents * (10n + BigInt(ahead))) / 10n) * CENT;
          await submitter.write(account, {
            ...market,
            functionName: 'offer',
            args: [{ week, vault, fromBps, toBps, coverUsd, pricePer1k }, repeats],
            gas: 600_000n,
          });
        }
      }
    }
  }
  await submitter.flush();
  await client.setAutomine(true);
}

/** The week trading now and those open ahead of it. */
async function tradingWeeks(client: ChainClient, coverMarket: Address): Promise<number[]> {
  const market = { address: coverMarket, abi: coverMarketAbi } as const;
  const [[some, current], published] = await Promise.all([
    client.readContract({ ...market, functionName: 'currentWeek' }),
    client.readContract({ ...market, functionName: 'publishedWeeks' }),
  ]);
  if (!some) throw new Error('no week of the cover market is open');
  return published.filter((week) => week >= current).slice(0, Number(COVER_WEEKS_AHEAD) + 1);
}
