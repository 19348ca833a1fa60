/** Invariant 6 of the sender: included is not final, and one read from the past proves nothing. */
import { afterEach, describe, expect, it } from 'vitest';
import { rpc } from '../anvil.ts';
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

const RECEIPT = 'eth_getTransactionReceipt';

let bench: Bench;
afterEach(async () => {
  await bench.close();
});

function nullReceipts() {
  return bench.proxy.on(
    RECEIPT,
    {},
    { fault: 'rewrite', rewrite: (reply) => ({ ...reply, result: null }) },
  );
}

describe('included is not final', () => {
  it('returns an intent to broadcast when a reorg removes it, and lands it again (case 13)', async () => {
    bench = await openBench({ anvil: {}, settings: { confirmations: 50, stuckAfterMs: 60_000 } });
    const { sender, anvil, registry } = bench;
    const seen: string[] = [];
    sender.onChange(({ state }) => seen.push(state.tag));
    await sender.submit(intentFor('a'));
    const first = await settled(sender, 'a');
    expect(first.tag).toBe('mined');
    // Two blocks are replaced by empty ones, and Anvil does not put the transaction back into its pool.
    await rpc(anvil.url, 'evm_mine');
    await rpc(anvil.url, 'anvil_reorg', [2, []]);
    expect(await executionsOf(anvil.url, 'a')).toBe(0);
    await until('broadcast again', () => seen.lastIndexOf('broadcast') > seen.indexOf('mined'));
    await until('mined again', () => seen.at(-1) === 'mined');
    const second = await settled(sender, 'a');
    expect(second).toMatchObject({ tag: 'mined', nonce: 0, confirmed: false });
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
    expect(await transactionCount(anvil.url, bench.accounts[0]?.address ?? '0x')).toBe(1);
    await rpc(anvil.url, 'anvil_mine', ['0x3c']);
    expect(await sender.wait('a', 'confirmed', 10_000)).toMatchObject({ confirmed: true });
    expect(await registry.metrics()).toMatch(/events_total\{event="reorg"\} 1/);
  });

  it('follows a transaction into another block', async () => {
    bench = await openBench({ anvil: {}, settings: { confirmations: 50 } });
    const { sender, anvil } = bench;
    await sender.submit(intentFor('a'));
    const first = await settled(sender, 'a');
    if (first.tag !== 'mined') throw new Error(first.tag);
    const raw = await rpc<string>(anvil.url, 'eth_getRawTransactionByHash', [first.hash]);
    await rpc(anvil.url, 'anvil_mine', ['0x2']);
    await rpc(anvil.url, 'anvil_reorg', [3, [[raw, 1]]]);
    await rpc(anvil.url, 'anvil_mine', ['0x40']);
    const last = await sender.wait('a', 'confirmed', 10_000);
    expect(last).toMatchObject({ tag: 'mined', confirmed: true, hash: first.hash });
    expect(last?.tag === 'mined' && last.blockHash !== first.blockHash).toBe(true);
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
  });

  it('confirms by the depth it was given, not before', async () => {
    bench = await openBench({ anvil: {}, settings: { confirmations: 5 } });
    const { sender, anvil } = bench;
    await sender.submit(intentFor('a'));
    await settled(sender, 'a');
    await rpc(anvil.url, 'anvil_mine', ['0x3']);
    await observe(500);
    expect((await sender.get('a'))?.state).toMatchObject({ tag: 'mined', confirmed: false });
    await rpc(anvil.url, 'evm_mine');
    expect(await sender.wait('a', 'confirmed', 5_000)).toMatchObject({ confirmed: true });
  });

  it('confirms on a chain that makes no more blocks, after the time given', async () => {
    bench = await openBench({ anvil: {}, settings: { confirmations: 5, confirmAfterMs: 1_000 } });
    const { sender, proxy } = bench;
    await sender.submit(intentFor('a'));
    expect(await sender.wait('a', 'confirmed', 10_000)).toMatchObject({ confirmed: true });
    proxy.resetCounts();
    await observe(1_500);
    expect(proxy.counts()).toEqual({});
  });
});

describe('a read from the past proves nothing', () => {
  it('keeps an intent whose receipts stay null for seconds after inclusion (case 6)', async () => {
    bench = await openBench({ settings: { stuckAfterMs: 1_000 } });
    const { sender, anvil, accounts } = bench;
    const hidden = nullReceipts();
    await sender.submit(intentFor('a'));
    await sender.submit(intentFor('b'));
    await until('both on chain', async () => (await executions(anvil.url)).size === 2);
    await observe(10_000);
    expect((await sender.get('a'))?.state.tag).toBe('broadcast');
    hidden.remove();
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'mined', nonce: 0 });
    expect(await settled(sender, 'b')).toMatchObject({ tag: 'mined', nonce: 1 });
    expect(await transactionCount(anvil.url, accounts[0]?.address ?? '0x')).toBe(2);
  });

  it('decides nothing on answers from a replica that is behind', async () => {
    bench = await openBench({ settings: { confirmations: 1_000, confirmAfterMs: 600_000 } });
    const { sender, proxy, anvil } = bench;
    await sender.submit(intentFor('a'));
    await settled(sender, 'a');
    const seen: string[] = [];
    sender.onChange(({ key, state }) => seen.push(`${key} ${state.tag}`));
    // Every second request is answered as of 20 blocks ago: the transaction is not there.
    let turn = 0;
    proxy.on('*', { where: () => (turn += 1) % 2 === 0 }, { fault: 'stale', blocks: 20 });
    await observe(4_000);
    expect(seen).toEqual([]);
    proxy.clear();
    await sender.submit(intentFor('b'));
    expect(await settled(sender, 'b')).toMatchObject({ tag: 'mined', nonce: 1 });
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
  });

  it('lands everything through an endpoint that answers from the past half of the time', async () => {
    bench = await openBench({ wallets: 2 });
    const { sender, proxy, anvil } = bench;
    let turn = 0;
    proxy.on('*', { where: () => (turn += 1) % 2 === 0 }, { fault: 'stale', blocks: 3 });
    const keys = Array.from({ length: 12 }, (_, index) => `s${index}`);
    await Promise.all(keys.map((key) => sender.submit(intentFor(key))));
    for (const key of keys)
      expect({ key, ...(await settled(sender, key, 40_000)) }).toMatchObject({ key, tag: 'mined' });
    expect([...(await executions(anvil.url)).values()]).toEqual(keys.map(() => 1));
  });
});
