/** Shares of every basket that an owner has, and the block that says so: one aggregated read. */
import { type Address, erc20Abi } from 'viem';
import { exitEscrowAbi } from '../../contracts-abi/generated/index.ts';
import type { Basket } from '../catalog/catalog.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { Service } from '../service.ts';

/** Shares 1e18; those in open exit orders are still their owner's. `shares` = `wallet` + `escrowed`. */
export type Holding = { basket: Basket; wallet: bigint; escrowed: bigint; shares: bigint };

/** @throws ApiError UPSTREAM. */
export async function readHoldings(
  { client, deployment }: Pick<Service, 'client' | 'deployment'>,
  baskets: readonly Basket[],
  owner: Address,
): Promise<{ block: number; holdings: Holding[] }> {
  const batch = new ReadBatch();
  const reads = baskets.map((basket) => ({
    basket,
    wallet: batch.add({
      to: basket.vault,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [owner],
    }),
    escrowed: batch.add({
      to: deployment.exitEscrow,
      abi: exitEscrowAbi,
      functionName: 'escrowedShares',
      args: [owner, basket.vault],
    }),
  }));
  const block = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3);
  return {
    block: block().number,
    holdings: reads.map((read) => {
      const { basket } = read;
      const wallet = required(read.wallet, `the balance of ${basket.ticker}`);
      const escrowed = required(read.escrowed, `the escrow of ${basket.ticker}`);
      return { basket, wallet, escrowed, shares: wallet + escrowed };
    }),
  };
}
