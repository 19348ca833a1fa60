/** Invariants 4 and 7 of the sender: stuck is bounded, and nothing waits for ever. */

import { numberToHex, parseTransaction } from 'viem';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { rpc } from '../anvil.ts';
import { type Bench, intentFor, observe, openBench, settled, until } from './bench.ts';
import { executions, executionsOf, setExtraWrites } from './target.ts';

const SEND = 'eth_sendRawTransaction';
const GWEI = 10n ** 9n;

let bench: Bench;
afterEach(async () => {
  await bench.close();
});

function watchSends(): { maxFee: bigint; tip: bigint; nonce: number; data: string }[] {
  const seen: { maxFee: bigint; tip: bigint; nonce: number; data: string }[] = [];
  bench.proxy.on(
    SEND,
    {
      where: ([raw]) => {
        const tx = parseTransaction(raw as `0x${string}`);
        seen.push({
          maxFee: tx.maxFeePerGas ?? 0n,
          tip: tx.maxPriorityFeePerGas ?? 0n,
          nonce: tx.nonce ?? 0,
          data: tx.data ?? '0x',
        });
        return false;
      },
    },
    { fault: 'hang' },
  );
  return seen;
}

describe('stuck is bounded', () => {
  it('replaces under the same nonce with both fees raised, then cancels under the cap (case 5)', async () => {
    const cap = 6n * GWEI;
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 400, rebroadcastMs: 60_000, maxFee: cap },
    });
    const { sender, anvil } = bench;
    const sent = watchSends();
    await sender.submit(intentFor('a'));
    await until('a cancel', () => sent.some(({ data }) => data === '0x'));
    expect(sent.length).toBeGreaterThanOrEqual(3);
    for (const [index, attempt] of sent.entries()) {
      expect(attempt.nonce).toBe(0);
      expect(attempt.maxFee).toBeLessThanOrEqual(cap);
      const before = sent[index - 1];
      if (!before) continue;
      expect(attempt.maxFee * 100n).toBeGreaterThanOrEqual(before.maxFee * 110n);
      expect(attempt.tip * 100n).toBeGreaterThanOrEqual(before.tip * 110n);
    }
    await rpc(anvil.url, 'evm_mine');
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'cancelled', nonce: 0 });
    expect(await executionsOf(anvil.url, 'a')).toBe(0);
    expect(bench.log.some(({ msg }) => /cancelling/.test(msg))).toBe(true);
    expect(await sender.submit(intentFor('b'))).toMatchObject({ tag: 'broadcast', nonce: 1 });
  });

  it('a replacement that is mined is the one execution', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 400, rebroadcastMs: 60_000 },
    });
    const { sender, anvil } = bench;
    const sent = watchSends();
    const first = await sender.submit(intentFor('a'));
    await until('a replacement', () => sent.length >= 2);
    await rpc(anvil.url, 'evm_mine');
    const mined = await settled(sender, 'a');
    expect(mined.tag).toBe('mined');
    expect(mined.tag === 'mined' && first.tag === 'broadcast' && mined.hash !== first.hash).toBe(
      true,
    );
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
  });

  it('raises at once when the base fee rose past what was signed', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 60_000 },
    });
    const { sender, anvil, proxy } = bench;
    // Between the fee decision and the send, the base fee becomes five times as high.
    const rise = proxy.on(
      SEND,
      { nth: 1 },
      {
        fault: 'error',
        code: -32_003,
        message: 'max fee per gas less than block base fee',
        forwarded: false,
      },
    );
    await rpc(anvil.url, 'anvil_setNextBlockBaseFeePerGas', [numberToHex(5n * GWEI)]);
    await rpc(anvil.url, 'evm_mine');
    await sender.submit(intentFor('a'));
    await until('the rejected send', () => rise.hits === 1);
    await until('a second attempt', () => rise.seen >= 2);
    await rpc(anvil.url, 'evm_mine');
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'mined' });
  });

  it('refuses before a nonce is taken when the base fee is above the cap', async () => {
    bench = await openBench({ settings: { maxFee: GWEI / 10n } });
    const { sender } = bench;
    expect(await sender.submit(intentFor('a'))).toMatchObject({
      tag: 'refused',
      reason: 'fee_cap',
    });
    expect(await sender.submit(intentFor('b', { maxFeePerGas: 1n }))).toMatchObject({
      tag: 'refused',
      reason: 'fee_cap',
    });
  });

  it('cancels what a node keeps rejecting, so that later nonces land', async () => {
    bench = await openBench();
    const { sender, proxy, anvil } = bench;
    const sent = watchSends();
    const rejecting = proxy.on(
      SEND,
      { where: ([raw]) => parseTransaction(raw as `0x${string}`).data === intentFor('a').data },
      { fault: 'error', code: -32_000, message: 'not on my watch', forwarded: false },
    );
    const first = sender.submit(intentFor('a'));
    // Else the other may take the first nonce, and nothing waits behind the rejected one.
    await until('the node was asked', () => rejecting.hits > 0);
    await Promise.all([first, sender.submit(intentFor('b'))]);
    expect(await settled(sender, 'b')).toMatchObject({ tag: 'mined' });
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'cancelled' });
    expect(await executionsOf(anvil.url, 'a')).toBe(0);
    // The rejected one is not among these: its rule comes before the watch.
    expect(sent.some(({ nonce, data }) => nonce === 0 && data === '0x')).toBe(true);
    expect(sent.some(({ nonce, data }) => nonce === 1 && data === intentFor('b').data)).toBe(true);
  });

  it('a time that ran out while stuck leads to a cancel, not to a dearer attempt', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 500, rebroadcastMs: 60_000 },
    });
    const { sender, anvil } = bench;
    const block = await rpc<{ timestamp: string }>(anvil.url, 'eth_getBlockByNumber', [
      'latest',
      false,
    ]);
    const notAfter = Number(block.timestamp) + 600;
    const sent = watchSends();
    await sender.submit(intentFor('a', { notAfter }));
    // Time passes on the chain without a block for the transaction: it is dropped, then an empty block comes.
    await rpc(anvil.url, 'anvil_dropAllTransactions');
    await rpc(anvil.url, 'evm_setNextBlockTimestamp', [numberToHex(notAfter + 5)]);
    await rpc(anvil.url, 'evm_mine');
    await until('the cancel in the pool', async () => {
      const pool = await rpc<{ pending: string }>(anvil.url, 'txpool_status');
      return pool.pending === '0x1';
    });
    await rpc(anvil.url, 'evm_mine');
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'cancelled' });
    expect(sent.map(({ data }) => data)).toEqual([intentFor('a').data, '0x']);
  });

  it('decides about time by the block’s timestamp, never by this machine’s clock', async () => {
    bench = await openBench({ anvil: { args: ['--timestamp', '1700000000'] } });
    const { sender } = bench;
    // By this machine both are long past.
    expect(await sender.submit(intentFor('late', { notAfter: 1_699_999_999 }))).toMatchObject({
      tag: 'refused',
      reason: 'expired',
    });
    expect(await sender.submit(intentFor('good', { notAfter: 1_700_003_600 }))).toMatchObject({
      tag: 'broadcast',
    });
  });
});

