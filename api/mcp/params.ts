/**
 * What the params of a request must be, said in words. The SDKs refuse the same, one of them as a fault of the server,
 * and both with their validator's whole report for a message.
 */
import { z } from 'zod';
import { firstProblem } from '../../runtime/schema.ts';

const wrong = 'expected an object';
const text = z.string('expected a string');
const object = z.record(z.string(), z.unknown(), wrong);

const PARAMS: Readonly<Record<string, z.ZodType>> = {
  initialize: z.object(
    {
      protocolVersion: text,
      capabilities: object,
      clientInfo: z.object({ name: text, version: text }, wrong),
    },
    wrong,
  ),
  'tools/list': z.object({ cursor: text.optional() }, wrong).optional(),
  'tools/call': z.object({ name: text, arguments: object.optional() }, wrong),
};

const INVALID_PARAMS = -32_602;

/** JSON-RPC's refusal of a request whose params are not what its method takes; null for anything else. */
export function paramsRefusal(message: unknown): Record<string, unknown> | null {
  const { id, method } = (message ?? {}) as { id?: string | number; method?: unknown };
  if (id === undefined || typeof method !== 'string') return null;
  const params = (Object.hasOwn(PARAMS, method) ? PARAMS[method] : undefined) ?? object.optional();
  const { error } = z.object({ params }).safeParse(message);
  if (error === undefined) return null;
  return {
    jsonrpc: '2.0',
    id,
    error: { code: INVALID_PARAMS, message: firstProblem(error) },
  };
}
