/** `why <digest>`: every check and state of an action with its time, while a relayer runs or after it. */
import type { Kysely } from 'kysely';
import type { Hex } from 'viem';
import { usdgText } from '../../runtime/cli/table.ts';
import { createSlotStore } from '../slot-store.ts';
import { besideRelayer, type StoreTables } from '../store.ts';
import { readTrail } from '../trail.ts';

const timeOf = (ms: number): string => new Date(ms).toISOString();
const secondsOf = (seconds: number): string => timeOf(seconds * 1_000);

type Timed = { at: number; text: string };

/** Lines of text; empty when nothing is known of the digest. */
export async function whyText(db: Kysely<StoreTables>, digest: Hex): Promise<string[]> {
  const [head, trail, journal, books] = await Promise.all([
    slotText(db, digest),
    readTrail(db, digest),
    readJournal(db, digest),
    readBooks(db, digest),
  ]);
  const timed: Timed[] = [
    ...trail.map(({ at, what, detail }) => ({ at, text: `${what}: ${detail}` })),
    ...journal.timed,
  ].toSorted((a, b) => a.at - b.at);
  const lines = [
    ...head,
    ...timed.map(({ at, text }) => `${timeOf(at)}  ${text}`),
    ...journal.ends,
    ...books,
  ];
  return lines.length === 0 ? [] : [digest, ...lines.map((line) => `  ${line}`)];
}

async function slotText(db: Kysely<StoreTables>, digest: Hex): Promise<string[]> {
  const slot = await createSlotStore(db).findByDigest(digest);
  if (slot === null) return [];
  const { action, quote, state, attempt, nextFee, id } = slot;
  const row = await db
    .selectFrom('relay_quarantine')
    .select('until')
    .where('key', '=', action.key)
    .where('until', '>', Date.now())
    .executeTakeFirst();
  const quoted =
    quote === null
      ? 'no quote'
      : `quoted ${usdgText(quote.fee)} until ${secondsOf(quote.expiresAt)}`;
  return [
    `module ${id.module}, account ${id.account}, nonce ${id.nonce}`,
    `key ${action.key}${row === undefined ? '' : `, kept out until ${timeOf(row.until)}`}`,
    `fee ${usdgText(action.fee)} USDG, deadline ${secondsOf(action.deadline)}`,
    `slot ${state}, attempt ${attempt}, ${quoted}${nextFee === null ? '' : `, next fee ${usdgText(nextFee)}`}`,
  ];
}

/** What the sender wrote before it sent: it stands there though the process died the moment after. */
async function readJournal(
  db: Kysely<StoreTables>,
  digest: Hex,
): Promise<{ timed: Timed[]; ends: string[] }> {
  const intents = await db
    .selectFrom('sender_intent')
    .selectAll()
    .where('key', '>=', `relay:${digest}:`)
    .where('key', '<', `relay:${digest};`)
    .orderBy('seq')
    .execute();
  const timed: Timed[] = [];
  const ends: string[] = [];
  for (const intent of intents) {
    const name = `attempt ${intent.key.slice(intent.key.lastIndexOf(':') + 1)}`;
    timed.push({ at: intent.created_at, text: `journal: ${name} written` });
    const attempts = await db
      .selectFrom('sender_attempt')
      .select(['hash', 'nonce', 'wallet', 'role', 'gas', 'max_fee_wei', 'created_at'])
      .where('intent_key', '=', intent.key)
      .orderBy('created_at')
      .execute();
    for (const { hash, nonce, wallet, role, gas, max_fee_wei, created_at } of attempts) {
      const terms = `gas ${gas} at no more than ${max_fee_wei} wei`;
      const text = `journal: ${name} signed to ${role}: ${hash} by ${wallet} nonce ${nonce}, ${terms}`;
      timed.push({ at: created_at, text });
    }
    const { phase, confirmed, refusal, message, receipt_hash: hash, block_number: block } = intent;
    const why = refusal === null ? '' : `: ${refusal}, ${message ?? ''}`;
    const receipt = hash === null ? '' : ` by ${hash} in block ${block ?? '?'}`;
    ends.push(
      `${name} stands at ${phase}${confirmed === 1 ? ', confirmed' : ''}${receipt}${why} since ${timeOf(intent.updated_at)}`,
    );
  }
  return { timed, ends };
}

async function readBooks(db: Kysely<StoreTables>, digest: Hex): Promise<string[]> {
  const rows = await db
    .selectFrom('relay_ledger')
    .selectAll()
    .where('digest', '=', digest)
    .orderBy('settled_at')
    .execute();
  return rows.map(
    ({ outcome, gas_wei, gas_usdg, fee_usdg, settled_at }) =>
      `booked ${timeOf(settled_at)}: ${outcome}, fee ${usdgText(BigInt(fee_usdg))}, gas ${gas_wei} wei = ${usdgText(BigInt(gas_usdg))} USDG`,
  );
}

/** Returns the exit code: 0 when something is known of the action. */
export async function runWhy(
  digest: Hex,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<number> {
  return await besideRelayer(env, true, async ({ db }) => {
    const lines = await whyText(db, digest);
    for (const line of lines) say(line);
    if (lines.length === 0) say('nothing is known of an action with this digest');
    return lines.length === 0 ? 1 : 0;
  });
}
