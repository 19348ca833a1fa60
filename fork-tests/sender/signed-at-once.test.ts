/** Intents whose gas is known, written with their nonce and their bytes as one where nothing has to be asked for that. */
import { afterEach, describe, expect, it } from 'vitest';
import { rpc } from '../anvil.ts';
import { type Bench, intentFor, openBench, settled, transactionCount, until } from './bench.ts';
import { executions } from './target.ts';

let bench: Bench;
afterEach(async () => {
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
});
