/** What `/v1/jobs` answers (wire.md, Reads). */
import { z } from 'zod';
import { txBody } from './plans.ts';
import { addressText, hexText, id32Text, tickerText, weiText } from './scalars.ts';

const jobType = z.enum(['sell', 'limit', 'schedule']);

const job = z
  .object({
    type: jobType,
    contract: addressText,
    id: id32Text,
    ticker: tickerText.nullable(),
    vault: addressText.optional(),
    feeUsdg: weiText,
    slippageBps: z.number().meta({ description: "Basis points: the order's tolerance now." }),
    slot: z.int().nullable().meta({ description: 'The slot of a schedule that this fills.' }),
    tx: txBody,
    armData: hexText.meta({
      description: 'Calldata to the same contract that starts a price auction.',
    }),
  })
  .meta({ id: 'Job' });

export const jobsChangesBody = z
  .object({
    asOf: z.iso.datetime().meta({ description: "The block's time." }),
    tag: z.string().meta({ description: 'Another one whenever a job became due.' }),
  })
  .meta({ id: 'JobsChanges' });

export const jobsBody = z
  .object({
    asOf: z.iso.datetime().meta({ description: "The block's time." }),
    jobs: z.array(job),
    skipped: z.array(z.object({ type: jobType, id: id32Text, reason: z.string() })),
    note: z.string(),
  })
  .meta({ id: 'Jobs' });
