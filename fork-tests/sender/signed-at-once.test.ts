/** Intents whose gas is known, written with their nonce and their bytes as one where nothing has to be asked for that. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Entry } from '../../runtime/sender/entry.ts';
import type { Guard, Signed } from '../../runtime/sender/insert.ts';
import { Journal } from '../../runtime/sender/journal.ts';
import type { Intent } from '../../runtime/sender/types.ts';
import { rpc } from '../anvil.ts';
import { writeFromOutside } from '../harness/outside.ts';
import {
  type Bench,
  intentFor,
  observe,
  openBench,
  settled,
  transactionCount,
  until,
} from './bench.ts';
import { executions } from './target.ts';

/** What goes wrong next, after the commit: so many answers of it that are lost, and looks that fail. */
const lost = { commits: 0, looks: 0 };
type Written = Promise<{ created: boolean; entry: Entry } | null>;
const insert: (this: Journal, intent: Intent, guard?: Guard, signed?: Signed) => Written =
  Reflect.get(Journal.prototype, 'insert');
const look: (this: Journal, key: string) => ReturnType<Journal['take']> = Reflect.get(
  Journal.prototype,
  'take',
);
async function insertAndLose(
  this: Journal,
  intent: Intent,
  guard?: Guard,
  signed?: Signed,
): Written {
  const inserted = await insert.call(this, intent, guard, signed);
  if (lost.commits === 0 || signed === undefined) return inserted;
  lost.commits -= 1;
  signed.onDoubt();
  throw new Error('Connection terminated unexpectedly');
}

// On the class, for as long as this file runs: the modules of the other files' tests may be the same ones.
beforeAll(() => {
  vi.spyOn(Journal.prototype, 'insert').mockImplementation(insertAndLose);
  vi.spyOn(Journal.prototype, 'take').mockImplementation(async function (this: Journal, key) {
    if (lost.looks > 0) {
      lost.looks -= 1;
      throw new Error('connect ECONNREFUSED');
    }
    return await look.call(this, key);
  });
});
afterAll(() => {
  vi.restoreAllMocks();
});

let bench: Bench;
afterEach(async () => {
  Object.assign(lost, { commits: 0, looks: 0 });
  await bench.close();
});

const GAS = 300_000n;
const known = (key: string) => intentFor(key, { gas: GAS });

async function onceEach(keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    expect(await settled(bench.sender, key)).toMatchObject({ tag: 'mined' });
  }
  expect([...(await executions(bench.anvil.url)).values()]).toEqual(keys.map(() => 1));
}

