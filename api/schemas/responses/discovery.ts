/** What the documents and the probes answer (wire.md, Root document). */
import { z } from 'zod';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import { jsonObject } from './json-value.ts';
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
    docs: z.literal('/docs'),
    mcp: z.literal('/mcp'),
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
        note: z.string().optional().meta({
          description:
            'Of the order index: whether this process leads (reads the chain) or follows.',
        }),
      }),
    ),
  })
  .meta({ id: 'Readiness' });

/** An OpenAPI 3.1 document; its inside is described by that specification. */
export const openApiBody = z
  .object({
    openapi: z.literal('3.1.0'),
    info: z.object({
      title: z.string(),
      version: z.literal('1.0.0'),
      description: z.string(),
      license: z.object({ name: z.string(), identifier: z.string() }),
    }),
    servers: z.array(z.object({ url: urlText })),
    security: z.array(jsonObject),
    tags: z.array(z.object({ name: z.string(), description: z.string() })),
    paths: z.record(z.string(), jsonObject),
    components: z.record(z.string(), jsonObject),
  })
  .meta({ id: 'OpenApi' });
