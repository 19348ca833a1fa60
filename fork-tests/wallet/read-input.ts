import type { z } from 'zod';
import { firstProblem } from '../../runtime/schema.ts';

/** What came on standard input, as the command takes it. @throws Error in one line. */
export function readInput<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new Error(`standard input is not what this command takes: ${firstProblem(parsed.error)}`);
}
