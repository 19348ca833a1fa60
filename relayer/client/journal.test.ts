/** The journal: what is written survives, what was torn goes, and records that contradict each other stop the client. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Action } from '../../contracts-abi/typed-data.ts';
import { createMemoryJournal, type Journal, JournalError } from './journal.ts';
import { openFileJournal } from './journal-file.ts';
import { openLedger, openUntil } from './ledger.ts';
import type { Settled } from './outcome.ts';
import { digestOf, type Signable } from './signable.ts';

const address = (digit: string) => `0x${digit.repeat(40)}` as const;
const action: Action = {
  account: address('1'),
  key: address('2'),
  kind: 0,
  vault: address('4'),
  amount: 10n ** 18n,
  limit: 5n,
  slippageBps: 50,
  data: '0x1234',
  nonce: 7n,
  deadline: 100,
  fee: 0n,
};
const trade = (change: Partial<Action> = {}): Signable => ({
  type: 'trade',
  module: address('3'),
  action: { ...action, ...change },
});
const version = (signable: Signable) => ({
  digest: digestOf(signable),
  signable,
  signature: `0x${'11'.repeat(65)}` as const,
});
const hash = `0x${'ab'.repeat(32)}` as const;
const executed = (id: string): Settled => ({
  tag: 'executed',
  id,
  hash,
  digest: digestOf(trade()),
  fee: 30n,
  nextFee: 40n,
});
const never = (id: string): Settled => ({
  tag: 'neverExecuted',
  id,
  reason: 'expired',
  hash: null,
});
const ledgerOf = (journal: Journal) => openLedger(journal, () => 1_000);

describe('the ledger of a journal', () => {
  it('is the same after a restart at every record', async () => {
    const journal = createMemoryJournal();
    const ledger = await ledgerOf(journal);
    const steps = [
      () => ledger.planned('a', 0, trade()),
      () => ledger.signed('a', version(trade())),
      () => ledger.submitted('a', digestOf(trade())),
      () => ledger.signed('a', version(trade({ fee: 30n, deadline: 200 }))),
      () => ledger.settled('a', never('a')),
      () => ledger.planned('a', 1, trade({ nonce: 8n })),
      () => ledger.signed('a', version(trade({ nonce: 8n }))),
      () => ledger.settled('a', executed('a')),
    ];
    for (const step of steps) {
      await step();
      const copy = createMemoryJournal(
        JSON.parse(JSON.stringify(journal.records)) as typeof journal.records,
      );
      const again = await ledgerOf(copy);
      expect(again.find('a')).toEqual(ledger.find('a'));
    }
    expect(ledger.find('a')).toMatchObject({ attempt: 1, nonce: 8n, outcome: executed('a') });
    expect(ledger.open()).toEqual([]);
  });

  it('knows until when any version may run', async () => {
    const ledger = await ledgerOf(createMemoryJournal());
    await ledger.planned('a', 0, trade());
    await ledger.signed('a', version(trade({ deadline: 300 })));
    const entry = await ledger.signed('a', version(trade({ deadline: 200 })));
    expect(openUntil(entry)).toBe(300);
    expect(ledger.open()).toEqual([entry]);
  });

  it('refuses what would give an intent two nonces, and writes none of it', async () => {
    const journal = createMemoryJournal();
    const ledger = await ledgerOf(journal);
    await ledger.planned('a', 0, trade());
    await ledger.signed('a', version(trade()));
    const refused: [() => Promise<unknown>, RegExp][] = [
      [() => ledger.planned('a', 1, trade({ nonce: 8n })), /while the one before may run/],
      [() => ledger.planned('a', 0, trade({ nonce: 8n })), /changes its nonce/],
      [() => ledger.planned('b', 0, trade()), /plans a nonce that a has/],
      [() => ledger.planned('b', 1, trade({ nonce: 9n })), /skips an attempt/],
      [() => ledger.signed('a', version(trade({ nonce: 8n }))), /another nonce/],
      [() => ledger.submitted('a', hash), /was not signed/],
      [() => ledger.signed('b', version(trade())), /never planned/],
    ];
    for (const [attempt, why] of refused) {
      const failing = attempt();
      await expect(failing).rejects.toThrow(JournalError);
      await expect(failing).rejects.toThrow(why);
    }
    await ledger.settled('a', executed('a'));
    await expect(ledger.planned('a', 1, trade({ nonce: 8n }))).rejects.toThrow(/executed/);
    await expect(ledger.settled('a', never('a'))).rejects.toThrow(/ended already/);
    expect(journal.records).toHaveLength(3);
  });

  it('reserves a nonce before the record is on disk', async () => {
    const ledger = await ledgerOf(createMemoryJournal());
    const both = await Promise.allSettled([
      ledger.planned('a', 0, trade()),
      ledger.planned('b', 0, trade()),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });

  it('begins a plan that was never signed again, under another nonce', async () => {
    const ledger = await ledgerOf(createMemoryJournal());
    await ledger.planned('a', 0, trade());
    expect(await ledger.planned('a', 1, trade({ nonce: 8n }))).toMatchObject({ nonce: 8n });
  });

  it('is not made from records that are not whole', async () => {
    const wrong = createMemoryJournal([{ state: 'planned' } as never]);
    await expect(ledgerOf(wrong)).rejects.toThrow(/a record is not valid: id/);
    const late = createMemoryJournal([
      { id: 'a', attempt: 0, at: 1, state: 'submitted', digest: hash },
    ]);
    await expect(ledgerOf(late)).rejects.toThrow(/no plan of this attempt/);
  });
});

describe('a journal file', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'agent-journal-'));
    path = join(folder, 'deep', 'agent.journal');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('keeps its lines, for its owner alone', async () => {
    const journal = await openFileJournal(path);
    const ledger = await ledgerOf(journal);
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        ledger.planned(`i${index}`, 0, trade({ nonce: BigInt(index) })),
      ),
    );
    await journal.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = await openFileJournal(path);
    expect((await ledgerOf(again)).open()).toHaveLength(20);
    await again.close();
  });

  it('loses a torn last line at any byte, and nothing before it', async () => {
    const first = await openFileJournal(path);
    await (await ledgerOf(first)).planned('a', 0, trade());
    await first.close();
    const whole = readFileSync(path);
    await (await openFileJournal(path)).close();
    for (let cut = 0; cut < whole.length; cut += 7) {
      writeFileSync(path, Buffer.concat([whole, whole.subarray(0, cut)]));
      const journal = await openFileJournal(path);
      const ledger = await ledgerOf(journal);
      expect(ledger.open()).toHaveLength(1);
      await ledger.planned('b', 0, trade({ nonce: 9n }));
      await journal.close();
      const reread = await openFileJournal(path);
      expect((await ledgerOf(reread)).open()).toHaveLength(2);
      await reread.close();
    }
  });

  it('that is damaged before its end is not opened, and is left as it is', async () => {
    const journal = await openFileJournal(path);
    await (await ledgerOf(journal)).planned('a', 0, trade());
    await journal.close();
    const good = readFileSync(path, 'utf8');
    writeFileSync(path, `{"id":\n${good}`);
    await expect(openFileJournal(path)).rejects.toThrow(/line 1 is damaged/);
    expect(readFileSync(path, 'utf8')).toBe(`{"id":\n${good}`);
    writeFileSync(path, good);
    await (await openFileJournal(path)).close();
  });

  it('belongs to one process at a time', async () => {
    const journal = await openFileJournal(path);
    await expect(openFileJournal(path)).rejects.toThrow(/open in another process/);
    await journal.close();
    await (await openFileJournal(path)).close();
  });

  it('forgets what ended long ago, and nothing that is open', async () => {
    const journal = await openFileJournal(path);
    const ledger = await ledgerOf(journal);
    await ledger.planned('ended', 0, trade());
    await ledger.settled('ended', never('ended'));
    await ledger.planned('open', 0, trade({ nonce: 8n }));
    await journal.prune(1_000);
    expect(await journal.read()).toHaveLength(3);
    await journal.prune(1_001);
    await ledger.signed('open', version(trade({ nonce: 8n })));
    await journal.close();
    const again = await openFileJournal(path);
    const reread = await ledgerOf(again);
    expect(reread.find('ended')).toBeNull();
    expect(reread.find('open')?.versions).toHaveLength(1);
    await again.close();
  });

  it('is not written on after an append failed', async () => {
    const journal = await openFileJournal(path);
    const ledger = await ledgerOf(journal);
    await ledger.planned('a', 0, trade());
    const unwritable = {
      toJSON: () => {
        throw new Error('disk full');
      },
    };
    await expect(journal.append(unwritable as never)).rejects.toThrow('disk full');
    await expect(ledger.planned('b', 0, trade({ nonce: 9n }))).rejects.toThrow(/failed before/);
    await journal.close();
  });
});
