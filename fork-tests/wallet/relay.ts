import type { Hex } from 'viem';
import { z } from 'zod';
import { ACTION_TYPES, COVER_ACTION_TYPES } from '../../contracts-abi/typed-data.ts';
import { parseRelayBody } from '../../relayer/action-schema.ts';
import { isTrade, type SignedAction } from '../../relayer/signed-action.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import { readInput } from './read-input.ts';

const planSchema = z.object({
  action: z.looseObject({ fee: z.string() }),
  typedData: z.object({
    domain: z.object({
      name: z.string(),
      version: z.string(),
      chainId: z.number(),
      verifyingContract: z.custom<`0x${string}`>((value) => typeof value === 'string'),
    }),
    primaryType: z.enum(['Action', 'CoverAction'], 'expected Action or CoverAction'),
  }),
  relayerUrl: z.url(),
});
type Plan = z.output<typeof planSchema>;

export type RelayStep = { signedFee: string; status: number; answer: unknown };

/**
 * The plan's action with chain types: of /v1/agent/trade an Action, of /v1/agent/cover a CoverAction.
 * @throws Error in one line where it is not whole, or not of the type that the plan names.
 */
function actionOf({ action, typedData }: Plan): SignedAction {
  const parsed = parseRelayBody({ action, signature: '0x' });
  if (parsed.tag === 'invalid') throw new Error(`of this plan ${parsed.message}`);
  if (isTrade(parsed.action) !== (typedData.primaryType === 'Action')) {
    throw new Error(`this plan's action is not the ${typedData.primaryType} of its typedData`);
  }
  return parsed.action;
}

async function sign(role: Role, action: SignedAction, { domain }: Plan['typedData']): Promise<Hex> {
  const { account } = devAccount(role);
  return isTrade(action)
    ? await account.signTypedData({
        domain,
        types: ACTION_TYPES,
        primaryType: 'Action',
        message: action,
      })
    : await account.signTypedData({
        domain,
        types: COVER_ACTION_TYPES,
        primaryType: 'CoverAction',
        message: action,
      });
}

/**
 * What an agent's host does (interface.md section 5): sign, post; on a 402 re-sign only the fee, with the same nonce
 * and deadline. Here the host's fee cap is $1.
 */
export async function* relay(role: Role, body: Record<string, unknown>): AsyncGenerator<RelayStep> {
  const plan = readInput(planSchema, body);
  const action = actionOf(plan);
  const post = async (fee: string): Promise<RelayStep> => {
    const signature = await sign(role, { ...action, fee: BigInt(fee) }, plan.typedData);
    const response = await fetch(plan.relayerUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ action: { ...plan.action, fee }, signature }),
      signal: AbortSignal.timeout(60_000),
    });
    return { signedFee: fee, status: response.status, answer: await response.json() };
  };
  const first = await post(plan.action.fee);
  yield first;
  if (first.status !== 402) return;
  const { requiredFee } = z.object({ requiredFee: z.string() }).parse(first.answer);
  if (BigInt(requiredFee) > 1_000_000n)
    throw new Error(`the fee asked (${requiredFee}) is over the cap of $1`);
  yield await post(requiredFee);
}
