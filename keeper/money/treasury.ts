/** The keeper's own money, as housekeeping looks after it: balances and their alarm, sweeps, top-ups. */
import type { Address, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { inTurn } from '../../runtime/in-turn.ts';
import type { WorldView } from '../chain/world.ts';
import type { Journal } from '../journal/journal.ts';
import type { KeeperMetrics } from '../metrics.ts';
import { type SweepRules, transactionsLeft, USUAL_GAS } from '../../runtime/money/sweep-policy.ts';
import { type TopUpRules, withRoom } from '../policy/purse.ts';
import { Throttle } from '../../runtime/throttle.ts';
import { settleMoves } from '../../runtime/money/move.ts';
import { type Holding, readHoldings } from '../../runtime/money/holdings.ts';
import { sweep } from '../../runtime/money/sweep.ts';
import { revokeLeftovers, type SwapContext, topUp } from './top-up.ts';

const RECENT = 50;
const WORLD_MS = 10_000;
const ALARM_EVERY_MS = 3_600_000;

export type Treasury = {
  /** Reads balances, warns of what runs out, tops up where that is on. */
  look(): Promise<void>;
  /** Sends what lies above the float to the cold address, where one is set. */
  sweep(): Promise<void>;
  /** For `/ready`: which wallets run out of ETH, in words; null when none does. */
  warning(): string | null;
};

export function createTreasury(options: {
  context: SwapContext;
  client: PublicClient;
  deployment: Deployment;
  journal: Pick<Journal, 'recentGas'>;
  world: WorldView;
  metrics: Pick<KeeperMetrics, 'transactionsLeft' | 'usdgBalance'>;
  wallets: readonly Address[];
  timeoutMs: number;
  /** A wallet with fewer transactions left is warned of. */
  lowTransactions: bigint;
  gasPriceHeadroomBps: bigint;
  /** Null: nothing is swept. */
  sweepTo: Address | null;
  sweepRules: SweepRules;
  topUpRules: TopUpRules;
  /** Nothing is sent or written. */
  dryRun: boolean;
}): Treasury {
  const { context, client, deployment, world, wallets, timeoutMs, metrics } = options;
  const { logger } = context;
  const alarms = new Throttle(ALARM_EVERY_MS, 100, context.now);
  const complaints = new Throttle(ALARM_EVERY_MS, 100, context.now);
  let warning: string | null = null;
  /** Looking and sweeping wait for each other: both decide by what the wallets hold. */
  const turn = inTurn();

  /** The dearest of the last transactions: what a wallet must be able to pay for. */
  async function usualGas(): Promise<bigint> {
    const gases = await options.journal.recentGas(RECENT);
    return gases.length === 0 ? USUAL_GAS : gases.reduce((a, b) => (b > a ? b : a));
  }

  function alarm(holdings: readonly Holding[], left: (wei: bigint) => bigint): void {
    const low: string[] = [];
    for (const { wallet, wei, usdg } of holdings) {
      const transactions = left(wei);
      metrics.transactionsLeft.set({ wallet }, Number(transactions));
      metrics.usdgBalance.set({ wallet }, Number(usdg) / 1e6);
      if (transactions >= options.lowTransactions) continue;
      low.push(`${wallet} has ETH for ${transactions} transactions`);
      if (alarms.lets(wallet)) {
        logger.warn(
          { wallet, wei: wei.toString(), transactions: transactions.toString() },
          'a wallet runs out of ETH: send it some',
        );
      }
    }
    warning = low.length === 0 ? null : low.join('; ');
  }

  return {
    look: () =>
      turn(async () => {
        const open = options.dryRun ? [] : await settleMoves(context);
        const now = await world.read(WORLD_MS);
        if (now === null) return;
        const holdings = await readHoldings(client, wallets, deployment, timeoutMs);
        const gas = await usualGas();
        const market = withRoom(now.market, options.gasPriceHeadroomBps);
        const left = (wei: bigint): bigint => transactionsLeft(wei, gas, market);
        alarm(holdings, left);
        if (options.dryRun || open.some(({ kind }) => kind !== 'sweep')) return;
        if (await revokeLeftovers(context, holdings, now.timestamp)) return;
        if (options.topUpRules.dailyUsdg === 0n) return;
        const place = { client, deployment, timeoutMs };
        const rules = options.topUpRules;
        const said = await topUp(context, place, holdings, rules, left, now.timestamp);
        if (said !== null && said !== 'mined' && complaints.lets(said)) {
          logger.warn({ why: said }, 'a wallet in need of ETH is not topped up');
        }
      }),
    sweep: () =>
      turn(async () => {
        if (options.dryRun) return;
        await settleMoves(context);
        const { sweepTo } = options;
        if (sweepTo === null) return;
        const now = await world.read(WORLD_MS);
        if (now === null) return;
        const holdings = await readHoldings(client, wallets, deployment, timeoutMs);
        await sweep(context, holdings, sweepTo, options.sweepRules, now.timestamp);
      }),
    warning: () => warning,
  };
}
