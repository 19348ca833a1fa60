/** `why <order id>`: what was decided about an order and when, from the journal alone; a keeper may run meanwhile. */
import { formatUnits } from 'viem';
import { loadConfig, storeOptions } from '../../runtime/config.ts';
import { openStore } from '../../runtime/store/store.ts';
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
    const lines = await timelineText(createJournal(store.db), id);
    for (const line of lines) say(line);
    if (lines.length === 0) say('the journal knows no job with this id');
    return lines.length === 0 ? 1 : 0;
  } finally {
    await store.close();
  }
}
