/** Where earned USDG goes: what lies above the float, to the cold address of the settings. */
import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  getAddress,
  isAddressEqual,
  zeroAddress,
} from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import type { IntentState } from '../sender/types.ts';
import { judgeSweep, type SweepRules } from './sweep-policy.ts';
import { makeMove, type MoveContext } from './move.ts';
import type { Holding } from './holdings.ts';

export type Swept = { wallet: Address; amountUsdg: bigint; state: IntentState | null };

/** A sweep that waits longer than this for its inclusion is decided anew. */
const SEND_WITHIN_SECONDS = 600n;

/**
 * Why an address is no place for a sweep, or null. A cold address is outside: USDG sent to a contract of the protocol,
 * to the token or to nobody is lost, and a wallet of ours sweeps it round and round.
 */
export function sweepProblem(
  to: Address,
  deployment: Deployment,
  wallets: readonly Address[],
): string | null {
  if (isAddressEqual(to, zeroAddress)) return 'it is the zero address';
  if (wallets.some((wallet) => isAddressEqual(wallet, to))) return 'it is a wallet of this process';
  for (const [name, value] of Object.entries(deployment)) {
    if (typeof value === 'string' && value.toLowerCase() === to.toLowerCase()) {
      return `it is a contract of the deployment (${name})`;
    }
  }
  const basket = deployment.baskets.find(({ vault }) => isAddressEqual(vault, to));
  return basket === undefined ? null : `it is the vault of ${basket.ticker}`;
}

/**
 * Sweeps what is due of each wallet, one after another; a wallet whose last sweep is under way is left alone.
 * @returns of each wallet that had something to sweep what came of it: null where its last one is under way
 */
export async function sweep(
  context: MoveContext,
  holdings: readonly Holding[],
  to: Address,
  rules: SweepRules,
  chainSeconds: bigint,
): Promise<Swept[]> {
  const swept: Swept[] = [];
  for (const { wallet, usdg } of holdings) {
    const last = await context.moves.lastMinedMs(wallet, 'sweep');
    const verdict = judgeSweep(usdg, last, context.now(), rules);
    if (verdict.tag !== 'sweep') continue;
    const { amountUsdg } = verdict;
    const args = [getAddress(to), amountUsdg] as const;
    const state = await makeMove(context, {
      kind: 'sweep',
      wallet,
      counterparty: to,
      amountUsdg,
      to: context.usdg,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args }),
      notAfter: Number(chainSeconds + SEND_WITHIN_SECONDS),
    });
    swept.push({ wallet, amountUsdg, state });
  }
  return swept;
}
