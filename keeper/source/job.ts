/**
 * A job as an API tells it (wire.md, Job). Nothing in it is believed: the firewall decides what may be executed.
 * Each job is parsed by itself, so that one malformed entry costs itself alone.
 */
import type { Address, Hex } from 'viem';
import { z } from 'zod';
import {
  addressSchema,
  bytesSchema,
  firstProblem,
  hash32Schema,
  uintStringSchema,
} from '../../runtime/schema.ts';

/** Calldata of ten swaps is about 6 kB; what is larger than this is not a fill. */
const MAX_CALLDATA_BYTES = 48_000;

const jobSchema = z.object({
  type: z.string().regex(/^[a-z_]{1,24}$/, 'expected a short lower-case word'),
  contract: addressSchema,
  id: hash32Schema,
  ticker: z
    .string()
    .regex(/^[\w.-]{1,24}$/, 'expected a ticker')
    .nullable(),
  vault: addressSchema.nullish(),
  feeUsdg: uintStringSchema,
  slippageBps: z.int().min(0).max(10_000),
  tx: z.object({
    to: addressSchema,
    data: bytesSchema(MAX_CALLDATA_BYTES),
    value: uintStringSchema,
  }),
  armData: bytesSchema(1_000),
});

/** What one API offers to execute. `feeUsdg` in USDG base units. */
export type Job = {
  type: string;
  contract: Address;
  id: Hex;
  ticker: string | null;
  vault: Address | null;
  feeUsdg: bigint;
  slippageBps: number;
  tx: { to: Address; data: Hex; value: bigint };
  /** "0x" when the job cannot be armed. */
  armData: Hex;
};

export type ParsedJobs =
  | { tag: 'parsed'; jobs: Job[]; malformed: string[]; dropped: number }
  | { tag: 'not_a_job_list'; why: string };

const envelopeSchema = z.object({ jobs: z.array(z.unknown()) });

/**
 * Reads an answer of `/v1/jobs`. Entries past `maxJobs` are dropped and counted; `malformed` names the entry's place
 * and first wrong field, never its value.
 */
export function parseJobs(json: unknown, maxJobs: number): ParsedJobs {
  const envelope = envelopeSchema.safeParse(json);
  if (!envelope.success) return { tag: 'not_a_job_list', why: firstProblem(envelope.error) };
  const listed = envelope.data.jobs;
  const jobs: Job[] = [];
  const malformed: string[] = [];
  listed.slice(0, maxJobs).forEach((entry, index) => {
    const parsed = jobSchema.safeParse(entry);
    if (!parsed.success) {
      malformed.push(`entry ${index}: ${firstProblem(parsed.error)}`);
      return;
    }
    const { feeUsdg, tx, vault, ...rest } = parsed.data;
    jobs.push({
      ...rest,
      vault: vault ?? null,
      feeUsdg: BigInt(feeUsdg),
      tx: { to: tx.to, data: tx.data, value: BigInt(tx.value) },
    });
  });
  return { tag: 'parsed', jobs, malformed, dropped: Math.max(0, listed.length - maxJobs) };
}

/** One order, whoever lists it: the unit of memory, attempts and journal. */
export function jobKeyOf(contract: Address, id: Hex): string {
  return `${contract.toLowerCase()}:${id.toLowerCase()}`;
}
