/** Several endpoints, holes left by others, and transactions that a node swallowed. */
import { afterEach, describe, expect, it } from 'vitest';
import { rpc } from '../anvil.ts';
import { startProxy } from '../proxy/proxy.ts';
import {
  type Bench,
  intentFor,
  observe,
  openBench,
  settled,
  transactionCount,
  until,
} from './bench.ts';
import { executions, executionsOf } from './target.ts';

const SEND = 'eth_sendRawTransaction';

let bench: Bench;
afterEach(async () => {
  await bench.close();
});

describe('endpoints', () => {
  it('works on while the first endpoint is dead, and uses it again afterwards', async () => {
    bench = await openBench({ endpoints: 2 });
    const { sender, proxy, anvil } = bench;
    await proxy.pause();
    const keys = Array.from({ length: 6 }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key) => sender.submit(intentFor(key))));
    for (const key of keys)
      expect({ key, ...(await settled(sender, key)) }).toMatchObject({ key, tag: 'mined' });
    await proxy.resume();
    await until('the first endpoint in use', async () => {
      await sender.submit(intentFor(`again${proxy.requests()}${Date.now()}`));
      return (proxy.counts()[SEND] ?? 0) > 0;
    });
    expect([...(await executions(anvil.url)).values()].every((count) => count === 1)).toBe(true);
  });

  it('lands what one endpoint takes and loses, through the other', async () => {
    bench = await openBench({ endpoints: 2, settings: { stuckAfterMs: 60_000 } });
    const { sender, proxy, anvil } = bench;
    const swallowed = proxy.on(SEND, {}, { fault: 'result', result: `0x${'0'.repeat(64)}` });
    await sender.submit(intentFor('a'));
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'mined', nonce: 0 });
    expect(swallowed.hits).toBeGreaterThan(0);
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
  });

  it('does not let an endpoint that is stuck in the past decide anything', async () => {
    bench = await openBench({ endpoints: 2 });
    const { sender, proxy, anvil } = bench;
    await sender.submit(intentFor('a'));
    await settled(sender, 'a');
    const frozen = await rpc(anvil.url, 'eth_getBlockByNumber', ['latest', false]);
    proxy.on('eth_getBlockByNumber', {}, { fault: 'result', result: frozen });
    proxy.on(SEND, { nth: 2 }, { fault: 'drop', forwarded: true });
    const keys = ['b', 'c', 'd'];
    await Promise.all(keys.map((key) => sender.submit(intentFor(key))));
    for (const key of keys)
      expect({ key, ...(await settled(sender, key)) }).toMatchObject({ key, tag: 'mined' });
    expect([...(await executions(anvil.url)).values()]).toEqual([1, 1, 1, 1]);
  });
});

describe('a frozen head', () => {
  it('is left for an endpoint that moves on', async () => {
    bench = await openBench({ endpoints: 2, settings: { stuckAfterMs: 60_000 } });
    const { sender, proxy, anvil } = bench;
    // The whole first endpoint answers promptly from one moment, and loses what it is sent.
    const frozen = await rpc(anvil.url, 'eth_getBlockByNumber', ['latest', false]);
    const number = (frozen as { number: string }).number;
    proxy.on('eth_getBlockByNumber', {}, { fault: 'result', result: frozen });
    proxy.on('eth_blockNumber', {}, { fault: 'result', result: number });
    proxy.on('eth_getTransactionCount', {}, { fault: 'result', result: '0x0' });
    proxy.on('eth_getTransactionReceipt', {}, { fault: 'result', result: null });
    proxy.on(SEND, {}, { fault: 'result', result: `0x${'0'.repeat(64)}` });
    await sender.submit(intentFor('a'));
    expect(await settled(sender, 'a', 30_000)).toMatchObject({ tag: 'mined', nonce: 0 });
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
  });
});

describe('holes', () => {
  it('fills a nonce that somebody else’s lost transaction left behind', async () => {
    bench = await openBench({ anvil: { args: ['--no-mining'] } });
    const { anvil, accounts } = bench;
    const [account] = accounts;
    if (!account) throw new Error('no wallet');
    // A transaction by hand waits in the pool, so the sender takes the nonce after it; then it is gone.
    const raw = await account.signTransaction({
      type: 'eip1559',
      chainId: 4663,
      to: account.address,
      nonce: 0,
      gas: 21_000n,
      maxFeePerGas: 2n * 10n ** 9n,
      maxPriorityFeePerGas: 1n,
    });
    const hash = await rpc<string>(anvil.url, SEND, [raw]);
    const { sender } = bench;
    await bench.restart();
    const state = await bench.sender.submit(intentFor('a'));
    expect(state).toMatchObject({ tag: 'broadcast', nonce: 1 });
    await rpc(anvil.url, 'anvil_dropTransaction', [hash]);
    await rpc(anvil.url, 'evm_setIntervalMining', [1]);
    expect(await settled(bench.sender, 'a')).toMatchObject({ tag: 'mined', nonce: 1 });
    expect(await transactionCount(anvil.url, account.address)).toBe(2);
    expect(await bench.registry.metrics()).toMatch(/event="hole_filled"\} 1/);
    expect(sender).not.toBe(bench.sender);
  });

  it('fills all of them after one wait, and says meanwhile what the wallet waits for', async () => {
    bench = await openBench({ anvil: { args: ['--no-mining'] } });
    const { sender, anvil, proxy } = bench;
    const wrong = proxy.on('eth_getTransactionCount', {}, { fault: 'result', result: '0x5' });
    // Until its count is old enough to be read anew.
    await observe(1_100);
    expect(await sender.submit(intentFor('a'))).toMatchObject({ tag: 'broadcast', nonce: 5 });
    wrong.remove();
    const reason = () => sender.status().wallets[0]?.reason ?? null;
    await until('the reason', () => reason()?.includes('wait for nonce 0') ?? false);
    // None of them is mined before all of them are there.
    await until('a filled pool', async () => {
      const pool = await rpc<{ pending: string; queued: string }>(anvil.url, 'txpool_status');
      return Number(pool.pending) === 6 && pool.queued === '0x0';
    });
    await rpc(anvil.url, 'evm_setIntervalMining', [1]);
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'mined', nonce: 5 });
    expect(reason()).toBeNull();
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
    expect(await bench.registry.metrics()).toMatch(/event="hole_filled"\} 5/);
  });
});

it('a proxy in front of nothing breaks connections as a dead node does', async () => {
  bench = await openBench();
  const proxy = await startProxy('http://127.0.0.1:1');
  await expect(rpc(proxy.url, 'eth_chainId')).rejects.toThrow(/fetch failed/);
  await proxy.stop();
});
