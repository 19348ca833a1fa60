/** The one JSON line by which the local chain says that it is ready. */
import { z } from 'zod';

const readySchema = z.object({
  ready: z.literal(true),
  rpcUrl: z.url(),
  deploymentFile: z.string(),
  accounts: z.array(
    z.object({
      name: z.string(),
      address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
      privateKey: z.string().regex(/^0x[0-9a-f]{64}$/),
    }),
  ),
});

export type Ready = z.infer<typeof readySchema>;

/** Null for any other line. */
export function parseReady(line: string): Ready | null {
  if (!line.startsWith('{"ready":true')) return null;
  try {
    return readySchema.parse(JSON.parse(line));
  } catch {
    // expected: a line that only begins like it
    return null;
  }
}
