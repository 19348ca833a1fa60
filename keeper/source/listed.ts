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
  | {
      tag: 'parsed';
      entries: T[];
      malformed: string[];
      dropped: number;
      /** Time of the block that the list was made at, unix seconds, where it says so in a way that is read. */
      asOf: number | null;
    }
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
  const dropped = Math.max(0, listed.length - most);
  return { tag: 'parsed', entries, malformed, dropped, asOf: asOfIn(json) };
}

const asOfSchema = z.object({ asOf: z.iso.datetime({ offset: true }) });

function asOfIn(json: unknown): number | null {
  const told = asOfSchema.safeParse(json);
  if (!told.success) return null;
  const ms = Date.parse(told.data.asOf);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1_000);
}
