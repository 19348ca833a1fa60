import { BlockNotFoundError, type Hex, keccak256, numberToHex, toHex } from 'viem';
import { expect, test } from 'vitest';
import { ChainTail, type Header } from './chain-tail.ts';

/** Chains that part after a block: `name` is of those above it. */
class Chain {
  readonly name: string;
  readonly parent: Chain | null;
  readonly after: number;

  constructor(name: string, parent: Chain | null = null, after = -1) {
    this.name = name;
    this.parent = parent;
    this.after = after;
  }

  hashOf(block: number): Hex {
    if (block < 0) return numberToHex(0, { size: 32 });
    if (this.parent !== null && block <= this.after) return this.parent.hashOf(block);
    return keccak256(toHex(`${this.name} ${block}`));
  }

  at(block: number): Header {
    return { block, hash: this.hashOf(block), parentHash: this.hashOf(block - 1) };
  }

  /** Null where no block of it has the hash. */
  find(hash: Hex): Header | null {
    for (let block = 0; block < 400; block += 1) {
      if (this.hashOf(block) === hash) return this.at(block);
    }
    return null;
  }
}

/** A node of a chain that takes so many calls at once; `stale` answers one of them by the other chain. */
function node(chain: Chain, options: { most?: number } = {}) {
  const seen = { atOnce: 0, peak: 0, calls: 0, refused: 0 };
  const stale = new Map<number, Chain>();
  const state = { chain, most: options.most ?? Infinity, left: Infinity, stale };
  const ask = async (which: { blockNumber?: bigint; blockHash?: Hex }) => {
    seen.calls += 1;
    seen.atOnce += 1;
    seen.peak = Math.max(seen.peak, seen.atOnce);
    try {
      state.left -= 1;
      if (seen.atOnce > state.most || state.left < 0) {
        seen.refused += 1;
        throw new Error('too many calls');
      }
      await new Promise((resolve) => setImmediate(resolve));
      const header = found(which);
      if (header === null) throw new BlockNotFoundError({});
      return { number: BigInt(header.block), hash: header.hash, parentHash: header.parentHash };
    } finally {
      seen.atOnce -= 1;
    }
  };
  const found = ({ blockNumber, blockHash }: { blockNumber?: bigint; blockHash?: Hex }) => {
    if (blockNumber !== undefined) {
      const block = Number(blockNumber);
      const other = state.stale.get(block);
      state.stale.delete(block);
      return (other ?? state.chain).at(block);
    }
    return blockHash === undefined ? null : state.chain.find(blockHash);
  };
  return { seen, state, client: { getBlock: ask } as never };
}

const hashesOf = (tail: ChainTail, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => tail.at(from + index));
const truth = (chain: Chain, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => chain.at(from + index).hash);

test('holds the last blocks of the chain of its head, and asks for few at once', async () => {
  const chain = new Chain('one');
  const { client, seen } = node(chain, { most: 10 });
  const tail = new ChainTail(client, 5);
  for (const head of [3, 40, 44, 60, 190, 191]) await tail.leadTo(chain.at(head));
  expect(hashesOf(tail, 127, 191)).toEqual(truth(chain, 127, 191));
  expect([tail.at(126), tail.at(192)]).toEqual([null, null]);
  expect(seen.peak).toBeLessThanOrEqual(10);
  const { calls } = seen;
  await tail.leadTo(chain.at(180));
  expect([seen.calls, tail.at(191)]).toEqual([calls, chain.at(191).hash]);
});

test('comes on though the node refuses each second group of calls, while the head moves', async () => {
  const chain = new Chain('one');
  const { client, state, seen } = node(chain);
  const tail = new ChainTail(client, 0);
  let failures = 0;
  for (let head = 100; tail.at(head - 1) === null && head < 120; head += 1) {
    // Ten calls are answered, the eleventh is not.
    state.left = 10;
    try {
      await tail.leadTo(chain.at(head));
    } catch {
      failures += 1;
    }
  }
  expect(failures).toBeGreaterThan(3);
  expect(seen.refused).toBeGreaterThan(3);
  state.left = Infinity;
  await tail.leadTo(chain.at(120));
  expect(hashesOf(tail, 56, 120)).toEqual(truth(chain, 56, 120));
});

