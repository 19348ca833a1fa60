/** What our wallets hold, as the doctor judges it. */
import { type Address, formatUnits, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { readHoldings } from '../money/holdings.ts';
import { transactionsLeft, USUAL_GAS } from '../money/sweep-policy.ts';
import { fail, type Finding, ok, warn } from './finding.ts';

export async function checkBalances(
  client: PublicClient,
  deployment: Pick<Deployment, 'usdg' | 'swapRouter02' | 'multicall3'>,
  wallets: readonly Address[],
  price: { gasPriceWei: bigint; lowTransactions: bigint },
  timeoutMs: number,
): Promise<Finding[]> {
  const holdings = await readHoldings(client, wallets, deployment, timeoutMs);
  return holdings.map(({ wallet, wei, usdg, allowance }) => {
    const left = transactionsLeft(wei, USUAL_GAS, price);
    const says = `${wallet}: ${formatUnits(wei, 18)} ETH for about ${left} transactions, ${formatUnits(usdg, 6)} USDG`;
    if (left === 0n) return fail('wallet', says, 'send it ETH: it cannot send anything');
    if (left < price.lowTransactions) return warn('wallet', says, 'send it ETH soon');
    if (allowance > 0n) {
      const fix = 'a top-up was interrupted: a running keeper takes the approval back';
      return warn('wallet', `${says}, ${formatUnits(allowance, 6)} approved to the router`, fix);
    }
    return ok('wallet', says);
  });
}
