/** `GET /relay/v1/account/{account}/nonce/{nonce}`: is it used on chain, and what does the relayer know of it. */
import type { RequestHandler } from 'express';
import type { Address } from 'viem';
import { z } from 'zod';
import { addressSchema, uintStringSchema } from '../../runtime/schema.ts';
import type { Sender } from '../../runtime/sender/types.ts';
import { statusOf } from '../answer.ts';
import { senderStateOf } from '../slot-state.ts';
import type { SlotStore } from '../slot-store.ts';

const parameters = z.object({ account: addressSchema, nonce: uintStringSchema });

export function nonceStatusRoute(deps: {
  module: Address;
  slots: SlotStore;
  sender: Sender;
  nonceUsed: (account: Address, nonce: bigint) => Promise<boolean>;
}): RequestHandler {
  const { module, slots, sender } = deps;
  return async (request, response) => {
    const { account, nonce } = parameters.parse(request.params);
    const [used, slot] = await Promise.all([
      deps.nonceUsed(account, BigInt(nonce)),
      slots.find({ module, account, nonce: BigInt(nonce) }),
    ]);
    const state = slot === null ? null : await senderStateOf(sender, slot);
    response.set('Cache-Control', 'no-store').json({
      ok: true,
      account,
      nonce,
      used,
      action: slot === null ? null : { digest: slot.digest, ...statusOf(slot, state) },
    });
  };
}