describe('an intent whose gas is known', () => {
  it('is on disk with its bytes where everything is fresh, and before them where something is to be read', async () => {
    const points: string[] = [];
    bench = await openBench({ onDurablePoint: (point) => points.push(point) });
    const { sender } = bench;
    const written = (): string[] =>
      points.splice(0).filter((point) => ['inserted', 'signed', 'persisted'].includes(point));
    await sender.freshen();
    await sender.submit(known('a'));
    expect(written()).toEqual(['signed', 'persisted', 'inserted']);
    await sender.wait('a', 'confirmed', 10_000);
    // Nothing is in flight any more, so that somebody else may have sent from the wallet.
    await until('what was read to be old', async () => {
      const head = await rpc<string>(bench.anvil.url, 'eth_blockNumber');
      return Number(head) > 30;
    });
    await sender.submit(known('b'));
    expect(written()).toEqual(['inserted', 'signed', 'persisted']);
    await sender.submit(intentFor('c'));
    expect(written()).toEqual(['inserted', 'signed', 'persisted']);
    await onceEach(['a', 'b', 'c']);
  });

  it('that its caller takes back holds no nonce', async () => {
    bench = await openBench();
    const { sender, anvil, accounts } = bench;
    await sender.freshen();
    const answers = await Promise.all(
      ['a', 'v', 'b', 'w', 'c'].map((key) =>
        sender.submit(known(key), { guard: async () => key < 'v' }),
      ),
    );
    expect(answers.map(({ tag }) => tag)).toEqual([
      'broadcast',
      'refused',
      'broadcast',
      'refused',
      'broadcast',
    ]);
    await onceEach(['a', 'b', 'c']);
    expect(await transactionCount(anvil.url, accounts[0]?.address ?? '0x')).toBe(3);
    expect(await sender.get('v')).toBeNull();
  });

  it('asked for several times at once, and among more than the wallets take, is sent once', async () => {
    bench = await openBench({ wallets: 2, settings: { maxInFlightPerWallet: 4 } });
    const { sender } = bench;
    await sender.freshen();
    const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);
    await Promise.all(
      keys.flatMap((key, index) => [
        sender.submit(index % 3 === 0 ? intentFor(key) : known(key)),
        sender.submit(known(key)),
      ]),
    );
    await onceEach(keys);
    expect(bench.fatal).toEqual([]);
  });

  it('is sent by the next life where this one ends before it', async () => {
    bench = await openBench();
    const { sender } = bench;
    await sender.freshen();
    const keys = ['a', 'b', 'c', 'd'];
    const submitted = Promise.allSettled(keys.map((key) => sender.submit(known(key))));
    const next = await bench.restart();
    await submitted;
    const there = await Promise.all(keys.map(async (key) => await next.get(key)));
    await onceEach(keys.filter((_, index) => there[index] !== null));
  });

  it.each([0, 1, 3])(
    'whose commit was not answered is found, and sent once: after %i looks',
    async (looks) => {
      bench = await openBench();
      const { sender, anvil, accounts } = bench;
      await sender.freshen();
      Object.assign(lost, { commits: 1, looks });
      const { tag } = await sender.submit(known('a'));
      expect(['broadcast', 'mined']).toContain(tag);
      await sender.submit(known('b'));
      await onceEach(['a', 'b']);
      expect(await transactionCount(anvil.url, accounts[0]?.address ?? '0x')).toBe(2);
      expect(bench.fatal).toEqual([]);
    },
  );

  it('of which nobody can say whether it is there ends the sender, and the next life sends it', async () => {
    bench = await openBench();
    await bench.sender.freshen();
    Object.assign(lost, { commits: 1, looks: 1_000 });
    await expect(bench.sender.submit(known('a'))).rejects.toThrow('cannot be found out');
    expect(bench.fatal).toMatchObject([{ name: 'JournalUnknown' }]);
    expect(await bench.sender.submit(known('b'))).toMatchObject({ reason: 'stopping' });
    lost.looks = 0;
    const next = await bench.restart();
    await next.submit(known('b'));
    await onceEach(['a', 'b']);
  });

  /** A row of which the running sender knows nothing holds the first nonce of the wallet. */
  async function takeFirstNonce(wallet: string): Promise<void> {
    const columns =
      'key, seq, version, kind, target, calldata, value_wei, phase, wallet, nonce, confirmed, created_at, updated_at';
    await writeFromOutside(
      bench.storeFile,
      `insert into sender_intent (${columns}) values ('other', 1, 2, 't', '${wallet}', '0x', '0', 'signed', '${wallet}', 0, 0, 1, 1)`,
    );
  }

  it.each<[string, { gas?: bigint }]>([
    ['at once', { gas: GAS }],
    ['from the queue', {}],
  ])('that meets a nonce which another row holds ends the sender, %s', async (_, more) => {
    bench = await openBench();
    const { sender, accounts } = bench;
    await sender.freshen();
    await takeFirstNonce(accounts[0]?.address ?? '0x');
    await Promise.allSettled([sender.submit(intentFor('a', more))]);
    expect(bench.fatal).toMatchObject([{ name: 'JournalConflict' }]);
    expect(await sender.submit(known('b'))).toMatchObject({ reason: 'stopping' });
    expect((await executions(bench.anvil.url)).size).toBe(0);
  });

  it('that waits for its turn when the sender must end is not sent any more', async () => {
    bench = await openBench({ wallets: 2 });
    const { sender, accounts, anvil } = bench;
    await sender.freshen();
    const [one = '0x', two = '0x'] = accounts.map(({ address }) => address);
    await takeFirstNonce(one);
    const guard = async (): Promise<boolean> => {
      await observe(100);
      return true;
    };
    const first = sender.submit(intentFor('c', { gas: GAS, from: two }), { guard });
    const behind = sender.submit(intentFor('d', { gas: GAS, from: two }), { guard });
    const conflicting = sender.submit(intentFor('b', { gas: GAS, from: one }));
    const queued = sender.submit(intentFor('e', { from: two }), { timeoutMs: 1_000 });
    await Promise.allSettled([first, behind, conflicting, queued]);
    expect(bench.fatal).toMatchObject([{ name: 'JournalConflict' }]);
    await observe(300);
    const executed = await executions(anvil.url);
    expect(executed.size).toBeLessThanOrEqual(1);
    expect(await transactionCount(anvil.url, two)).toBe(executed.size);
  });

  it('that waits for its turn when the sender stops is refused at once, and not written later', async () => {
    bench = await openBench();
    const { sender } = bench;
    await sender.freshen();
    let isStopping = false;
    let isWriting = false;
    const first = sender.submit(known('a'), {
      guard: async () => {
        isWriting = true;
        await until('the stop', () => isStopping);
        return true;
      },
    });
    const second = sender.submit(known('b'));
    await until('the write', () => isWriting);
    const stopped = sender.stop(3_000);
    isStopping = true;
    await stopped;
    expect(await second).toMatchObject({ tag: 'refused', reason: 'stopping' });
    await first;
    const next = await bench.restart();
    expect(await next.get('b')).toBeNull();
    await onceEach(['a']);
  });
});
