/** The body of a relay request: `{action, signature}` and nothing else (wire.md, Relayer). */
import type { Hex } from 'viem';
import { z } from 'zod';
import { ACTION_KIND, type Action } from '../contracts-abi/typed-data.ts';
import { addressSchema, bytesSchema, firstProblem, uintStringSchema } from '../runtime/schema.ts';

/** Ten legs of swaps over two pools each are under 8 kB. */
const MAX_DATA_BYTES = 32_768;
/** Longer than any signature: its exact length is the signature check's to judge. */
const MAX_SIGNATURE_BYTES = 1_024;

const uint = uintStringSchema.transform((text) => BigInt(text));

function uintNumber(bits: number) {
  const message = `expected a whole number below 2^${bits}`;
  return z
    .int({ error: message })
    .min(0, message)
    .max(2 ** bits - 1, message);
}

const kinds: readonly number[] = Object.values(ACTION_KIND);

const actionSchema = z.strictObject({
  account: addressSchema,
  key: addressSchema,
  kind: uintNumber(8).refine((kind) => kinds.includes(kind), 'expected 0 (buy) or 1 (sell)'),
  vault: addressSchema,
  amount: uint,
  limit: uint,
  slippageBps: uintNumber(16),
  data: bytesSchema(MAX_DATA_BYTES),
  nonce: uint,
  deadline: uintNumber(48),
  fee: uint,
});

const bodySchema = z.strictObject({
  action: actionSchema,
  signature: bytesSchema(MAX_SIGNATURE_BYTES),
});

/** The fields that only an Action has; a CoverAction has none of them. */
const ACTION_ONLY = ['vault', 'amount', 'limit', 'slippageBps'] as const;
const COVER_FIELDS = ['account', 'key', 'kind', 'data', 'nonce', 'deadline', 'fee'] as const;

function isCoverShape(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('action' in body)) return false;
  const action: unknown = body.action;
  if (typeof action !== 'object' || action === null) return false;
  return (
    COVER_FIELDS.every((field) => Object.hasOwn(action, field)) &&
    ACTION_ONLY.every((field) => !Object.hasOwn(action, field))
  );
}

export type ParsedBody =
  | { tag: 'action'; action: Action; signature: Hex }
  | { tag: 'cover' }
  | { tag: 'invalid'; message: string };

/** Parses a JSON value; the message names the field that is wrong, never its value. */
export function parseRelayBody(body: unknown): ParsedBody {
  if (isCoverShape(body)) return { tag: 'cover' };
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) return { tag: 'invalid', message: firstProblem(parsed.error) };
  return { tag: 'action', action: parsed.data.action, signature: parsed.data.signature };
}
