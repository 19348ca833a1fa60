/** The relayer's books, trail, requests and moves on PostgreSQL: the same rows mean the same there. */
import { type Address, pad } from 'viem';
import { expect, test } from 'vitest';
import { whyText } from '../../relayer/cli/why.ts';
import { runDoctor } from '../../relayer/cli/doctor.ts';
import { readStatement, totalOf } from '../../relayer/money/statement.ts';
import {
  answerSweep,
  askForSweep,
  pendingSweep,
  sweepAnswer,
} from '../../relayer/money/requests.ts';
import { type StoreTables, storeMigrations } from '../../relayer/store.ts';
import { createTrail } from '../../relayer/trail.ts';
import { createLogger } from '../../runtime/logger.ts';
import { createMoves } from '../../runtime/money/moves.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { usePostgres } from '../harness/postgres.ts';

const postgres = usePostgres();
const NOW = Date.UTC(2026, 10, 28, 12);
const DIGEST = pad('0xd1', { size: 32 });
const KEY: Address = pad('0x0a', { size: 20 });
const WALLET: Address = pad('0x0b', { size: 20 });
const GWEI = 10n ** 9n;

async function withStore(name: string, work: (store: Store<StoreTables>) => Promise<void>) {
  const url = await postgres.database(name);
  const store = await openStore<StoreTables>({ url, migrations: storeMigrations });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

const intent = (key: string, seq: number, phase: 'mined' | 'cancelled', kind = 'relay') => ({
  key,
  seq,
  version: 1,
  kind,
  target: WALLET,
  calldata: '0x',
  value_wei: '0',
  gas: null,
  not_after: null,
  max_fee_wei: null,
  meta: null,
  from_wallet: null,
  phase,
  wallet: WALLET,
  nonce: seq,
  confirmed: 1,
  refusal: null,
  message: null,
  revert_data: null,
  receipt_hash: pad('0xee', { size: 32 }),
  receipt_success: 1,
  block_number: 7,
  block_hash: pad('0xef', { size: 32 }),
  gas_used: '1000',
  gas_price: GWEI.toString(),
  created_at: NOW,
  updated_at: NOW,
});

test('a statement holds what is booked, what stands in the journal alone, and moves apart', async () => {
  await withStore('relay_books', async ({ db }) => {
    await db
      .insertInto('relay_ledger')
      .values({
        intent_key: `relay:${DIGEST}:0`,
        digest: DIGEST,
        module: WALLET,
        account: WALLET,
        key: KEY,
        day: Math.floor(NOW / 86_400_000),
        settled_at: NOW,
        outcome: 'mined',
        hash: pad('0xee', { size: 32 }),
        gas_wei: (1_000n * GWEI).toString(),
        gas_usdg: 3_000,
        fee_usdg: 10_000,
        eth_price: (3_000n * 10n ** 18n).toString(),
      })
      .execute();
    const lost = pad('0xd2', { size: 32 });
    await db
      .insertInto('sender_intent')
      .values([
        intent(`relay:${DIGEST}:0`, 1, 'mined'),
        intent(`relay:${lost}:0`, 2, 'mined'),
        intent(`relay:${pad('0xd3', { size: 32 })}:0`, 3, 'cancelled'),
        intent(`sender:fill:${WALLET}:4:1`, 4, 'mined', 'fill'),
        intent('sweep:0x0b:1', 5, 'mined', 'sweep'),
      ])
      .execute();
    const moves = createMoves(db, { table: 'relay_moves', now: () => NOW });
    const move = { kind: 'fund', wallet: WALLET, number: 1, counterparty: KEY } as const;
    await moves.open({ ...move, intentKey: 'fund:1', amountUsdg: 0n, amountWei: 5n * GWEI });
    expect(await moves.fundedSince(NOW)).toBe(5n * GWEI);
    await moves.change('fund:1', {
      outcome: 'mined',
      movedUsdg: 0n,
      receivedWei: 5n * GWEI,
      gasUsed: 21_000n,
      gasPriceWei: GWEI,
      settled: true,
    });
    const { earnings, moves: moved, open } = await readStatement(db, 0);
    expect(earnings).toMatchObject([
      { key: 'upkeep', executed: 3, feesUsdg: 0n, gasWei: 3_000n * GWEI, unpriced: 0 },
      { key: KEY, executed: 1, feesUsdg: 10_000n, gasWei: 1_000n * GWEI, day: '2026-11-28' },
    ]);
    expect(totalOf(earnings).gasWei).toBe(4_000n * GWEI);
    expect(moved).toMatchObject([{ kind: 'fund', fundedWei: 5n * GWEI, unpriced: 1 }]);
    expect(open).toBe(0);
    expect(await readStatement(db, NOW + 1)).toMatchObject({ earnings: [], moves: [] });
  });
});

test('the trail of two processes comes back in the order of its times', async () => {
  await withStore('relay_trail', async ({ db }) => {
    const logger = createLogger('relayer', 'fatal');
    let clock = NOW;
    const [one, two] = [createTrail(db, logger, () => clock), createTrail(db, logger, () => clock)];
    const note = (what: string) => ({ digest: DIGEST, what, detail: '' });
    one.note(note('checked'));
    clock += 1;
    two.note(note('broadcast'));
    clock += 1;
    one.note(note('answered'));
    await Promise.all([one.stop(), two.stop()]);
    const text = (await whyText(db, DIGEST)).join('\n');
    expect(text).toMatch(/checked: [\s\S]*broadcast: [\s\S]*answered: /);
  });
});

test('a sweep is asked for once however often it is asked, and answered to everybody who asked', async () => {
  await withStore('relay_requests', async ({ db }) => {
    expect(await pendingSweep(db)).toBeNull();
    const first = await askForSweep(db, NOW);
    const second = await askForSweep(db, NOW - 5_000);
    expect(second).toBeGreaterThan(first);
    expect(await pendingSweep(db)).toBe(second);
    expect(await sweepAnswer(db, first)).toBeNull();
    await answerSweep(db, second, 'swept');
    expect(await pendingSweep(db)).toBeNull();
    expect(await sweepAnswer(db, first)).toBe('swept');
    expect(await sweepAnswer(db, second)).toBe('swept');
  });
});

test('the doctor reads a PostgreSQL store and says that no relayer leads on it', async () => {
  const url = await postgres.database('relay_doctor');
  const lines: string[] = [];
  await runDoctor({ DATABASE_URL: url, RPC_URLS: 'http://127.0.0.1:1' }, (line) =>
    lines.push(line),
  );
  expect(lines.join('\n')).toMatch(/^ok +store +postgres, 0 slots, 0 keys kept out; no relayer/m);
});
