import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { addressSchema, bytesSchema, uintStringSchema } from '../../runtime/schema.ts';
import { estimateGas, receiptOf } from '../chain/client.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import type { DevWallet } from './open.ts';
import { readInput } from './read-input.ts';

const call = z.object({ to: addressSchema, data: bytesSchema(200_000) });
const planSchema = z.object({
  approval: call.nullable().default(null),
  tx: call.extend({ value: uintStringSchema }),
});

export type Sent = { hash: Hex; status: 'success'; gasUsed: string };

/**
 * Signs and sends one transaction and waits until it is mined. Gas is the estimate and a half: what a swap needs moves
 * with the market between the estimate and the block.
 * @throws with the reason when it would revert or did.
 */
export async function sendCall(
  wallet: DevWallet,
  role: Role,
  to: Address,
  data: Hex,
  value = 0n,
): Promise<Sent> {
  const { account } = devAccount(role);
  const { client } = wallet;
  const gas = ((await estimateGas(client, account.address, { to, data, value })) * 3n) / 2n;
  const hash = await client.sendTransaction({ account, to, data, value, gas });
  const { status, gasUsed } = await receiptOf(client, hash, 30_000);
  if (status !== 'success') {
    throw new Error(
      `transaction ${hash} was mined and reverted: the market moved past its limit; build the plan again`,
    );
  }
  return { hash, status, gasUsed: gasUsed.toString() };
}

/** A plan of the API: the approval first where there is one, then the transaction. */
export async function send(
  wallet: DevWallet,
  role: Role,
  body: Record<string, unknown>,
): Promise<{ approval: Sent | null; tx: Sent }> {
  const plan = readInput(planSchema, body);
  const approval =
    plan.approval === null
      ? null
      : await sendCall(wallet, role, plan.approval.to, plan.approval.data);
  const tx = await sendCall(wallet, role, plan.tx.to, plan.tx.data, BigInt(plan.tx.value));
  return { approval, tx };
}