describe('nothing waits for ever', () => {
  it('keeps the call count flat with 50 sends waiting; all land when mining resumes (case 4)', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 3_000, rebroadcastMs: 500, tickMs: 100 },
    });
    const { sender, proxy, anvil } = bench;
    const keys = Array.from({ length: 50 }, (_, index) => `w${index}`);
    void Promise.all(keys.map((key) => sender.submit(intentFor(key), { timeoutMs: 1_000 })));
    await until('a full wallet', () => sender.status().inFlight === 16, 10_000);
    expect(sender.status().queued).toBe(34);
    await observe(4_000);
    const windows: { requests: number; calls: number }[] = [];
    for (let window = 0; window < 4; window += 1) {
      const before = proxy.requests();
      proxy.resetCounts();
      await observe(3_000);
      const calls = Object.values(proxy.counts()).reduce((sum, count) => sum + count, 0);
      windows.push({ requests: proxy.requests(), calls });
      expect(before).toBeGreaterThanOrEqual(0);
    }
    for (const { requests, calls } of windows) {
      // About one poll a second, a replacement now and then, and the sixteen sent again at growing intervals.
      expect(requests).toBeLessThan(15);
      expect(calls).toBeLessThan(80);
    }
    await rpc(anvil.url, 'evm_setIntervalMining', [1]);
    for (const key of keys)
      expect({ key, ...(await settled(sender, key, 40_000)) }).toMatchObject({ key, tag: 'mined' });
    expect([...(await executions(anvil.url)).values()]).toEqual(keys.map(() => 1));
  });

  it('refuses when the queue is full, and takes the same key later', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { queueLimit: 2, maxInFlightPerWallet: 1, stuckAfterMs: 60_000 },
    });
    const { sender, anvil } = bench;
    await sender.submit(intentFor('a'));
    await Promise.all(['b', 'c'].map((key) => sender.submit(intentFor(key), { timeoutMs: 100 })));
    expect(await sender.submit(intentFor('d'))).toMatchObject({
      tag: 'refused',
      reason: 'queue_full',
    });
    expect(await sender.get('d')).toBeNull();
    await rpc(anvil.url, 'evm_setIntervalMining', [1]);
    await settled(sender, 'c');
    expect(await sender.submit(intentFor('d'))).toMatchObject({ tag: 'broadcast' });
  });

  it('refuses with the reason when the RPC is gone, and start() fails in time', async () => {
    bench = await openBench({ settings: { dispatchMs: 800 } });
    const { sender, proxy } = bench;
    await observe(1_100);
    await proxy.pause();
    expect(await sender.submit(intentFor('a'))).toMatchObject({
      tag: 'refused',
      reason: 'rpc_unavailable',
    });
    await proxy.resume();
    // 800 ms are short on a busy machine. A refusal has sent nothing and is the end of its intent: the next is another.
    let attempt = 0;
    const another = () => intentFor(`after the outage ${(attempt += 1)}`);
    await vi.waitFor(
      async () => expect(await sender.submit(another())).toMatchObject({ tag: 'broadcast' }),
      { timeout: 20_000 },
    );
  });

  it('survives gas that grows between estimate and inclusion (case 12)', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 60_000 },
    });
    const { sender, anvil } = bench;
    const state = await sender.submit(intentFor('a'));
    expect(state.tag).toBe('broadcast');
    // One more storage write, 22,100 gas or a third of the estimate, before the block.
    await setExtraWrites(anvil.url, 1);
    await rpc(anvil.url, 'evm_mine');
    const mined = await settled(sender, 'a');
    expect(mined).toMatchObject({ tag: 'mined' });
    if (mined.tag !== 'mined') return;
    const tx = await rpc<{ gas: string }>(anvil.url, 'eth_getTransactionByHash', [mined.hash]);
    const estimate = (BigInt(tx.gas) * 100n) / 150n;
    expect(mined.gasUsed).toBeGreaterThan(estimate + 10_000n);
  });
});
