/** What a relayer's answer means, by the table of wire.md, Relayer. Pure. */
import type { Address, Hex } from 'viem';
import { z } from 'zod';
import {
  addressSchema,
  firstProblem,
  hash32Schema,
  uintStringSchema,
} from '../../runtime/schema.ts';
import type { Next } from './outcome.ts';

/** An answer as it came over HTTP, or why none did. */
export type Reply =
  | { tag: 'answered'; status: number; body: unknown; retryAfterSeconds: number | null }
  | { tag: 'unanswered'; why: string };

export type Answer =
  /** Mined, and it succeeded. */
  | { tag: 'mined'; hash: Hex; nextFee: bigint | null }
  /** Broadcast, not mined yet. */
  | { tag: 'pending'; hash: Hex }
  /** Nothing was sent: sign the same action with this fee. */
  | { tag: 'fee'; requiredFee: bigint }
  /** The nonce is used on chain; by which version, where the relayer knows. */
  | { tag: 'nonce_used'; hash: Hex | null; executedDigest: Hex | null }
  /** Another version holds the slot. */
  | { tag: 'taken'; digest: Hex | null; message: string }
  /** Refused, nothing sent now; the same body may be good again later where `next` is wait. */
  | {
      tag: 'refused';
      code: string;
      message: string;
      next: Next;
      retryAfterSeconds: number | null;
      /** Unix seconds, where the answer names the chain's time. */
      chainTime: number | null;
      /** The transaction that carried it and reverted, where there was one. */
      hash: Hex | null;
    }
  /** Nobody can say what was done: the truth is with the chain. */
  | { tag: 'doubt'; why: string; hash: Hex | null };

const hash = hash32Schema.nullish().catch(null);
const mined = z.object({
  hash: hash32Schema,
  requiredFee: uintStringSchema.optional().catch(undefined),
});
const pending = z.object({ hash: hash32Schema });
const quote = z.object({ requiredFee: uintStringSchema });
const refusal = z.object({
  error: z.string(),
  code: z.string(),
  next: z
    .enum(['rebuild', 'ask_owner', 'wait', 'resign_fee', 'reconcile'])
    .optional()
    .catch(undefined),
  hash,
  digest: hash,
  executedDigest: hash,
  chainTime: z.int().nullish().catch(null),
});

/** Refusals that say "nothing was sent" of a valid body. Anything outside is read as doubt. */
const REFUSING: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 409, 410, 413, 415, 422]);

/** @param reply of a posted action. */
export function classify(reply: Reply): Answer {
  if (reply.tag === 'unanswered') return { tag: 'doubt', why: reply.why, hash: null };
  const { status, body } = reply;
  if (status === 200) return read(mined, body, toMined);
  if (status === 202) return read(pending, body, ({ hash }) => ({ tag: 'pending', hash }));
  if (status === 402) {
    return read(quote, body, ({ requiredFee }) => ({
      tag: 'fee',
      requiredFee: BigInt(requiredFee),
    }));
  }
  const parsed = refusal.safeParse(body);
  const waits = status === 429 || status === 503;
  if (!parsed.success) {
    // A proxy's own words. Its 503 does not say whether the relayer behind it had the body.
    if (status === 429) return refusedBy('RATE_LIMITED', 'too many requests', 'wait', reply);
    return { tag: 'doubt', why: `status ${status} without the relayer's body`, hash: null };
  }
  const said = parsed.data;
  if (status === 409 && said.code === 'NONCE_USED') {
    return {
      tag: 'nonce_used',
      hash: said.hash ?? null,
      executedDigest: said.executedDigest ?? null,
    };
  }
  if (status === 409 && said.code === 'SLOT_TAKEN') {
    return { tag: 'taken', digest: said.digest ?? null, message: said.error };
  }
  if (waits) return refusedBy(said.code, said.error, 'wait', reply);
  if (REFUSING.has(status)) {
    const { code, error, next = 'rebuild', chainTime = null, hash = null } = said;
    return { ...refusedBy(code, error, next, reply), chainTime, hash };
  }
  return { tag: 'doubt', why: `${status} ${said.code}`, hash: said.hash ?? null };
}

type RefusedAnswer = Extract<Answer, { tag: 'refused' }>;

function refusedBy(
  code: string,
  message: string,
  next: Next,
  { retryAfterSeconds }: Extract<Reply, { tag: 'answered' }>,
): RefusedAnswer {
  return { tag: 'refused', code, message, next, retryAfterSeconds, chainTime: null, hash: null };
}

function toMined({ hash, requiredFee }: z.infer<typeof mined>): Answer {
  return { tag: 'mined', hash, nextFee: requiredFee === undefined ? null : BigInt(requiredFee) };
}

/** A success that is not whole is no success and no refusal. */
function read<S extends z.ZodType>(
  schema: S,
  body: unknown,
  to: (value: z.infer<S>) => Answer,
): Answer {
  const parsed = schema.safeParse(body);
  if (parsed.success) return to(parsed.data);
  return { tag: 'doubt', why: `an answer out of form: ${firstProblem(parsed.error)}`, hash: null };
}

const statusBody = z.object({
  status: z.enum(['unsent', 'accepted', 'pending', 'mined', 'reverted', 'dropped']),
  hash,
});

/** Where the relayer's status route sees a digest; null where it does not know it or did not answer. */
export type ActionStatus = z.infer<typeof statusBody>['status'];

export function readStatus(reply: Reply): { status: ActionStatus; hash: Hex | null } | null {
  if (reply.tag === 'unanswered' || reply.status !== 200) return null;
  const parsed = statusBody.safeParse(reply.body);
  return parsed.success ? { status: parsed.data.status, hash: parsed.data.hash ?? null } : null;
}

const nonceBody = z.object({
  module: addressSchema.optional(),
  used: z.boolean(),
  action: z.object({ digest: hash32Schema, status: z.string(), hash }).nullish().catch(null),
});

/** `module`: whose nonce it is, where the relayer says so. `executed`: by which version, where it knows. */
export type NonceReport = {
  module: Address | null;
  used: boolean;
  executed: { digest: Hex; hash: Hex } | null;
};

/** What the nonce route says; null where it did not answer. */
export function readNonce(reply: Reply): NonceReport | null {
  if (reply.tag === 'unanswered' || reply.status !== 200) return null;
  const parsed = nonceBody.safeParse(reply.body);
  if (!parsed.success) return null;
  const { used, action, module = null } = parsed.data;
  const ran = action?.status === 'mined' && typeof action.hash === 'string';
  const executed = ran ? { digest: action.digest, hash: action.hash as Hex } : null;
  return { module, used, executed };
}

const receiptBody = z.object({ receipt: z.unknown() });

/** The relayer's signed acceptance as it came; null where there is none. Whether it holds is for `verifyReceipt` to say. */
export function receiptIn(reply: Reply): unknown {
  if (reply.tag === 'unanswered') return null;
  const parsed = receiptBody.safeParse(reply.body);
  return parsed.success ? (parsed.data.receipt ?? null) : null;
}
