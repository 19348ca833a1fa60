/** Invariants 1 to 3 of the sender: write before broadcast, one transaction per intent, no holes. */
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

const SEND = 'eth_sendRawTransaction';

let bench: Bench;
afterEach(async () => {
  await bench.close();
});

async function allOnce(keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    expect({ key, ...(await settled(bench.sender, key)) }).toMatchObject({ key, tag: 'mined' });
    expect([key, await executionsOf(bench.anvil.url, key)]).toEqual([key, 1]);
  }
  const counts = [...(await executions(bench.anvil.url)).values()];
  expect(counts).toEqual(keys.map(() => 1));
}

function address(index = 0) {
  const account = bench.accounts[index];
  if (!account) throw new Error('no such wallet');
  return account.address;
}

describe('nonces have no holes', () => {
  it('gives the nonce of a send that got HTTP 429 to the next intent (case 1)', async () => {
    bench = await openBench();
    const { sender, proxy, anvil } = bench;
    const limited = proxy.on(SEND, { nth: 2 }, { fault: 'http', status: 429 });
    expect(await sender.submit(intentFor('a'))).toMatchObject({ tag: 'broadcast', nonce: 0 });
    await settled(sender, 'a');
    // The second is refused by the gateway; while it waits to try again, the third asks.
    const second = sender.submit(intentFor('b'));
    await until('the 429', () => limited.hits === 1);
    await until('b back in the queue', () => sender.status().queued === 1);
    expect(await sender.submit(intentFor('c'))).toMatchObject({ tag: 'broadcast', nonce: 1 });
    await second;
    await allOnce(['a', 'b', 'c']);
    expect(await sender.get('b')).toMatchObject({ state: { tag: 'mined', nonce: 2 } });
    expect(await transactionCount(anvil.url, address())).toBe(3);
  });

  it('keeps a nonce whose send got 429 when later ones are out already', async () => {
    bench = await openBench();
    const { sender, proxy, anvil } = bench;
    proxy.on(SEND, { nth: 2 }, { fault: 'http', status: 429 });
    const keys = ['a', 'b', 'c'];
    await Promise.all(keys.map((key) => sender.submit(intentFor(key))));
    await allOnce(keys);
    expect(await transactionCount(anvil.url, address())).toBe(3);
  });

  it('holds five consecutive nonces of one wallet while nothing is mined; all land (case 10)', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 60_000 },
    });
    const { sender, anvil } = bench;
    const keys = ['a', 'b', 'c', 'd', 'e'];
    const states = await Promise.all(keys.map((key) => sender.submit(intentFor(key))));
    const nonces = states.map((state) => (state.tag === 'broadcast' ? state.nonce : -1));
    expect(nonces.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
    await rpc(anvil.url, 'evm_mine');
    await allOnce(keys);
  });

  it('survives a transaction that the operator sends by hand from the same key (case 7)', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 60_000 },
    });
    const { sender, anvil, registry } = bench;
    await sender.submit(intentFor('a'));
    // The operator replaces what waits, at the same nonce and with a higher fee.
    await byHand(0, 100n);
    await sender.submit(intentFor('b'));
    for (let block = 0; block < 5; block += 1) await rpc(anvil.url, 'evm_mine');
    await settled(sender, 'b');
    const mining = setInterval(() => void rpc(anvil.url, 'evm_mine').catch(() => undefined), 100);
    try {
      expect(await settled(sender, 'a')).toMatchObject({ tag: 'mined', nonce: 2 });
    } finally {
      clearInterval(mining);
    }
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
    expect(await executionsOf(anvil.url, 'b')).toBe(1);
    expect(await registry.metrics()).toMatch(/events_total\{event="foreign_transaction"\} [1-9]/);
  });

  it('notices transactions sent by hand while it was idle, before it takes a nonce', async () => {
    bench = await openBench();
    const { sender, anvil, proxy } = bench;
    await sender.submit(intentFor('a'));
    await sender.wait('a', 'confirmed', 10_000);
    await byHand(1, 3n);
    await byHand(2, 3n);
    await until('both mined', async () => (await transactionCount(anvil.url, address())) === 3);
    await observe(1_100);
    proxy.resetCounts();
    expect(await sender.submit(intentFor('b'))).toMatchObject({ tag: 'broadcast', nonce: 3 });
    expect(proxy.counts()[SEND]).toBe(1);
    await allOnce(['a', 'b']);
  });
});

