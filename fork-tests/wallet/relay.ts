import { z } from 'zod';
import { ACTION_TYPES, type ActionJson, actionFromJson } from '../../contracts-abi/typed-data.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import { readInput } from './read-input.ts';

const planSchema = z.object({
  action: z.custom<ActionJson>((value) => typeof value === 'object' && value !== null),
  typedData: z.object({
    domain: z.object({
      name: z.string(),
      version: z.string(),
      chainId: z.number(),
      verifyingContract: z.custom<`0x${string}`>((value) => typeof value === 'string'),
    }),
  }),
  relayerUrl: z.url(),
});

export type RelayStep = { signedFee: string; status: number; answer: unknown };

/**
 * What an agent's host does (interface.md section 5): sign, post; on a 402 re-sign only the fee, with the same nonce
 * and deadline. Here the host's fee cap is $1.
 */
export async function* relay(role: Role, body: Record<string, unknown>): AsyncGenerator<RelayStep> {
  const { action, typedData, relayerUrl } = readInput(planSchema, body);
  const { account } = devAccount(role);
  const post = async (fee: string): Promise<RelayStep> => {
    const signed = { ...action, fee };
    const signature = await account.signTypedData({
      domain: typedData.domain,
      types: ACTION_TYPES,
      primaryType: 'Action',
      message: actionFromJson(signed),
    });
    const response = await fetch(relayerUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ action: signed, signature }),
      signal: AbortSignal.timeout(60_000),
    });
    return { signedFee: fee, status: response.status, answer: await response.json() };
  };
  const first = await post(action.fee);
  yield first;
  if (first.status !== 402) return;
  const { requiredFee } = z.object({ requiredFee: z.string() }).parse(first.answer);
  if (BigInt(requiredFee) > 1_000_000n)
    throw new Error(`the fee asked (${requiredFee}) is over the cap of $1`);
  yield await post(requiredFee);
}
