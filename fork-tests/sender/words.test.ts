/** Nodes say the same in other words, clocks step back, gateways refuse batches: none of it may cost a transaction. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { rpc } from '../anvil.ts';
import { type Bench, intentFor, observe, openBench, settled } from './bench.ts';
import { executionsOf } from './target.ts';

const SEND = 'eth_sendRawTransaction';

let bench: Bench;
afterEach(async () => {
  vi.restoreAllMocks();
  await bench.close();
});

describe('a node with words of its own', () => {
  it.each([
    [-32_000, 'AlreadyKnown'],
    [-32_000, 'existing tx with same hash'],
    [-32_010, 'Transaction with the same hash was already imported.'],
  ])('keeps a transaction that it has and does not want twice (%s %s)', async (code, message) => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 60_000, rebroadcastMs: 200 },
    });
    const { proxy, anvil } = bench;
    let { sender } = bench;
    await sender.submit(intentFor('a'));
    const again = proxy.on(SEND, {}, { fault: 'error', code, message, forwarded: false });
    await observe(2_500);
    // The next process has no memory of who took it.
    sender = await bench.restart();
    await observe(2_500);
    expect(again.hits).toBeGreaterThan(2);
    expect(await sender.get('a')).toMatchObject({
      state: { tag: 'broadcast', hashes: { length: 1 } },
    });
    await rpc(anvil.url, 'evm_mine');
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'mined' });
  });

  it.each([
    [-32_000, 'OldNonce'],
    [-32_010, 'Transaction nonce is too low. Try incrementing the nonce.'],
    [-32_000, 'invalid nonce; got 0, expected 1'],
  ])('finds what it took and mined while it says %s %s', async (code, message) => {
    bench = await openBench();
    const { sender, proxy, anvil } = bench;
    proxy.on(SEND, { times: 2 }, { fault: 'error', code, message, forwarded: true });
    await sender.submit(intentFor('a'));
    await sender.submit(intentFor('b'));
    for (const key of ['a', 'b']) {
      expect(await settled(sender, key)).toMatchObject({ tag: 'mined' });
      expect(await executionsOf(anvil.url, key)).toBe(1);
    }
  });
});

describe('a machine whose time is set back by an hour', () => {
  it('waits no hour for anything', async () => {
    const real = Date.now.bind(Date);
    let back = 0;
    vi.spyOn(Date, 'now').mockImplementation(() => real() - back);
    bench = await openBench({ anvil: { args: ['--no-mining'] } });
    const { sender, proxy, anvil } = bench;
    await sender.submit(intentFor('a'));
    const limited = proxy.on('*', {}, { fault: 'http', status: 429 });
    await vi.waitUntil(() => limited.hits > 1, { timeout: 10_000 });
    back = 3_600_000;
    limited.remove();
    await rpc(anvil.url, 'evm_mine');
    expect(await settled(sender, 'a', 15_000)).toMatchObject({ tag: 'mined' });
    void sender.submit(intentFor('b'), { timeoutMs: 5_000 });
    await vi.waitUntil(
      async () => {
        await rpc(anvil.url, 'evm_mine');
        return (await executionsOf(anvil.url, 'b')) === 1;
      },
      { timeout: 15_000, interval: 200 },
    );
    expect(await settled(sender, 'b', 5_000)).toMatchObject({ tag: 'mined' });
  });
});

describe('a gateway', () => {
  it.each([400, 413])('that refuses batches with HTTP %s is asked call by call', async (status) => {
    bench = await openBench();
    bench.proxy.refuseBatches(status);
    await bench.sender.submit(intentFor('a'));
    expect(await settled(bench.sender, 'a', 10_000)).toMatchObject({ tag: 'mined' });
  });
});
