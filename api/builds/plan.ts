/** What every build shares: the approval, the dry run, the warnings (wire.md, Plans), and the block it was made at. */
import { type Address, encodeFunctionData, erc20Abi, type Hex, multicall3Abi } from 'viem';
import { formatDecimal, mulDivDown } from '../../contracts-abi/rounding.ts';
import type { BlockSeen } from '../../runtime/chain/block-time.ts';
import {
  dryRun,
  dryRunAfterApproval,
  NEEDS_APPROVAL,
  NOT_ASKED,
  type Simulation,
} from '../chain/dry-run.ts';
import { type Pending, type ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { NAV_PER_USDG } from '../../runtime/quotes/basket-quote.ts';
import type { Basket } from '../catalog/catalog.ts';
import type { Service } from '../service.ts';

type Tx = { to: Address; data: Hex; value: string };
export type Approval = { to: Address; data: Hex };

/** What a plan costs in fees, USDG base units; the pools' own fees are in the prices. "0" where a fee does not apply. */
export type Fees = {
  /** 0.20% of what is swapped, on a buy. */
  mintUsdg: string;
  /** 0.20% of what the swaps yield, on a sale. */
  sellUsdg: string;
  /** What whoever fills the order is paid: max($0.25, 0.15%), at most 1% of each fill. */
  executorUsdg: string;
};

export const NO_FEES: Fees = { mintUsdg: '0', sellUsdg: '0', executorUsdg: '0' };

export type Plan = {
  approval: Approval | null;
  tx: Tx;
  simulation: Simulation;
  warnings: string[];
  /** Number of the block whose state the plan was made from. */
  asOfBlock: number;
  /** Unix seconds after which `tx` can no longer be mined; null: it carries no deadline. */
  expiresAt: number | null;
  fees: Fees;
};

/** What a wallet has and has allowed, as reads of the build's one batch. */
export type Funding = {
  token: Address;
  balance: Pending<bigint>;
  allowance: Pending<bigint>;
  eth: Pending<bigint>;
};

export function planFunding(
  batch: ReadBatch,
  service: Service,
  token: Address,
  owner: Address,
  spender: Address,
): Funding {
  return {
    token,
    balance: batch.add({ to: token, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
    allowance: batch.add({
      to: token,
      abi: erc20Abi,
      functionName: 'allowance',
      args: [owner, spender],
    }),
    eth: planEth(batch, service, owner),
  };
}

/** The ETH balance of an address. */
export function planEth(batch: ReadBatch, service: Service, owner: Address): Pending<bigint> {
  return batch.add({
    to: service.deployment.multicall3,
    abi: multicall3Abi,
    functionName: 'getEthBalance',
    args: [owner],
  });
}

/** Exactly `amount`, or null where the allowance suffices. */
export function approvalFor(funding: Funding, spender: Address, amount: bigint): Approval | null {
  if (required(funding.allowance, 'the allowance') >= amount) return null;
  return {
    to: funding.token,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, amount] }),
  };
}

/** Words for a USDG balance below what the transaction needs; null when it suffices. */
export function usdgShortfall(balance: bigint, needed: bigint): string | null {
  if (balance >= needed) return null;
  const dollars = (amount: bigint) => formatDecimal(amount, 6);
  return `you have ${dollars(balance)} USDG, this needs ${dollars(needed)}: ${dollars(needed - balance)} short`;
}

/** More than fees and pools of a usual depth explain. */
const FAR_BPS = 300n;

/**
 * Words for a price far from what the basket is worth: the tolerance is relative to the quote, and does not speak of
 * it. Null where it is near, or where nothing is known to compare it with.
 * @param trade USDG base units that a buy spends or a sale yields, for these shares
 */
export function farFromNav(
  service: Service,
  basket: Basket,
  trade: { side: 'buy' | 'sell'; usdg: bigint; shares: bigint },
): string | null {
  const { marks } = service;
  const { nav } = marks.markOf(basket);
  const worth = nav === null ? 0n : mulDivDown(trade.shares, nav, NAV_PER_USDG);
  if (worth === 0n || !marks.live()) return null;
  const gap = trade.side === 'buy' ? trade.usdg - worth : worth - trade.usdg;
  const bps = mulDivDown(gap < 0n ? 0n : gap, 10_000n, worth);
  if (bps < FAR_BPS) return null;
  const says = trade.side === 'buy' ? 'costs' : 'yields';
  const than = trade.side === 'buy' ? 'more' : 'less';
  return `this ${says} ${formatDecimal(bps, 2)}% ${than} than the shares are worth by their NAV: the pools are shallow for this size`;
}

const NO_ETH = 'the address has no ETH: transactions on this chain need some for gas';

/** Completes a plan: warnings, and the dry run where it can be made. */
export async function finishPlan(
  service: Service,
  input: {
    from: Address;
    tx: { to: Address; data: Hex };
    approval: Approval | null;
    simulate: boolean;
    /** Balance of the sender; null: not known, and not warned of. */
    eth: bigint | null;
    warnings: readonly (string | null)[];
    block: BlockSeen;
    expiresAt: number | null;
    fees: Fees;
  },
): Promise<Plan> {
  const { from, tx, approval, simulate, eth, block, expiresAt, fees } = input;
  const warnings = [...input.warnings, eth === 0n ? NO_ETH : null].filter((text) => text !== null);
  const simulation = simulate ? await simulationOf(service, from, tx, approval, block) : NOT_ASKED;
  const asOfBlock = block.number;
  return { approval, tx: { ...tx, value: '0' }, simulation, warnings, asOfBlock, expiresAt, fees };
}

async function simulationOf(
  service: Service,
  from: Address,
  tx: { to: Address; data: Hex },
  approval: Approval | null,
  block: BlockSeen,
): Promise<Simulation> {
  const { client } = service;
  if (approval === null) return await dryRun(client, { from, ...tx });
  const afterApproval = await dryRunAfterApproval(
    client,
    { from, ...approval },
    { from, ...tx },
    block,
  );
  return { ok: null, skipped: NEEDS_APPROVAL, afterApproval };
}
