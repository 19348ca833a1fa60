/**
 * `GET /relay/v1/account/{account}/nonce/{nonce}?waitMs=&module=`: may a nonce's action still run, or has it?
 * For a client that does not know what became of what it signed.
 */
import type { RequestHandler } from 'express';
import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { ApiError } from '../../runtime/errors.ts';
import { addressSchema, uintStringSchema } from '../../runtime/schema.ts';
import type { Sender } from '../../runtime/sender/types.ts';
import { statusOf } from '../answer.ts';
import type { NonceState } from '../chain/nonce-state.ts';
import type { Receipts } from '../receipts.ts';
import { senderStateOf } from '../slot-state.ts';
import type { SlotStore } from '../slot-store.ts';
import { nonceWord } from '../slots.ts';
import { type StatusWaits, waitQuery } from './status-wait.ts';

const parameters = z.object({ account: addressSchema, nonce: uintStringSchema });
/** `module`: whose nonce it is; absent: the session module's. */
const query = z.strictObject({ ...waitQuery, module: addressSchema.optional() });

export function nonceStatusRoute(deps: {
  /** The session module first. */
  modules: readonly [Address, ...Address[]];
  slots: SlotStore;
  sender: Sender;
  receipts: Receipts;
  waits: StatusWaits;
  nonceState: (id: { module: Address; account: Address; nonce: bigint }) => Promise<NonceState>;
  /** The transaction that used a nonce, where the chain's logs of late have it. */
  usedBy: (id: { module: Address; account: Address; nonce: bigint }) => Promise<Hex | null>;
}): RequestHandler {
  const { slots, sender } = deps;
  return async (request, response) => {
    const { account, nonce } = parameters.parse(request.params);
    const { waitMs, module = deps.modules[0] } = query.parse(request.query);
    if (!deps.modules.includes(module)) {
      throw new ApiError('BAD_REQUEST', 'module: neither the session module nor the cover module');
    }
    const id = { module, account, nonce: BigInt(nonce) };
    const body = await deps.waits.untilChanged(async () => {
      // The chain first: a nonce that was free there and is claimed by now is told as pending.
      const { used, blockTime } = await deps.nonceState(id);
      const slot = await slots.find(id);
      const action =
        slot === null
          ? null
          : { digest: slot.digest, ...statusOf(slot, await senderStateOf(sender, slot)) };
      const receipt = slot === null ? null : await deps.receipts.of(slot);
      const own = action !== null && action.status !== 'reverted' ? action.hash : null;
      const hash = used && action?.status !== 'mined' ? await deps.usedBy(id) : own;
      return {
        body: {
          ok: true,
          account,
          nonce,
          module,
          used,
          status: nonceWord(slot, { used, blockTime }),
          hash,
          action,
          ...(receipt === null ? {} : { receipt }),
        },
        digest: slot?.digest ?? null,
        final: used,
      };
    }, waitMs);
    response.set('Cache-Control', 'no-store').json(body);
  };
}
