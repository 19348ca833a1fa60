/** What every build shares: the approval, the dry run, the warnings (wire.md, Plans). */
import { type Address, encodeFunctionData, erc20Abi, type Hex, multicall3Abi } from 'viem';
import { formatDecimal } from '../../contracts-abi/rounding.ts';
import { dryRun, NEEDS_APPROVAL, NOT_ASKED, type Simulation } from '../chain/dry-run.ts';
import { type Pending, type ReadBatch, required } from '../chain/read-batch.ts';
import type { Service } from '../service.ts';

type Tx = { to: Address; data: Hex; value: string };
export type Approval = { to: Address; data: Hex };
export type Plan = {
  approval: Approval | null;
  tx: Tx;
  simulation: Simulation;
  warnings: string[];
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
    eth: batch.add({
      to: service.deployment.multicall3,
      abi: multicall3Abi,
      functionName: 'getEthBalance',
      args: [owner],
    }),
  };
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
  return `the address holds ${dollars(balance)} USDG and this needs ${dollars(needed)}: ${dollars(needed - balance)} USDG short`;
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
    eth: bigint;
    warnings: readonly (string | null)[];
  },
): Promise<Plan> {
  const { from, tx, approval, simulate, eth } = input;
  const warnings = [...input.warnings, eth === 0n ? NO_ETH : null].filter((text) => text !== null);
  const simulation = await simulationOf(service, { from, ...tx }, approval, simulate);
  return { approval, tx: { ...tx, value: '0' }, simulation, warnings };
}

async function simulationOf(
  service: Service,
  tx: { from: Address; to: Address; data: Hex },
  approval: Approval | null,
  simulate: boolean,
): Promise<Simulation> {
  if (!simulate) return NOT_ASKED;
  if (approval !== null) return NEEDS_APPROVAL;
  return await dryRun(service.client, tx);
}
