/**
 * An owner's positions (wire.md, /v1/positions): shares as the chain shows them now, their cost and profit by the index.
 * The cost follows the rules of cost-basis.ts; shares in exit orders are still their owner's.
 */
import { type Address, erc20Abi } from 'viem';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import { toNumber } from '../../contracts-abi/rounding.ts';
import type { Basket } from '../catalog/catalog.ts';
import { ReadBatch, required } from '../chain/read-batch.ts';
import { requireIndex, type Service } from '../service.ts';
import { type Basis, NOTHING, pricePerShare, settleTo, valueOf } from './cost-basis.ts';

/** One aggregated read, beside the index. @throws ApiError UPSTREAM. */
export async function readPositions(service: Service, address: Address) {
  const { client, deployment, marks, ledger } = service;
  requireIndex(service);
  const { baskets } = marks.catalog();
  const navs = await navsNow(service);
  const batch = new ReadBatch();
  const reads = baskets.map((basket) => ({
    basket,
    wallet: batch.add({
      to: basket.vault,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [address],
    }),
    escrowed: batch.add({
      to: deployment.exitEscrow,
      abi: exitEscrowAbi,
      functionName: 'escrowedShares',
      args: [address, basket.vault],
    }),
  }));
  const [books] = await Promise.all([
    ledger.basisOf(address, (vault) => navs.get(vault) ?? 0n),
    batch.send(client, deployment.multicall3),
  ]);
  const positions = reads.flatMap(({ basket, wallet, escrowed }) => {
    const held = {
      wallet: required(wallet, `the balance of ${basket.ticker}`),
      escrowed: required(escrowed, `the escrow of ${basket.ticker}`),
    };
    const basis = books.get(basket.vault) ?? NOTHING;
    const row = positionOf(basket, held, basis, navs.get(basket.vault) ?? 0n);
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
export function positionOf(
  { ticker }: Pick<Basket, 'ticker'>,
  held: { wallet: bigint; escrowed: bigint },
  known: Basis,
  nav: bigint,
) {
  const shares = held.wallet + held.escrowed;
  const { cost, realized } = settleTo(known, shares, nav);
  if (shares === 0n && realized === 0n) return null;
  const value = valueOf(shares, nav);
  const entry = pricePerShare(shares, cost);
  return {
    ticker,
    shares: toNumber(shares, 18),
    walletShares: toNumber(held.wallet, 18),
    escrowedShares: toNumber(held.escrowed, 18),
    sharesWei: shares.toString(),
    walletSharesWei: held.wallet.toString(),
    nav: toNumber(nav, 18),
    value: toNumber(value, 6),
    costBasis: toNumber(cost, 6),
    avgEntry: entry === null ? null : toNumber(entry, 18),
    unrealizedPnl: toNumber(value - cost, 6),
    realizedPnl: toNumber(realized, 6),
  };
}
