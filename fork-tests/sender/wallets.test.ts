/** Several wallets, no ETH, no work; restarts and stops. */
import { afterEach, describe, expect, it } from 'vitest';
import { rpc } from '../anvil.ts';
import {
  type Bench,
  fund,
  intentFor,
  observe,
  openBench,
  settled,
  transactionCount,
  until,
} from './bench.ts';
import { executions } from './target.ts';

let bench: Bench;
afterEach(async () => {
  await bench.close();
});

async function allOnce(keys: readonly string[], ms = 30_000): Promise<void> {
  for (const key of keys) {
    expect({ key, ...(await settled(bench.sender, key, ms)) }).toMatchObject({ key, tag: 'mined' });
  }
  expect([...(await executions(bench.anvil.url)).values()]).toEqual(keys.map(() => 1));
}

function wallet(index: number) {
  const account = bench.accounts[index];
  if (!account) throw new Error('no such wallet');
  return account.address;
}

describe('wallets', () => {
  it('costs no call while there is nothing to do, however many wallets (case 14)', async () => {
    bench = await openBench({ wallets: 25 });
    const { sender, proxy } = bench;
    await sender.submit(intentFor('a'));
    await sender.wait('a', 'confirmed', 10_000);
    await observe(500);
    proxy.resetCounts();
    await observe(3_000);
    expect(proxy.counts()).toEqual({});
    expect(proxy.requests()).toBe(0);
  });

  it('sends what names its wallet from that one alone, and refuses it where its key is not loaded', async () => {
    bench = await openBench({ wallets: 3 });
    const { sender, anvil } = bench;
    const from = wallet(1);
    const keys = ['a', 'b', 'c'];
    await Promise.all(keys.map((key) => sender.submit(intentFor(key, { from }))));
    for (const key of keys) {
      expect(await settled(sender, key)).toMatchObject({ tag: 'mined', wallet: from });
    }
    const stranger = '0x00000000000000000000000000000000000000aa';
    expect(await sender.submit(intentFor('e', { from: stranger }))).toMatchObject({
      tag: 'refused',
      reason: 'no_wallet',
    });
    expect((await executions(anvil.url)).size).toBe(3);
  });

  it('goes on with the others when one runs out of ETH while holding work (case 11)', async () => {
    bench = await openBench({
      wallets: 2,
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 60_000 },
    });
    const { sender, anvil, registry } = bench;
    const held = ['a', 'b', 'c', 'd'];
    const states = await Promise.all(held.map((key) => sender.submit(intentFor(key))));
    const owners = states.map((state) => (state.tag === 'broadcast' ? state.wallet : null));
    const poor = wallet(0);
    expect(owners.filter((owner) => owner === poor).length).toBe(2);
    await rpc(anvil.url, 'anvil_setBalance', [poor, '0x0']);
    await until('the status to say so', () =>
      sender.status().wallets.some(({ address, usable }) => address === poor && !usable),
    );
    expect(sender.status().wallets.find(({ address }) => address === poor)?.reason).toMatch(
      /ETH|balance/,
    );
    expect(await registry.metrics()).toContain(`wallet_usable{wallet="${poor}"} 0`);
    const later = ['e', 'f', 'g'];
    for (const key of later) {
      expect(await sender.submit(intentFor(key))).toMatchObject({
        tag: 'broadcast',
        wallet: wallet(1),
      });
    }
    await rpc(anvil.url, 'evm_setIntervalMining', [1]);
    const rich = [...held.filter((_, index) => owners[index] !== poor), ...later];
    for (const key of rich)
      expect({ key, ...(await settled(sender, key)) }).toMatchObject({ key, tag: 'mined' });
    await fund(anvil.url, poor, '10');
    await until('usable again', () => sender.status().wallets.every(({ usable }) => usable));
    await allOnce([...held, ...later]);
  });

  it('refuses for lack of ETH only after a fresh read, and recovers by a top-up', async () => {
    bench = await openBench({ wallets: 2 });
    const { sender, anvil } = bench;
    for (const { address } of bench.accounts)
      await rpc(anvil.url, 'anvil_setBalance', [address, '0x1']);
    await observe(1_100);
    expect(await sender.submit(intentFor('a'))).toMatchObject({
      tag: 'refused',
      reason: 'insufficient_eth',
    });
    await fund(anvil.url, wallet(1), '1');
    expect(await sender.submit(intentFor('b'))).toMatchObject({
      tag: 'broadcast',
      wallet: wallet(1),
    });
  });

  it('one intent too dear for the wallets keeps none of them from the others', async () => {
    bench = await openBench({ wallets: 2 });
    const { sender } = bench;
    const dear = intentFor('dear', { value: 10n ** 21n });
    expect(await sender.submit(dear)).toMatchObject({ tag: 'refused' });
    expect(await sender.submit(intentFor('a'))).toMatchObject({ tag: 'broadcast' });
  });

  it('spreads work over its wallets and lands 120 intents once each', async () => {
    bench = await openBench({ wallets: 4 });
    const { sender, anvil } = bench;
    const keys = Array.from({ length: 120 }, (_, index) => `n${index}`);
    await Promise.all(keys.map((key) => sender.submit(intentFor(key), { timeoutMs: 30_000 })));
    await allOnce(keys, 40_000);
    const counts = await Promise.all(
      bench.accounts.map(({ address }) => transactionCount(anvil.url, address)),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(120);
    expect(Math.min(...counts)).toBeGreaterThan(10);
  });
});

