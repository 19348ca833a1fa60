/**
 * A step or payout of the cover market as an API tells it (wire.md, Cover payouts for keepers). Nothing in it is
 * believed: the firewall decides what may be executed.
 */
import type { Address } from 'viem';
import { z } from 'zod';
import { addressSchema, uintStringSchema } from '../../runtime/schema.ts';
import type { CoverType } from '../work.ts';
import { type ParsedList, parseList, tickerSchema, txSchema } from './listed.ts';

/** 500 positions a payout; our API lists twenty. */
const MAX_CALLDATA_BYTES = 17_000;

const payoutSchema = z.object({
  type: z.enum(['snapshot', 'settle', 'payout', 'void']),
  contract: addressSchema,
  id: uintStringSchema,
  ticker: tickerSchema.nullish(),
  vault: addressSchema,
  week: z
    .int()
    .min(0)
    .max(2 ** 32 - 1),
  feeUsdg: uintStringSchema,
  tx: txSchema(MAX_CALLDATA_BYTES),
});

/** What one API announces. `feeUsdg` in USDG base units. */
export type ListedPayout = {
  type: CoverType;
  contract: Address;
  id: string;
  ticker: string | null;
  vault: Address;
  week: number;
  feeUsdg: bigint;
  tx: { to: Address; data: `0x${string}`; value: bigint };
};

/** Reads an answer of `/v1/cover/payouts`; entries as in {@link parseList}. */
export function parsePayouts(json: unknown, most: number): ParsedList<ListedPayout> {
  return parseList(json, 'payouts', most, payoutSchema, ({ feeUsdg, tx, ticker, ...rest }) => ({
    ...rest,
    ticker: ticker ?? null,
    feeUsdg: BigInt(feeUsdg),
    tx: { to: tx.to, data: tx.data, value: BigInt(tx.value) },
  }));
}
