/** A job as an API tells it (wire.md, Job). Nothing in it is believed: the firewall decides what may be executed. */
import type { Address, Hex } from 'viem';
import { z } from 'zod';
import {
  addressSchema,
  bytesSchema,
  hash32Schema,
  uintStringSchema,
} from '../../runtime/schema.ts';
import { type ParsedList, parseList, tickerSchema, txSchema } from './listed.ts';

/** Calldata of ten swaps is about 6 kB; what is larger than this is not a fill. */
const MAX_CALLDATA_BYTES = 48_000;

const jobSchema = z.object({
  type: z.string().regex(/^[a-z_]{1,24}$/, 'expected a short lower-case word'),
  contract: addressSchema,
  id: hash32Schema,
  ticker: tickerSchema.nullable(),
  vault: addressSchema.nullish(),
  feeUsdg: uintStringSchema,
  slippageBps: z.int().min(0).max(10_000),
  tx: txSchema(MAX_CALLDATA_BYTES),
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

/** Reads an answer of `/v1/jobs`; entries as in {@link parseList}. */
export function parseJobs(json: unknown, most: number): ParsedList<Job> {
  return parseList(json, 'jobs', most, jobSchema, ({ feeUsdg, tx, vault, ...rest }) => ({
    ...rest,
    vault: vault ?? null,
    feeUsdg: BigInt(feeUsdg),
    tx: { to: tx.to, data: tx.data, value: BigInt(tx.value) },
  }));
}
