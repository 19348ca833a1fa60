/** Takes the constituents of shares instead of USDG, free of charge (IBasketVault.redeem). */
import { type Address, encodeFunctionData, erc20Abi } from 'viem';
import { basketVaultAbi } from '../../contracts-abi/generated/index.ts';
import { planBlock } from '../../runtime/chain/block-time.ts';
import { refuseSurely } from '../chain/newest-block.ts';
import { type BlockId, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { RedeemRequest } from '../schemas/transactions.ts';
import { basketOf, type Service } from '../service.ts';
import { finishPlan, NO_FEES, type Plan, planEth } from './plan.ts';
import { insufficientShares } from './refusals.ts';

export type RedeemPlan = Plan & {
  mode: 'inkind';
  /** What arrives at this block's fee index, base units of each token, rounded down. */
  receives: { symbol: string; token: Address; amountWei: string }[];
};

/**
 * Needs no approval: the vault burns the sender's own shares. A token that refuses to move is credited in the vault
 * (`claimOwed`) and stops nothing.
 * @throws ApiError UNKNOWN_BASKET, INSUFFICIENT_SHARES, UPSTREAM.
 */
export async function buildRedeem(service: Service, request: RedeemRequest): Promise<RedeemPlan> {
  return await refuseSurely(service, (block) => buildAt(service, request, block));
}

async function buildAt(service: Service, request: RedeemRequest, at: BlockId): Promise<RedeemPlan> {
  const { client, deployment, balances } = service;
  const { address, shares } = request;
  const basket = basketOf(service, request.ticker, 400);
  const vault = { to: basket.vault, abi: basketVaultAbi } as const;

  const batch = new ReadBatch();
  const held = batch.add({
    to: basket.vault,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [address],
  });
  const previewed = batch.add({ ...vault, functionName: 'previewRedeem', args: [shares] });
  const eth = planEth(batch, service, address);
  const seen = planBlock(batch, deployment);
  await batch.send(client, deployment.multicall3, at);

  const balance = required(held, 'the balance of shares');
  balances.saw(basket.vault, address, balance);
  if (balance < shares) throw insufficientShares(balance, shares);
  const amounts = required(previewed, 'what the shares redeem for');
  const plan = await finishPlan(service, {
    from: address,
    tx: {
      to: basket.vault,
      data: encodeFunctionData({
        abi: basketVaultAbi,
        functionName: 'redeem',
        args: [shares, address],
      }),
    },
    approval: null,
    simulate: request.simulate,
    eth: required(eth, 'the ETH balance'),
    warnings: [],
    block: seen(),
    expiresAt: null,
    fees: NO_FEES,
  });
  const receives = basket.constituents.map(({ symbol, token }, index) => ({
    symbol,
    token,
    amountWei: (amounts[index] ?? 0n).toString(),
  }));
  return { ...plan, mode: 'inkind', receives };
}
