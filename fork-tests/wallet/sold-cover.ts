/** The weeks of cover that somebody bought, as the chain has them. */
import type { Address } from 'viem';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import {
  type CoverOutcome,
  outcomeOf,
  stepDue,
  type WeekTimes,
} from '../../runtime/cover/steps-due.ts';
import type { DevWallet } from './open.ts';
import { chainTime } from './pass-time.ts';

export type SoldMarket = {
  ticker: string;
  vault: Address;
  week: number;
  times: WeekTimes;
  outcome: CoverOutcome;
  soldUsd: bigint;
  /** Dollars x 1e18; zero before the snapshot. */
  closeNav: bigint;
  settleNav: bigint;
};

export function coverMarket({ deployment }: DevWallet) {
  return { address: deployment.coverMarket, abi: coverMarketAbi } as const;
}

export function tickerOf({ deployment }: DevWallet, vault: Address): string {
  return deployment.baskets.find((basket) => basket.vault === vault)?.ticker ?? vault;
}

/** @throws Error when no published week is left. */
export async function currentWeek(wallet: DevWallet): Promise<number> {
  const [some, week] = await wallet.client.readContract({
    ...coverMarket(wallet),
    functionName: 'currentWeek',
  });
  if (!some) throw new Error('no week of the cover market trades: the calendar has ended');
  return week;
}

export async function timesOf(wallet: DevWallet, week: number): Promise<WeekTimes> {
  return await wallet.client.readContract({
    ...coverMarket(wallet),
    functionName: 'weekOf',
    args: [week],
  });
}

/** Every basket's week of which cover was sold, the earliest first. */
export async function soldMarkets(wallet: DevWallet): Promise<SoldMarket[]> {
  const { client } = wallet;
  const market = coverMarket(wallet);
  const [weeks, vaults] = await Promise.all([
    client.readContract({ ...market, functionName: 'publishedWeeks' }),
    client.readContract({ ...market, functionName: 'coverVaults' }),
  ]);
  const all = weeks.flatMap((week) => vaults.map((vault) => ({ week, vault })));
  const [times, states] = await Promise.all([
    client.multicall({
      allowFailure: false,
      contracts: weeks.map(
        (week) => ({ ...market, functionName: 'weekOf', args: [week] }) as const,
      ),
    }),
    client.multicall({
      allowFailure: false,
      contracts: all.map(
        ({ week, vault }) =>
          ({ ...market, functionName: 'marketOf', args: [week, vault] }) as const,
      ),
    }),
  ]);
  const timesByWeek = new Map(weeks.map((week, index) => [week, times[index]]));
  return all.flatMap(({ week, vault }, index) => {
    const [state, weekTimes] = [states[index], timesByWeek.get(week)];
    if (state === undefined || weekTimes === undefined || state.soldUsd === 0n) return [];
    const { outcome, soldUsd, closeNav, settleNav } = state;
    return [
      {
        ticker: tickerOf(wallet, vault),
        vault,
        week,
        times: weekTimes,
        outcome: outcomeOf(outcome),
        soldUsd,
        closeNav,
        settleNav,
      },
    ];
  });
}

/** What a jump of so many seconds would do to cover that was sold; null where it does nothing. */
export async function missedBy(wallet: DevWallet, seconds: number): Promise<string | null> {
  const now = await chainTime(wallet);
  const missed = (await soldMarkets(wallet)).filter(({ outcome, times }) => {
    const market = { outcome, sold: true };
    const later = stepDue(market, times, now + seconds);
    return later === 'void' && stepDue(market, times, now) !== 'void';
  });
  const [first] = missed;
  if (first === undefined) return null;
  const names = missed.map(({ ticker, week }) => `${ticker} of week ${week}`).join(', ');
  return `this passes the hour in which the keeper takes a snapshot of sold cover (${names}): it can only be voided then, and all money goes back. \`wallet weekend\` stops for snapshots.`;
}
