import { pad } from 'viem';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sinceOf } from '../../runtime/cli/since.ts';
import { openStore, type Store } from '../../runtime/store/store.ts';
import { createJournal, type Journal } from '../journal/journal.ts';
import { type StoreTables, storeMigrations } from '../journal/migrations.ts';
import { createMoves } from '../../runtime/money/moves.ts';
import { netUsdg, readStatement, totalOf } from './statement.ts';
import { csvField } from '../../runtime/cli/table.ts';
import { statementCsv, statementLine, statementTable } from './statement-text.ts';

const ONE = pad('0x01', { size: 20 });
const TWO = pad('0x02', { size: 20 });
const HASH = pad('0xCD', { size: 32 });
const DAY = 86_400_000;
const START = Date.UTC(2026, 10, 2, 12);

let store: Store<StoreTables>;
let journal: Journal;
let clock = START;

beforeEach(async () => {
  clock = START;
  store = await openStore<StoreTables>({ url: 'file::memory:', migrations: storeMigrations });
  journal = createJournal(store.db, () => clock);
});
afterEach(() => store.close());

let number = 0;
/** An attempt that came to its end: gas of 100,000 at 1 gwei costs $0.30 at $3,000. */
async function attempt(change: {
  outcome?: string;
  workType?: string;
  kind?: 'fill' | 'arm' | 'snapshot';
  wallet?: typeof ONE;
  feeUsdg?: bigint;
  costUsdg?: bigint | null;
  duty?: boolean;
  settled?: boolean;
}): Promise<void> {
  number += 1;
  const { outcome = 'mined', kind = 'fill', wallet = ONE, feeUsdg = 500_000n } = change;
  const intentKey = `fill:${number}`;
  await journal.openAttempt({
    intentKey,
    jobKey: `job:${number}`,
    kind,
    attempt: 1,
    promisedUsdg: feeUsdg,
    workType: change.workType ?? 'sell',
    ticker: 'TECH',
    duty: change.duty ?? false,
    expectedUsdg: 0n,
  });
  const included = outcome === 'mined' || outcome === 'reverted';
  await journal.changeAttempt(intentKey, {
    outcome,
    settled: change.settled ?? true,
    ...(included
      ? {
          hash: HASH,
          wallet,
          feeUsdg: outcome === 'reverted' ? 0n : feeUsdg,
          gasUsed: 100_000n,
          gasPriceWei: 10n ** 9n,
          gasL1: 20_000n,
          costUsdg: change.costUsdg === undefined ? 300_000n : change.costUsdg,
        }
      : {}),
  });
}

/** A nonce that the sender took back, as its own journal holds it. */
async function cancelled(atMs: number): Promise<void> {
  number += 1;
  await store.db
    .insertInto('sender_intent')
    .values({
      key: `fill:cancelled:${number}`,
      seq: number,
      version: 4,
      kind: 'fill',
      target: ONE,
      calldata: '0x',
      value_wei: '0',
      gas: null,
      not_after: null,
      max_fee_wei: null,
      meta: null,
      from_wallet: null,
      phase: 'cancelled',
      wallet: ONE,
      nonce: number,
      confirmed: 1,
      refusal: null,
      message: null,
      revert_data: null,
      receipt_hash: HASH,
      receipt_success: 1,
      block_number: 1,
      block_hash: HASH,
      gas_used: '21000',
      gas_price: '1000000000',
      created_at: atMs,
      updated_at: atMs,
    })
    .execute();
}

