/** Messages of the MCP endpoint, as far as HTTP knows them: what they carry is the Model Context Protocol's. */
import { z } from 'zod';
import { jsonObject } from './json-value.ts';

const id = z.union([z.string(), z.int()]);

export const jsonRpcMessage = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: id.optional().meta({ description: 'Absent in a notification.' }),
    method: z.string().meta({ description: 'tools/list, tools/call, …' }),
    params: jsonObject.optional(),
  })
  .meta({ id: 'JsonRpcMessage' });

export const jsonRpcRefusal = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: id.nullable().meta({ description: 'null where the request was not read.' }),
    error: z.object({
      code: z.int(),
      message: z.string(),
      data: jsonObject
        .optional()
        .meta({ description: '{error, code, retryable}, where HTTP refused.' }),
    }),
  })
  .meta({ id: 'JsonRpcRefusal' });

export const jsonRpcAnswer = z.union([
  z.object({ jsonrpc: z.literal('2.0'), id, result: jsonObject }).meta({ id: 'JsonRpcResult' }),
  jsonRpcRefusal,
]);