test('comes on though the node answers fewer calls at a time than it asks for at once', async () => {
  const chain = new Chain('one');
  const { client, state, seen } = node(chain);
  const tail = new ChainTail(client, 0);
  for (let runs = 0; tail.at(100) === null && runs < 30; runs += 1) {
    state.left = 3;
    await tail.leadTo(chain.at(100)).catch(() => undefined);
  }
  expect(hashesOf(tail, 36, 100)).toEqual(truth(chain, 36, 100));
  // Three at a time, and none of them twice.
  expect(seen.calls - seen.refused).toBeLessThanOrEqual(64);
});

test('holds no block of before a gap in which the chain was replaced, though the lead beyond it broke off', async () => {
  const old = new Chain('one');
  const now = new Chain('two', old, 90);
  const { client, state } = node(old);
  const tail = new ChainTail(client, 0);
  await tail.leadTo(old.at(100));
  state.chain = now;
  state.left = 15;
  await expect(tail.leadTo(now.at(170))).rejects.toThrow();
  state.left = Infinity;
  // Of a node that lags.
  await tail.leadTo(now.at(130));
  expect(hashesOf(tail, 66, 130)).toEqual(truth(now, 66, 130));
});

test('reaches as far down as ever where the chain goes back to a block of a lead that broke off', async () => {
  const chain = new Chain('one');
  const { client, state } = node(chain);
  const tail = new ChainTail(client, 0);
  state.left = 15;
  await expect(tail.leadTo(chain.at(170))).rejects.toThrow();
  state.left = Infinity;
  await tail.leadTo(chain.at(112));
  expect(hashesOf(tail, 60, 112)).toEqual(truth(chain, 60, 112));
  expect(tail.at(171)).toBeNull();
});

test('comes back from a reorg though the node answers fewer calls at a time than it was deep', async () => {
  const old = new Chain('one');
  const { client, state, seen } = node(old);
  const tail = new ChainTail(client, 0);
  await tail.leadTo(old.at(150));
  state.chain = new Chain('two', old, 120);
  const { calls, refused } = seen;
  for (let runs = 0; tail.at(150) === old.at(150).hash && runs < 20; runs += 1) {
    state.left = 4;
    await tail.leadTo(state.chain.at(150)).catch(() => undefined);
  }
  expect(hashesOf(tail, 90, 150)).toEqual(truth(state.chain, 90, 150));
  // Each parent once.
  expect(seen.calls - calls - (seen.refused - refused)).toBeLessThanOrEqual(31);
});

test.for([1, 7, 50])(
  'of a chain that parted %i blocks ago it holds the new blocks alone',
  async (depth) => {
    const old = new Chain('one');
    const { client, state } = node(old);
    const tail = new ChainTail(client, 0);
    await tail.leadTo(old.at(150));
    state.chain = new Chain('two', old, 150 - depth);
    for (const head of [150, 149, 152, 160]) {
      await tail.leadTo(state.chain.at(head));
      expect(hashesOf(tail, head - 60, head)).toEqual(truth(state.chain, head - 60, head));
      expect(tail.at(head + 1)).toBe(head === 149 ? state.chain.at(150).hash : null);
    }
  },
);

test('takes no block of a replica that is still on the replaced chain', async () => {
  const old = new Chain('one');
  const now = new Chain('two', old, 95);
  for (let stale = 90; stale < 103; stale += 1) {
    for (const begun of [true, false]) {
      const { client, state } = node(old);
      const tail = new ChainTail(client, 0);
      if (begun) await tail.leadTo(old.at(99));
      state.chain = now;
      state.stale.set(stale, old);
      await tail.leadTo(now.at(103));
      expect(hashesOf(tail, 40, 103)).toEqual(truth(now, 40, 103));
    }
  }
});

test('says so where no replica knows the parent, and goes on once one does', async () => {
  const old = new Chain('one');
  const now = new Chain('two', old, 95);
  const { client, state } = node(old);
  const tail = new ChainTail(client, 0);
  await tail.leadTo(old.at(99));
  await expect(tail.leadTo(now.at(103))).rejects.toThrow('does not show the parent of block 103');
  state.chain = now;
  await tail.leadTo(now.at(103));
  expect(hashesOf(tail, 40, 103)).toEqual(truth(now, 40, 103));
});

test('is that of the last head, without a hole, though it was led up to two at once', async () => {
  const chain = new Chain('one');
  for (const [first, last] of [
    [150, 220],
    [220, 150],
  ] as const) {
    const tail = new ChainTail(node(chain).client, 0);
    await Promise.all([tail.leadTo(chain.at(first)), tail.leadTo(chain.at(last))]);
    expect(hashesOf(tail, last - 64, last)).toEqual(truth(chain, last - 64, last));
  }
});
