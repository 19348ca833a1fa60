/** One wrong answer about a wallet's transaction count: no nonce is left out because of it. */
import { afterEach, describe, expect, it } from 'vitest';
import { rpc } from '../anvil.ts';
import { type Bench, intentFor, observe, openBench, settled, until } from './bench.ts';
import { executions } from './target.ts';

const COUNT = 'eth_getTransactionCount';
const WRONG = { fault: 'result', result: '0x28' } as const;

let bench: Bench;
afterEach(async () => {
  await bench.close();
});

async function allOnce(keys: readonly string[]): Promise<void> {
  for (const [nonce, key] of keys.entries()) {
    const state = await settled(bench.sender, key);
    expect({ key, ...state }).toMatchObject({ key, tag: 'mined', nonce });
  }
  expect([...(await executions(bench.anvil.url)).values()]).toEqual(keys.map(() => 1));
}

describe('a count that nothing explains', () => {
  it('is not believed at the start when it does not hold a moment later', async () => {
    bench = await openBench();
    const wrong = bench.proxy.on(COUNT, { nth: 1 }, WRONG);
    await bench.restart();
    expect(wrong.hits).toBe(1);
    await bench.sender.submit(intentFor('a'));
    await allOnce(['a']);
    expect(bench.log.some(({ msg }) => /not confirmed/.test(msg))).toBe(true);
  });

  it('is not believed before a nonce is claimed, as mined or as waiting', async () => {
    bench = await openBench();
    const keys = ['a', 'b', 'c'];
    for (const [index, tag] of (['latest', 'pending', 'latest'] as const).entries()) {
      // Until its count is old enough to be read anew.
      await observe(1_100);
      const where = ([, asked]: unknown[]): boolean => asked === tag;
      const wrong = bench.proxy.on(COUNT, { nth: 1, where }, WRONG);
      const key = keys[index] ?? '';
      await bench.sender.submit(intentFor(key));
      expect(wrong.hits).toBe(1);
      await bench.sender.wait(key, 'confirmed', 10_000);
    }
    await allOnce(keys);
  });

  it('is not believed while something is in flight', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 60_000 },
    });
    const { sender, anvil, proxy } = bench;
    await sender.submit(intentFor('a'));
    const wrong = proxy.on(COUNT, { nth: 1 }, WRONG);
    await until('a wrong answer', () => wrong.seen > 3);
    await sender.submit(intentFor('b'));
    await rpc(anvil.url, 'evm_setIntervalMining', [1]);
    await allOnce(['a', 'b']);
  });

  it('is not believed from one endpoint that says it for ever while another says less', async () => {
    bench = await openBench({ endpoints: 2 });
    bench.proxy.on(COUNT, { where: ([, asked]) => asked !== 'pending' }, WRONG);
    await bench.restart();
    const keys = ['a', 'b', 'c'];
    for (const key of keys) {
      await bench.sender.submit(intentFor(key));
      await settled(bench.sender, key);
    }
    await allOnce(keys);
  });
});
