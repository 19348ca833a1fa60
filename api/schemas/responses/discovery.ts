/** What the documents and the probes answer (wire.md, Root document). */
import { z } from 'zod';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import { addressText, urlText } from './scalars.ts';

export const rootBody = z
  .object({
    name: z.string(),
    version: z.literal('v1'),
    custody: z.literal('none'),
    url: urlText,
    chain: z.object({
      name: z.string(),
      chainId: z.literal(CHAIN_ID),
      rpc: urlText,
      explorer: urlText,
      usdg: addressText,
      gas: z.string(),
    }),
    endpoints: z
      .record(z.string(), z.string())
      .meta({ description: 'Every endpoint by name, as "METHOD /path".' }),
    onboarding: z.string(),
    llms: z.literal('/llms.txt'),
    openapi: z.literal('/openapi.json'),
  })
  .meta({ id: 'Root' });

export const healthBody = z.object({ ok: z.literal(true) }).meta({ id: 'Health' });

export const readyBody = z
  .object({
    ready: z.boolean(),
    checks: z.array(
      z.object({
        name: z.string(),
        ok: z.boolean(),
        reason: z.string().optional().meta({ description: 'Why it is not ok, for an operator.' }),
      }),
    ),
  })
  .meta({ id: 'Readiness' });
