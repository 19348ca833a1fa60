/**
 * `GET /relay/v1/actions/{digest}?waitMs=`: where an action stands, for a client that was answered 202 or not at all;
 * with its receipt once it was accepted.
 */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { ApiError } from '../../runtime/errors.ts';
import { hash32Schema } from '../../runtime/schema.ts';
import type { Sender } from '../../runtime/sender/types.ts';
import { statusOf } from '../answer.ts';
import type { Receipts } from '../receipts.ts';
import { senderStateOf } from '../slot-state.ts';
import type { SlotStore } from '../slot-store.ts';
import { type StatusWaits, waitQuery } from './status-wait.ts';

const parameters = z.object({ digest: hash32Schema });
const query = z.strictObject(waitQuery);

/** Nothing more comes of it but a reorg. */
const FINAL: readonly string[] = ['mined', 'reverted'];

export function actionStatusRoute(deps: {
  slots: SlotStore;
  sender: Sender;
  receipts: Receipts;
  waits: StatusWaits;
}): RequestHandler {
  const { slots, sender, receipts } = deps;
  return async (request, response) => {
    const { digest } = parameters.parse(request.params);
    const { waitMs } = query.parse(request.query);
    const body = await deps.waits.untilChanged(async () => {
      const slot = await slots.findByDigest(digest);
      if (slot === null) {
        throw new ApiError('NOT_FOUND', 'no action with this digest was posted here');
      }
      const status = statusOf(slot, await senderStateOf(sender, slot));
      const receipt = await receipts.of(slot);
      return {
        body: { ok: true, digest, ...status, ...(receipt === null ? {} : { receipt }) },
        digest,
        final: FINAL.includes(status.status),
      };
    }, waitMs);
    response.set('Cache-Control', 'no-store').json(body);
  };
}
