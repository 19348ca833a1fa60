/** `why <order id>`: what was decided about an order and when, from the journal alone; a keeper may run meanwhile. */
import type { Kysely } from 'kysely';
import { formatUnits, type Hex, isHex, numberToHex } from 'viem';
import { loadConfig, storeOptions } from '../../runtime/config.ts';
import { positionsIn } from '../../runtime/cover/cover-work.ts';
import { openStore } from '../../runtime/store/store.ts';
import { parseIntentKey } from '../attempts.ts';
import { DEFAULT_DATABASE_URL } from '../config.ts';
import { createJournal, type Journal } from '../journal/journal.ts';
import { type StoreTables, storeMigrations } from '../journal/migrations.ts';

const at = (ms: number): string => new Date(ms).toISOString();
const usdg = (text: string | null): string =>
  text === null ? '?' : `$${formatUnits(BigInt(text), 6)}`;

/** The timelines as lines of text; empty when the journal knows no such job. */
export async function timelineText(journal: Journal, id: string): Promise<string[]> {
  const lines: string[] = [];
  for (const { jobKey, decisions, attempts } of await journal.timeline(id)) {
    lines.push(jobKey);
    for (const { first_ms, last_ms, repeats, decision, detail, tx_hash } of decisions) {
      const times = repeats === 1 ? '' : `  x${repeats} until ${at(last_ms)}`;
      lines.push(
        `  ${at(first_ms)}  ${decision}: ${detail}${times}${tx_hash === null ? '' : `  ${tx_hash}`}`,
      );
    }
    for (const attempt of attempts) {
      const money =
        attempt.gas_used === null
          ? ''
          : `, fee ${usdg(attempt.fee_usdg)}, gas ${attempt.gas_used} = ${usdg(attempt.cost_usdg)}`;
      lines.push(
        `  ${attempt.kind} ${attempt.attempt}: ${attempt.outcome}, promised ${usdg(attempt.promised_usdg)}${money}${attempt.tx_hash === null ? '' : `  ${attempt.tx_hash}`}`,
      );
    }
  }
  return lines;
}

/** A payout goes by its first position: ids of those that were made out to pay this position beside it. */
export async function payoutsWith(
  db: Kysely<Pick<StoreTables, 'sender_intent'>>,
  position: string,
): Promise<string[]> {
  if (isHex(position) || BigInt(position) >= 2n ** 256n) return [];
  const word = numberToHex(BigInt(position), { size: 32 }).slice(2);
  const rows = await db
    .selectFrom('sender_intent')
    .select(['key', 'calldata'])
    .where('kind', '=', 'payout')
    .where('calldata', 'like', `%${word}%`)
    .orderBy('seq')
    .execute();
  const ids = rows
    .filter(({ calldata }) => positionsIn(calldata as Hex).includes(BigInt(position)))
    .flatMap(({ key }) => parseIntentKey(key)?.id ?? []);
  return [...new Set(ids)].filter((id) => id !== position);
}

/** The journal has the positions of payouts that were sent alone. */
function unknownText(id: string): string {
  const unknown = 'the journal knows no job with this id';
  if (isHex(id)) return unknown;
  return `${unknown}; a payout that was never sent goes by its first position alone: /v1/cover/payouts names the positions of each`;
}

/** Returns the exit code: 0 when the journal knows the job. */
export async function runWhy(
  id: string,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<number> {
  const config = loadConfig(storeOptions, env);
  const store = await openStore<StoreTables>({
    url: config.DATABASE_URL ?? DEFAULT_DATABASE_URL,
    migrations: storeMigrations,
    // A keeper may hold it: nothing is written, and no file is made where the setting names none.
    readOnly: true,
  });
  try {
    const journal = createJournal(store.db);
    const lines = await timelineText(journal, id);
    for (const other of await payoutsWith(store.db, id)) {
      lines.push(`position ${id} is one of those in`, ...(await timelineText(journal, other)));
    }
    for (const line of lines) say(line);
    if (lines.length === 0) say(unknownText(id));
    return lines.length === 0 ? 1 : 0;
  } finally {
    await store.close();
  }
}
