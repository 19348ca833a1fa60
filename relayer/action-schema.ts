/** The body of a relay request: `{action, signature}` and nothing else (wire.md, Relayer). */
import type { Hex } from 'viem';
import { z } from 'zod';
import { COVER_KIND, decodeCoverData } from '../contracts-abi/cover-data.ts';
import { ACTION_KIND } from '../contracts-abi/typed-data.ts';
import type { SignedAction } from './signed-action.ts';
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

const coverKinds: readonly number[] = Object.values(COVER_KIND);
const SESSION_COVER_KINDS: readonly number[] = [
  COVER_KIND.take,
  COVER_KIND.request,
  COVER_KIND.cancel,
];

const coverSchema = z
  .strictObject({
    account: addressSchema,
    key: addressSchema,
    kind: uintNumber(8)
      .refine((kind) => coverKinds.includes(kind), 'expected 0 (take), 1 (request) or 4 (cancel)')
      .refine(
        (kind) => !coverKinds.includes(kind) || SESSION_COVER_KINDS.includes(kind),
        'offer, fill and stop repeating belong to the owner: a session key may take, request and cancel',
      ),
    data: bytesSchema(MAX_DATA_BYTES),
    nonce: uint,
    deadline: uintNumber(48),
    fee: uint,
  })
  .superRefine(({ kind, data, fee }, context) => {
    if (!SESSION_COVER_KINDS.includes(kind)) return;
    if (decodeCoverData(kind, data) === null) {
      const message = 'expected the terms of its kind, encoded as the contracts read them';
      context.addIssue({ code: 'custom', path: ['data'], message });
    }
    if (kind === COVER_KIND.cancel && fee !== 0n) {
      context.addIssue({ code: 'custom', path: ['fee'], message: 'a cancel carries no fee' });
    }
  });

const signature = bytesSchema(MAX_SIGNATURE_BYTES);
const bodySchema = z.strictObject({ action: actionSchema, signature });
const coverBodySchema = z.strictObject({ action: coverSchema, signature });

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
  | { tag: 'action'; action: SignedAction; signature: Hex }
  | { tag: 'invalid'; message: string };

/** Parses a JSON value, an Action or by its shape a CoverAction; the message names the field that is wrong, never its value. */
export function parseRelayBody(body: unknown): ParsedBody {
  const parsed = (isCoverShape(body) ? coverBodySchema : bodySchema).safeParse(body);
  if (!parsed.success) return { tag: 'invalid', message: firstProblem(parsed.error) };
  return { tag: 'action', action: parsed.data.action, signature: parsed.data.signature };
}
