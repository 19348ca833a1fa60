/** What the two lists of an API share: each entry is parsed by itself, so that a malformed one costs itself alone. */
import { z } from 'zod';
import {
  addressSchema,
  bytesSchema,
  firstProblem,
  uintStringSchema,
} from '../../runtime/schema.ts';

export const tickerSchema = z.string().regex(/^[\w.-]{1,24}$/, 'expected a ticker');

export const txSchema = (maxBytes: number) =>
  z.object({ to: addressSchema, data: bytesSchema(maxBytes), value: uintStringSchema });

export type ParsedList<T> =
  | { tag: 'parsed'; entries: T[]; malformed: string[]; dropped: number }
  | { tag: 'not_a_list'; why: string };

/**
 * Reads `{[name]: [...]}`. Entries past `most` are dropped and counted; `malformed` names the entry's place and first
 * wrong field, never its value.
 */
export function parseList<S extends z.ZodType, T>(
  json: unknown,
  name: string,
  most: number,
  schema: S,
  shape: (entry: z.output<S>) => T,
): ParsedList<T> {
  const envelope = z.object({ [name]: z.array(z.unknown()) }).safeParse(json);
  if (!envelope.success) return { tag: 'not_a_list', why: firstProblem(envelope.error) };
  const listed = envelope.data[name] ?? [];
  const entries: T[] = [];
  const malformed: string[] = [];
  listed.slice(0, most).forEach((entry, index) => {
    const parsed = schema.safeParse(entry);
    if (parsed.success) entries.push(shape(parsed.data));
    else malformed.push(`entry ${index}: ${firstProblem(parsed.error)}`);
  });
  return { tag: 'parsed', entries, malformed, dropped: Math.max(0, listed.length - most) };
}
