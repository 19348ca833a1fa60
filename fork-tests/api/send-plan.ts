/** What a wallet does with a plan: send the approval, wait, send the transaction, wait. */
import { erc20Abi, type Hex, type TransactionReceipt } from 'viem';
import { expect } from 'vitest';
import { receiptOf } from '../chain/client.ts';
import type { Role } from '../chain/seed/accounts.ts';
import type { Fork } from '../harness/fork.ts';
import { type Answer, expectOk } from './use-api.ts';

type PlanBody = {
  approval: { to: Hex; data: Hex } | null;
  tx: { to: Hex; data: Hex; value: string };
  simulation: DryRun & { afterApproval?: DryRun };
  warnings: string[];
  asOfBlock: number;
  expiresAt: number | null;
  fees: { mintUsdg: string; sellUsdg: string; executorUsdg: string };
} & RouteFields;

type DryRun = { ok: boolean | null; gas?: string; reason?: string; skipped?: string };

/** What the routes add, each its own (wire.md, Plans). */
type RouteFields = {
  amountInUsdg: string;
  minShares: string;
  estShares: number;
  legs: number;
  sharesWei: string;
  expectedUsdg: string;
  minOutUsdg: string;
  kind: string;
  note: string;
  deadline: number;
  mode: string;
  receives: { symbol: string; token: Hex; amountWei: string }[];
};

/** The body of a 200. */
export function planOf(answer: Answer): PlanBody {
  expectOk(answer);
  return answer.body as unknown as PlanBody;
}

export async function sendCall(
  fork: Fork,
  role: Role,
  to: Hex,
  data: Hex,
): Promise<TransactionReceipt> {
  const account = fork.accounts[role].account.address;
  // An estimate in a block where a pool has just written its observation misses the next block's write.
  const estimate = await fork.client.estimateGas({ account, to, data });
  const hash = await fork
    .userClient(role)
    .sendTransaction({ to, data, gas: (estimate * 13n) / 10n });
  return await receiptOf(fork.client, hash, 20_000);
}

/** Sends the approval alone, so that the same request can then be simulated. */
export async function sendApproval(fork: Fork, role: Role, plan: PlanBody): Promise<void> {
  if (plan.approval === null) return;
  const receipt = await sendCall(fork, role, plan.approval.to, plan.approval.data);
  expect(receipt.status).toBe('success');
}

export async function sendPlan(
  fork: Fork,
  role: Role,
  plan: PlanBody,
): Promise<TransactionReceipt> {
  await sendApproval(fork, role, plan);
  const receipt = await sendCall(fork, role, plan.tx.to, plan.tx.data);
  expect(receipt.status).toBe('success');
  return receipt;
}

export async function balanceOf(fork: Fork, token: Hex, owner: Hex): Promise<bigint> {
  return await fork.client.readContract({
    address: token,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [owner],
  });
}