describe('never two transactions for one intent', () => {
  it('finds what was mined although the send was answered with an error (case 2)', async () => {
    bench = await openBench();
    const { sender, proxy, anvil } = bench;
    proxy.on(
      SEND,
      { nth: 1 },
      { fault: 'error', code: -32_000, message: 'internal', forwarded: true },
    );
    await sender.submit(intentFor('a'));
    await allOnce(['a']);
    expect(await transactionCount(anvil.url, address())).toBe(1);
  });

  it.each([-32_603, -32_000, -32_003, 3])(
    'believes no error code %i about bytes that the node has seen',
    async (code) => {
      bench = await openBench();
      const { sender, proxy, anvil } = bench;
      const data = code === 3 ? '0x08c379a0' : undefined;
      proxy.on(
        SEND,
        { times: 2 },
        { fault: 'error', code, message: 'nonce too low', data, forwarded: true },
      );
      await sender.submit(intentFor('a'));
      await sender.submit(intentFor('b'));
      await allOnce(['a', 'b']);
      expect(await transactionCount(anvil.url, address())).toBe(2);
    },
  );

  it('an error and then rate limits do not make it forget bytes that were mined', async () => {
    bench = await openBench({ settings: { dispatchMs: 1_000 } });
    const { sender, proxy, anvil } = bench;
    proxy.on(SEND, { times: 6 }, { fault: 'http', status: 429 });
    proxy.on(SEND, { nth: 1 }, { fault: 'error', code: -32_000, message: 'no', forwarded: true });
    await sender.submit(intentFor('a'));
    await sender.submit(intentFor('b'));
    expect(await settled(sender, 'a')).toMatchObject({ tag: 'mined' });
    expect(await executionsOf(anvil.url, 'a')).toBe(1);
    const other = await settled(sender, 'b');
    expect(['mined', 'refused']).toContain(other.tag);
    expect(await executionsOf(anvil.url, 'b')).toBe(other.tag === 'mined' ? 1 : 0);
  });

  it('sends the same bytes again when the connection drops after forwarding (case 3)', async () => {
    bench = await openBench({
      anvil: { args: ['--no-mining'] },
      settings: { stuckAfterMs: 60_000 },
    });
    const { sender, proxy, anvil } = bench;
    const sent: unknown[] = [];
    proxy.on(SEND, { where: (params) => sent.push(params[0]) === 0 }, { fault: 'hang' });
    proxy.on(SEND, { nth: 1 }, { fault: 'drop', forwarded: true });
    expect(await sender.submit(intentFor('a'))).toMatchObject({ tag: 'broadcast' });
    await until('the second send', () => (proxy.counts()[SEND] ?? 0) >= 2);
    await rpc(anvil.url, 'evm_mine');
    await allOnce(['a']);
    expect(new Set(sent).size).toBe(1);
    expect(await transactionCount(anvil.url, address())).toBe(1);
  });

  it('sends the same bytes again when the connection drops before forwarding', async () => {
    bench = await openBench();
    const { sender, proxy } = bench;
    proxy.on(SEND, { nth: 1 }, { fault: 'drop', forwarded: false });
    await sender.submit(intentFor('a'));
    await allOnce(['a']);
  });

  it('gets over a node that answers later than the deadline, and over a replayed request', async () => {
    bench = await openBench({ timeoutMs: 400 });
    const { sender, proxy } = bench;
    proxy.on(SEND, { nth: 1 }, { fault: 'delay', ms: 900 });
    proxy.on(SEND, { nth: 2 }, { fault: 'replay', times: 2 });
    await sender.submit(intentFor('a'));
    await allOnce(['a']);
  });

  it('writes nothing twice when the same key is submitted many times at once', async () => {
    bench = await openBench({ wallets: 3 });
    const { sender } = bench;
    await Promise.all(Array.from({ length: 20 }, () => sender.submit(intentFor('a'))));
    await allOnce(['a']);
  });
});

/** A transfer to itself, signed outside the sender. */
async function byHand(nonce: number, gwei: bigint): Promise<void> {
  const [account] = bench.accounts;
  if (!account) throw new Error('no wallet');
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: 4663,
    to: account.address,
    nonce,
    gas: 21_000n,
    maxFeePerGas: gwei * 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 9n,
  });
  await rpc(bench.anvil.url, SEND, [raw]);
}