describe('a statement', () => {
  test('has a line per day, type and wallet, and counts what a lost race, a cancel and an arming cost', async () => {
    await attempt({});
    await attempt({});
    await attempt({ outcome: 'reverted' });
    await attempt({ outcome: 'refused:fee_cap' });
    await attempt({ workType: 'limit', wallet: TWO });
    await attempt({ kind: 'arm', feeUsdg: 0n });
    clock += DAY;
    await attempt({ workType: 'snapshot', kind: 'snapshot', feeUsdg: 100_000n, duty: true });
    await cancelled(clock);
    const statement = await readStatement(store.db, START);
    expect(statement.open).toBe(0);
    expect(
      statement.earnings.map(({ day, type, wallet, executed, reverted }) => [
        day,
        type,
        wallet,
        executed,
        reverted,
      ]),
    ).toEqual([
      ['2026-11-02', 'arm', ONE, 1, 0],
      ['2026-11-02', 'limit', TWO, 1, 0],
      ['2026-11-02', 'sell', ONE, 2, 1],
      ['2026-11-03', 'snapshot', ONE, 1, 0],
      ['2026-11-03', 'upkeep', ONE, 1, 0],
    ]);
    const total = totalOf(statement.earnings);
    expect(total).toMatchObject({
      executed: 6,
      reverted: 1,
      feesUsdg: 1_600_000n,
      // Six transactions of 100,000 gas and a cancel of 21,000, all at 1 gwei.
      gasWei: 621_000n * 10n ** 9n,
      l1Wei: 120_000n * 10n ** 9n,
      // The cancel at the price of the transaction before it: 21,000 gwei at $3,000.
      gasUsdg: 6n * 300_000n + 63_000n,
      dutyLossUsdg: 200_000n,
      unpriced: 0,
    });
    expect(netUsdg(total)).toBe(1_600_000n - 1_863_000n);
  });

  test.each([
    ['day', ['2026-11-02', '2026-11-03']],
    ['type', ['limit', 'sell']],
    ['wallet', [ONE, TWO]],
  ] as const)('by %s joins the rest, and the sum stays the same', async (by, names) => {
    await attempt({});
    await attempt({ wallet: TWO });
    clock += DAY;
    await attempt({ workType: 'limit' });
    const { earnings } = await readStatement(store.db, START, by);
    expect(earnings.map((line) => line.day + line.type + line.wallet)).toEqual(names);
    const whole = await readStatement(store.db, START);
    expect(totalOf(earnings)).toEqual(totalOf(whole.earnings));
  });

  test('leaves out what came before, and names what is under way or has no price', async () => {
    await attempt({});
    clock += DAY;
    const since = clock;
    await attempt({ costUsdg: null });
    await attempt({ outcome: 'broadcast', settled: false });
    const statement = await readStatement(store.db, since);
    expect(totalOf(statement.earnings)).toMatchObject({ executed: 1, unpriced: 1, gasUsdg: 0n });
    expect(statement.open).toBe(1);
    const text = statementTable(statement).join('\n');
    expect(text).toContain('1 transactions count in ETH alone');
    expect(text).toContain('1 transactions are under way');
  });

  test('keeps moves of its own money apart from earnings', async () => {
    await attempt({});
    const moves = createMoves(store.db, { table: 'keeper_moves', now: () => clock });
    const intentKey = `sweep:${ONE}:1`;
    await moves.open({
      intentKey,
      kind: 'sweep',
      wallet: ONE,
      number: 1,
      counterparty: TWO,
      amountUsdg: 7_000_000n,
      amountWei: 0n,
    });
    await moves.change(intentKey, {
      outcome: 'mined',
      movedUsdg: 7_000_000n,
      receivedWei: 0n,
      gasUsed: 50_000n,
      gasPriceWei: 10n ** 9n,
      costUsdg: 150_000n,
      settled: true,
    });
    const statement = await readStatement(store.db, START);
    expect(totalOf(statement.earnings).feesUsdg).toBe(500_000n);
    expect(statement.moves).toMatchObject([{ kind: 'sweep', executed: 1, movedUsdg: 7_000_000n }]);
    expect(statementLine(statement)).toMatchObject({
      feesUsdg: '0.500000',
      netUsdg: '0.200000',
      sweptUsdg: '7.000000',
    });
    const rows = statementCsv(statement).split('\r\n');
    expect(rows.at(-1)).toBe('');
    expect(rows[1]).toBe(
      `2026-11-02,sell,${ONE},1,0,0.500000,100000000000000,20000000000000,0.300000,0.000000,0.200000,0.000000,0,0`,
    );
    expect(rows[2]).toBe(
      `2026-11-02,sweep,${ONE},1,0,0.000000,50000000000000,0,0.150000,0.000000,-0.150000,7.000000,0,0`,
    );
  });

  test('lines its columns up under their heads, with a total', async () => {
    await attempt({});
    await attempt({ workType: 'limit', feeUsdg: 12_345_678n });
    const [, , head, limit, sell, total] = statementTable(
      await readStatement(store.db, START, 'type'),
    );
    expect(head).toMatch(/^type +executed +reverted +fees USDG +gas USDG +net USDG/);
    expect(limit).toMatch(/^limit +1 +0 +12\.345678 +0\.300000 +12\.045678 +0\.000100000/);
    expect(total).toMatch(/^total +2 +0 +12\.845678 +0\.600000 +12\.245678/);
    const ends = [head, limit, sell, total].map((line) => line?.length);
    expect(new Set(ends).size).toBe(1);
  });

  test('of nothing says so', async () => {
    expect(statementTable(await readStatement(store.db, START))).toContain('nothing was executed');
  });
});

test('a CSV field is quoted where RFC 4180 asks for it', () => {
  expect(csvField('plain')).toBe('plain');
  expect(csvField('a,b')).toBe('"a,b"');
  expect(csvField('say "x"')).toBe('"say ""x"""');
  expect(csvField('two\nlines')).toBe('"two\nlines"');
});

test.each<[string, number | null]>([
  ['7d', START - 7 * DAY],
  ['36h', START - 1.5 * DAY],
  ['2026-11-01', Date.UTC(2026, 10, 1)],
  ['2026-02-30', null],
  ['2026-13-01', null],
  ['yesterday', null],
  ['-1d', null],
  ['', null],
])('--since %s', (text, ms) => {
  expect(sinceOf(text, START)).toBe(ms);
});
