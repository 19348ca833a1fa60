/**
 * The relayer's own money: the wallets kept in ETH by the treasury, and the fees that they received swept to the cold
 * address. The contracts pay a fee to whoever submits (`SignedActions._payFee`): to our wallets.
 *
 * What must hold: each move is a row before it is an intent, under a number that exists only once the one before came
 * to its end; the treasury sends one transaction at a time, and none by a balance older than its last one.
 */
import type { Address, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { usdgText } from '../../runtime/cli/table.ts';
import { within } from '../../runtime/deadline.ts';
import { inTurn } from '../../runtime/in-turn.ts';
import { type Holding, readHoldings } from '../../runtime/money/holdings.ts';
import { makeMove, type MoveContext, settleMoves } from '../../runtime/money/move.ts';
import { sweep, type Swept } from '../../runtime/money/sweep.ts';
import { dayBefore, type SweepRules } from '../../runtime/money/sweep-policy.ts';
import { Throttle } from '../../runtime/throttle.ts';
import { type FundRules, judgeFund } from './fund-policy.ts';

export type Purse = {
  /** Reads balances, warns of wallets that run out of ETH, and tops them up where there is a treasury. */
  look(): Promise<void>;
  /** Sends what lies above the float to the cold address. @returns what came of it, a line for each wallet */
  sweep(rules: SweepRules): Promise<string[]>;
  /** For `/ready`: which wallets run out of ETH, in words; null when none does. */
  warning: () => string | null;
};

export type PurseDeps = {
  context: MoveContext;
  client: PublicClient;
  deployment: Pick<Deployment, 'usdg' | 'swapRouter02' | 'multicall3'>;
  wallets: readonly Address[];
  /** Null: nothing is topped up. */
  treasury: Address | null;
  fundRules: FundRules;
  /** Null: nothing is swept. */
  sweepTo: Address | null;
  /** What the sender adds to the base fee, wei per gas. */
  tipWei: bigint;
  /** Reads the ETH price that moves are counted at. Never throws. */
  refreshPrice: () => Promise<void>;
  timeoutMs: number;
  /** Told of each wallet's USDG, base units. */
  onUsdg: (wallet: Address, usdg: bigint) => void;
  /** Told how many wallets run out of ETH. */
  onLow: (wallets: number) => void;
};

/** Of a plain transfer, what it pays for data on L1 included. */
const TRANSFER_GAS = 100_000n;
const SEND_WITHIN_SECONDS = 300n;
const ALARM_EVERY_MS = 3_600_000;

export function createPurse(deps: PurseDeps): Purse {
  const { context, client, deployment, wallets, treasury, timeoutMs } = deps;
  const { logger } = context;
  const alarms = new Throttle(ALARM_EVERY_MS, 200, context.now);
  /** Both decide by what the wallets hold. */
  const turn = inTurn();
  let warning: string | null = null;

  const readChain = async (of: readonly Address[]) => {
    const block = await within(client.getBlock(), timeoutMs, 'the head');
    const holdings = await readHoldings(client, of, deployment, timeoutMs, block.number);
    return { block, holdings };
  };

  /** The treasury's last transaction lies after this block: its balances do not show it. */
  const isBehind = async (from: Address, blockNumber: bigint): Promise<boolean> => {
    const last = await context.moves.last(from, 'fund');
    const state =
      last === null ? null : ((await context.sender.get(last.intentKey))?.state ?? null);
    return state !== null && 'blockNumber' in state && state.blockNumber > blockNumber;
  };

  const complain = (why: string): void => {
    warning = warning === null ? why : `${warning}; ${why}`;
    if (alarms.lets(why)) logger.warn({ why }, 'a wallet in need of ETH is not topped up');
  };

  const fund = async (
    from: Address,
    treasuryWei: bigint,
    low: readonly Holding[],
    block: { timestamp: bigint; baseFeePerGas: bigint | null },
  ): Promise<void> => {
    const keepWei = TRANSFER_GAS * 2n * ((block.baseFeePerGas ?? 0n) + deps.tipWei);
    let left = treasuryWei;
    for (const { wallet, wei } of low) {
      const verdict = judgeFund(
        {
          balanceWei: wei,
          treasuryWei: left,
          sentWei: await context.moves.fundedSince(dayBefore(context.now())),
          keepWei,
        },
        deps.fundRules,
      );
      if (verdict.tag === 'enough') continue;
      if (verdict.tag !== 'send') {
        complain(verdict.tag === 'over_daily' ? OVER_DAILY : `the treasury ${from} is empty`);
        return;
      }
      const { amountWei } = verdict;
      const state = await makeMove(context, {
        kind: 'fund',
        wallet: from,
        counterparty: wallet,
        amountUsdg: 0n,
        amountWei,
        to: wallet,
        data: '0x',
        notAfter: Number(block.timestamp + SEND_WITHIN_SECONDS),
      });
      // Whatever else it came to, the next round decides by what the chain says then.
      if (state?.tag !== 'mined') return;
      left -= amountWei + keepWei;
    }
  };

  return {
    look: () =>
      turn(async () => {
        await deps.refreshPrice();
        const open = await settleMoves(context);
        const all = treasury === null ? wallets : [...wallets, treasury];
        const { block, holdings } = await readChain(all);
        const own = holdings.filter(({ wallet }) => wallet !== treasury);
        for (const { wallet, usdg } of own) deps.onUsdg(wallet, usdg);
        const low = own
          .filter(({ wei }) => wei < deps.fundRules.lowWei)
          .toSorted((a, b) => (a.wei < b.wei ? -1 : 1));
        deps.onLow(low.length);
        warning = low.length === 0 ? null : low.map(lowText).join('; ');
        for (const holding of low) {
          if (alarms.lets(holding.wallet)) logger.warn({ low: lowText(holding) }, 'ETH runs out');
        }
        if (treasury === null || low.length === 0) return;
        if (open.some(({ kind }) => kind === 'fund')) return;
        if (await isBehind(treasury, block.number)) return;
        const held = holdings.find(({ wallet }) => wallet === treasury)?.wei ?? 0n;
        await fund(treasury, held, low, block);
      }),
    sweep: (rules) =>
      turn(async () => {
        await deps.refreshPrice();
        await settleMoves(context);
        const { sweepTo } = deps;
        if (sweepTo === null) return ['RELAY_SWEEP_TO is not set: nothing is swept'];
        const { block, holdings } = await readChain(wallets);
        const swept = await sweep(context, holdings, sweepTo, rules, block.timestamp);
        return swept.length === 0
          ? ['nothing to sweep: no wallet holds enough above the float']
          : swept.map((one) => sweptText(one, sweepTo));
      }),
    warning: () => warning,
  };
}

const OVER_DAILY = 'the treasury has sent what RELAY_TREASURY_DAILY_ETH allows in a day';

const lowText = ({ wallet, wei }: Holding): string => `${wallet} has ${wei} wei left`;

function sweptText({ wallet, amountUsdg, state }: Swept, to: Address): string {
  const amount = `${usdgText(amountUsdg)} USDG of ${wallet} to ${to}`;
  if (state === null) return `${wallet}: its last sweep is still under way`;
  if (state.tag === 'refused') return `${amount}: not sent, ${state.message}`;
  return `${amount}: ${state.tag}${'hash' in state ? ` ${state.hash}` : ''}`;
}
