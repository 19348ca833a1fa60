/** `quarantine list | release <key>`: the keys that are kept out, also while a relayer runs. */
import type { Address } from 'viem';
import { aligned, usdgText } from '../../runtime/cli/table.ts';
import { besideRelayer } from '../store.ts';

const timeOf = (ms: number): string => new Date(ms).toISOString();

/** Returns the exit code: 1 for a key that is not kept out. */
export async function runQuarantine(
  release: Address | null,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
  nowMs: number = Date.now(),
): Promise<number> {
  return release === null
    ? await list(env, say, nowMs)
    : await releaseKey(release, env, say, nowMs);
}

async function list(
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
  nowMs: number,
): Promise<number> {
  return await besideRelayer(env, true, async ({ db }) => {
    const rows = await db
      .selectFrom('relay_quarantine')
      .selectAll()
      .where('until', '>', nowMs)
      .orderBy('until')
      .execute();
    if (rows.length === 0) say('no key is kept out');
    else {
      const body = rows.map(({ key, started_at, until, strikes, lost_usdg }) => [
        key,
        timeOf(started_at),
        timeOf(until),
        String(strikes),
        usdgText(BigInt(lost_usdg)),
      ]);
      for (const line of aligned(['key', 'since', 'until', 'in a row', 'lost USDG'], body, 3)) {
        say(line);
      }
    }
    return 0;
  });
}

/**
 * Ends a quarantine now. Its row stays, as after one that ended by itself: what it answered for does not count again,
 * and the next one in a row lasts longer.
 */
async function releaseKey(
  key: Address,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
  nowMs: number,
): Promise<number> {
  return await besideRelayer(env, false, async ({ db }) => {
    const result = await db
      .updateTable('relay_quarantine')
      .set({ until: nowMs })
      .where('key', '=', key)
      .where('until', '>', nowMs)
      .executeTakeFirst();
    const released = result.numUpdatedRows === 1n;
    say(released ? `${key} may post again` : `${key} is not kept out`);
    return released ? 0 : 1;
  });
}