describe('restarts', () => {
  it('resynchronises when the node lost three sends before the restart (case 9)', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 60_000 },
    });
    const { sender, anvil } = bench;
    const keys = ['a', 'b', 'c'];
    await Promise.all(keys.map((key) => sender.submit(intentFor(key))));
    await rpc(anvil.url, 'anvil_dropAllTransactions');
    await bench.restart();
    await rpc(anvil.url, 'evm_setIntervalMining', [1]);
    expect(await bench.sender.submit(intentFor('d'))).toMatchObject({ tag: 'broadcast', nonce: 3 });
    await allOnce([...keys, 'd']);
  });

  it('carries what is queued and in flight over a stop without a drain', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { maxInFlightPerWallet: 3, stuckAfterMs: 60_000 },
    });
    const keys = Array.from({ length: 8 }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key) => bench.sender.submit(intentFor(key), { timeoutMs: 300 })));
    await bench.restart();
    await rpc(bench.anvil.url, 'evm_setIntervalMining', [1]);
    await allOnce(keys);
  });

  it('drains on stop, takes nothing new meanwhile, and answers every waiter', async () => {
    bench = await openBench({ wallets: 2 });
    const { sender } = bench;
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
    const submits = keys.map((key) => sender.submit(intentFor(key), { timeoutMs: 30_000 }));
    await until('work in flight', () => sender.status().inFlight > 0);
    const stopped = sender.stop(20_000);
    expect(await sender.submit(intentFor('late'))).toMatchObject({
      tag: 'refused',
      reason: 'stopping',
    });
    await stopped;
    const states = await Promise.all(submits);
    expect(states.every(({ tag }) => tag !== 'refused')).toBe(true);
    expect((await executions(bench.anvil.url)).size).toBe(20);
    expect(sender.status()).toMatchObject({ queued: 0, inFlight: 0 });
  });

  it('does not start on a chain that lacks what the journal has confirmed', async () => {
    bench = await openBench();
    const { sender, anvil } = bench;
    const clean = await rpc<string>(anvil.url, 'evm_snapshot');
    await sender.submit(intentFor('a'));
    await sender.wait('a', 'confirmed', 10_000);
    await sender.stop(0);
    await rpc(anvil.url, 'evm_revert', [clean]);
    await expect(bench.restart()).rejects.toThrow(/another chain/);
  });
});
