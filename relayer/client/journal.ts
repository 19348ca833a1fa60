/**
 * What the client writes down before it acts: one record before a plan is signed, one with the signature before it
 * leaves, one before each first post, one at the end. Whatever moment the process dies at, the records say what may be
 * under way; a journal of any kind (a file, a table, a browser's store) only has to keep them in order.
 */
import type { Hex } from 'viem';
import { z } from 'zod';
import {
  addressSchema,
  bytesSchema,
  firstProblem,
  hash32Schema,
  uintStringSchema,
} from '../../runtime/schema.ts';
import { type Receipt, receiptSchema } from '../receipt.ts';
import type { Settled } from './outcome.ts';
import { coverAction, tradeAction } from './plan.ts';
import type { Signable, SignableJson } from './signable.ts';

/** Plain JSON. `at`: unix milliseconds of this machine, for people. `attempt` counts the nonces of one intent, from 0. */
export type JournalRecord = { id: string; attempt: number; at: number } & (
  | { state: 'planned'; signable: SignableJson }
  | { state: 'signed'; digest: Hex; signable: SignableJson; signature: Hex }
  | { state: 'submitted'; digest: Hex }
  /** The relayer's signed word that it accepted this version: evidence, nothing depends on it. */
  | { state: 'accepted'; digest: Hex; receipt: Receipt }
  | { state: 'settled'; outcome: SettledJson }
);

type SettledJson =
  | { tag: 'executed'; hash: Hex; digest: Hex; fee: string; nextFee: string | null }
  | {
      tag: 'neverExecuted';
      reason: 'expired' | 'nonce_used_elsewhere' | 'never_signed';
      hash: Hex | null;
    };

export type Journal = {
  /** All records in the order in which they were appended. */
  read: () => Promise<readonly unknown[]>;
  /** Resolves once the record will survive the end of the process; rejects when that cannot be said. */
  append: (record: JournalRecord) => Promise<void>;
};

/** For tests and for agents that may forget: a restart loses what was under way. */
export function createMemoryJournal(records: readonly JournalRecord[] = []): Journal & {
  readonly records: readonly JournalRecord[];
} {
  const kept = [...records];
  return {
    records: kept,
    read: async () => kept,
    append: async (record) => {
      kept.push(record);
    },
  };
}

/** The journal cannot be trusted: nothing is signed before somebody has looked at it. */
export class JournalError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'JournalError';
  }
}

const signable: z.ZodType<Signable> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('trade'), module: addressSchema, action: tradeAction }),
  z.object({ type: z.literal('cover'), module: addressSchema, action: coverAction }),
]);
const uint = uintStringSchema.transform((text) => BigInt(text));
const outcome = z.discriminatedUnion('tag', [
  z.object({
    tag: z.literal('executed'),
    hash: hash32Schema,
    digest: hash32Schema,
    fee: uint,
    nextFee: uint.nullable(),
  }),
  z.object({
    tag: z.literal('neverExecuted'),
    reason: z.enum(['expired', 'nonce_used_elsewhere', 'never_signed']),
    hash: hash32Schema.nullable(),
  }),
]);
const common = { id: z.string().min(1), attempt: z.int().nonnegative(), at: z.number() };
const recordSchema = z.discriminatedUnion('state', [
  z.object({ ...common, state: z.literal('planned'), signable }),
  z.object({
    ...common,
    state: z.literal('signed'),
    digest: hash32Schema,
    signable,
    signature: bytesSchema(1_024),
  }),
  z.object({ ...common, state: z.literal('submitted'), digest: hash32Schema }),
  z.object({
    ...common,
    state: z.literal('accepted'),
    digest: hash32Schema,
    receipt: receiptSchema,
  }),
  z.object({ ...common, state: z.literal('settled'), outcome }),
]);

/** A record with chain types. */
export type ReadRecord = z.infer<typeof recordSchema>;

/** @throws JournalError for anything that `JournalRecord` does not describe */
export function readRecord(record: unknown): ReadRecord {
  const parsed = recordSchema.safeParse(record);
  if (parsed.success) return parsed.data;
  throw new JournalError(`a record is not valid: ${firstProblem(parsed.error)}`);
}

export function settledJson(settled: Settled): SettledJson {
  if (settled.tag === 'neverExecuted') {
    const { tag, reason, hash } = settled;
    return { tag, reason, hash };
  }
  const { tag, hash, digest, fee, nextFee } = settled;
  return { tag, hash, digest, fee: fee.toString(), nextFee: nextFee?.toString() ?? null };
}
