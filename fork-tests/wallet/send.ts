import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { addressSchema, bytesSchema, uintStringSchema } from '../../runtime/schema.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import type { DevWallet } from './open.ts';

const call = z.object({ to: addressSchema, data: bytesSchema(200_000) });
const planSchema = z.object({
  approval: call.nullable().default(null),
  tx: call.extend({ value: uintStringSchema }),
});

export type Sent = { hash: Hex; status: 'success' | 'reverted'; gasUsed: string };

/** Signs and sends one transaction and waits until it is mined. */
export async function sendCall(
  wallet: DevWallet,
  role: Role,
  to: Address,
  data: Hex,
  value = 0n,
): Promise<Sent> {
  const { account } = devAccount(role);
  const hash = await wallet.client.sendTransaction({ account, to, data, value });
  const receipt = await wallet.client.waitForTransactionReceipt({ hash, timeout: 30_000 });
  return { hash, status: receipt.status, gasUsed: receipt.gasUsed.toString() };
}

/** A plan of the API: the approval first where there is one, then the transaction. */
export async function send(
  wallet: DevWallet,
  role: Role,
  body: Record<string, unknown>,
): Promise<{ approval: Sent | null; tx: Sent }> {
  const plan = planSchema.parse(body);
  const approval =
    plan.approval === null
      ? null
      : await sendCall(wallet, role, plan.approval.to, plan.approval.data);
  const tx = await sendCall(wallet, role, plan.tx.to, plan.tx.data, BigInt(plan.tx.value));
  return { approval, tx };
}
