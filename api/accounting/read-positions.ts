/**
 * An owner's positions (wire.md, /v1/positions): shares, cost and profit as of one block, valued at the marks.
 * The cost follows the rules of cost-basis.ts; shares in exit orders are still their owner's.
 */
import { type Address, zeroAddress } from 'viem';
import { toNumber } from '../../contracts-abi/rounding.ts';
import { requireIndex, type Service } from '../service.ts';
import { accountAtHead } from './account-at-head.ts';
import { type Basis, pricePerShare, valueOf } from './cost-basis.ts';
import type { Holding } from './holdings.ts';

/** @throws ApiError UPSTREAM. */
export async function readPositions(service: Service, address: Address) {
  requireIndex(service);
  // Where shares end that are burnt: they are nobody's.
  if (address === zeroAddress) return { address, positions: [] };
  const navs = await navsNow(service);
  const navNow = (vault: Address) => navs.get(vault) ?? 0n;
  const account = await accountAtHead(service, address, navNow);
  const positions = account.flatMap(({ holding, basis }) => {
    const row = positionOf(holding, basis, navNow(holding.basket.vault));
    return row === null ? [] : [row];
  });
  return { address, positions };
}

/** Spot NAVs; where a basket has none now, its last known one, and zero for one that never had any. */
async function navsNow({ marks, ledger }: Service): Promise<Map<Address, bigint>> {
  const { chainTime } = marks.snapshot();
  const navs = marks.rows().map(async ({ basket: { vault }, nav }) => {
    return [vault, nav ?? (await ledger.lastPrice(vault, chainTime)) ?? 0n] as const;
  });
  return new Map(await Promise.all(navs));
}

/** Null for a basket that is not held and has earned and lost nothing. */
function positionOf(holding: Holding, { cost, realized }: Basis, nav: bigint) {
  const { basket, wallet, escrowed, shares } = holding;
  if (shares === 0n && realized === 0n) return null;
  const value = valueOf(shares, nav);
  const entry = pricePerShare(shares, cost);
  return {
    ticker: basket.ticker,
    shares: toNumber(shares, 18),
    walletShares: toNumber(wallet, 18),
    escrowedShares: toNumber(escrowed, 18),
    sharesWei: shares.toString(),
    walletSharesWei: wallet.toString(),
    nav: toNumber(nav, 18),
    value: toNumber(value, 6),
    costBasis: toNumber(cost, 6),
    avgEntry: entry === null ? null : toNumber(entry, 18),
    unrealizedPnl: toNumber(value - cost, 6),
    realizedPnl: toNumber(realized, 6),
  };
}
