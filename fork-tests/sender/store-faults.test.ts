/** The journal cannot be written for a while, or somebody else writes it: nothing is lost, doubled or stuck. */
import { afterEach, describe, expect, it } from 'vitest';
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
import { executionsOf } from './target.ts';

let bench: Bench;
afterEach(async () => {
  await bench.close();
});

const fromOutside = (statement: string): Promise<number> =>
  writeFromOutside(bench.storeFile, statement);

/** As a full disk does it: the statement fails, the file stays as it was. */
async function breakStore(when: string): Promise<{ mend(): Promise<unknown> }> {
  await fromOutside(
    `CREATE TRIGGER broken BEFORE ${when} BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`,
  );
  return { mend: () => fromOutside('DROP TRIGGER broken') };
}

describe('a store that takes no writes for a while', () => {
  it.each([
    ['the bytes', 'INSERT ON sender_attempt'],
    ['the claim', "UPDATE ON sender_intent WHEN NEW.phase = 'signed'"],
    ['the broadcast', "UPDATE ON sender_intent WHEN NEW.phase = 'broadcast'"],
    ['the receipt', "UPDATE ON sender_intent WHEN NEW.phase = 'mined'"],
    ['the confirmation', 'UPDATE ON sender_intent WHEN NEW.confirmed = 1'],
    ['everything', 'UPDATE ON sender_intent'],
  ])('at %s: each intent runs once, nonces have no hole', async (_, when) => {
    bench = await openBench();
    const broken = await breakStore(when);
    const keys = ['a', 'b', 'c'];
    await Promise.all(keys.map((key) => bench.sender.submit(intentFor(key), { timeoutMs: 700 })));
    await observe(300);
    await broken.mend();
    for (const key of keys) {
      expect(await bench.sender.wait(key, 'confirmed', 20_000)).toMatchObject({
        tag: 'mined',
        confirmed: true,
      });
      expect(await executionsOf(bench.anvil.url, key)).toBe(1);
    }
    const [account] = bench.accounts;
    if (account === undefined) throw new Error('no wallet');
    expect(await transactionCount(bench.anvil.url, account.address)).toBe(3);
    expect(bench.fatal).toEqual([]);
  });

  it('at the very row: the submit throws, nothing is sent, the same key runs once later', async () => {
    bench = await openBench();
    const broken = await breakStore('INSERT ON sender_intent');
    await expect(bench.sender.submit(intentFor('a'))).rejects.toThrow(/full/);
    await broken.mend();
    await bench.sender.submit(intentFor('a'));
    expect(await settled(bench.sender, 'a')).toMatchObject({ tag: 'mined', nonce: 0 });
    expect(await executionsOf(bench.anvil.url, 'a')).toBe(1);
  });
});

describe('a nonce that nobody holds', () => {
  it('is filled once though its bytes could not be stored at first, and nothing besides is sent', async () => {
    bench = await openBench({ anvil: { args: ['--no-mining'] } });
    const { sender, anvil, proxy } = bench;
    const wrong = proxy.on('eth_getTransactionCount', {}, { fault: 'result', result: '0x1' });
    // Until its count is old enough to be read anew.
    await observe(1_100);
    const broken = await breakStore('INSERT ON sender_attempt WHEN NEW.nonce = 0');
    expect(await sender.submit(intentFor('a'))).toMatchObject({ tag: 'broadcast', nonce: 1 });
    wrong.remove();
    await until('the fill failed', () =>
      bench.log.some(({ msg }) => msg.startsWith('the sender loop failed')),
    );
    await broken.mend();
    await rpc(anvil.url, 'evm_setIntervalMining', [1]);
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'mined', nonce: 1 });
    await until(
      'nothing is under way',
      () => sender.status().inFlight + sender.status().queued === 0,
    );
    const [account] = bench.accounts;
    if (account === undefined) throw new Error('no wallet');
    expect(await transactionCount(anvil.url, account.address)).toBe(2);
  });
});

describe('a journal that somebody else writes', () => {
  it('ends the sender for good, and its owner is told', async () => {
    bench = await openBench({ anvil: { args: ['--no-mining'] } });
    await bench.sender.submit(intentFor('a'));
    await fromOutside('UPDATE sender_intent SET version = version + 1');
    await rpc(bench.anvil.url, 'evm_mine');
    await until('the owner was told', () => bench.fatal.length === 1);
    expect(await bench.sender.submit(intentFor('b'))).toMatchObject({
      tag: 'refused',
      reason: 'stopping',
    });
    expect(await executionsOf(bench.anvil.url, 'a')).toBe(1);
  });
});
