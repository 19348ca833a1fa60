/** `GET /relay/v1/actions/{digest}`: where an action stands, for a client that was answered 202 or not at all. */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { ApiError } from '../../runtime/errors.ts';
import { hash32Schema } from '../../runtime/schema.ts';
import type { Sender } from '../../runtime/sender/types.ts';
import { statusOf } from '../answer.ts';
import { senderStateOf } from '../slot-state.ts';
import type { SlotStore } from '../slot-store.ts';

const parameters = z.object({ digest: hash32Schema });

export function actionStatusRoute(slots: SlotStore, sender: Sender): RequestHandler {
  return async (request, response) => {
    const { digest } = parameters.parse(request.params);
    const slot = await slots.findByDigest(digest);
    if (slot === null)
      throw new ApiError('NOT_FOUND', 'no action with this digest was posted here');
    const state = await senderStateOf(sender, slot);
    response.set('Cache-Control', 'no-store').json({ ok: true, digest, ...statusOf(slot, state) });
  };
}
