import { describe, expect, it } from 'vitest';
import { NonceLanes, nonceSpace } from './nonces.ts';

const account = '0x00000000000000000000000000000000000000aa';
const key = '0x00000000000000000000000000000000000000bb';
const other = '0x00000000000000000000000000000000000000cc';

const proposed = (lanes: NonceLanes, count: number, epoch = 1) =>
  Array.from({ length: count }, () => lanes.propose(account, key, epoch));

describe('nonces', () => {
  it('lie in the space of key and epoch', () => {
    const [nonce = 0n] = proposed(new NonceLanes(), 1, 7);
    expect(nonce >> 160n).toBe(nonceSpace(key, 7));
    expect(nonce).toBeLessThan(1n << 256n);
  });

  it('are given out once each, 256 of them in one storage word', () => {
    const nonces = proposed(new NonceLanes(), 600);
    expect(new Set(nonces).size).toBe(600);
    expect(new Set(nonces.map((nonce) => nonce >> 8n)).size).toBe(3);
  });

  it('of two replicas never meet', () => {
    const replicas = [new NonceLanes(), new NonceLanes()];
    const nonces = replicas.flatMap((lanes) => proposed(lanes, 256));
    expect(new Set(nonces).size).toBe(512);
    expect(new Set(nonces.map((nonce) => nonce >> 8n)).size).toBe(2);
  });

  it('of another key, account or epoch have a word of their own', () => {
    const lanes = new NonceLanes();
    const words = [
      lanes.propose(account, key, 1),
      lanes.propose(account, other, 1),
      lanes.propose(other, key, 1),
      lanes.propose(account, key, 2),
    ].map((nonce) => nonce >> 8n);
    expect(new Set(words).size).toBe(4);
  });

  it('of a key that was forgotten start in a fresh word', () => {
    const lanes = new NonceLanes();
    const first = lanes.propose(account, key, 1);
    for (let epoch = 2; epoch < 10_100; epoch += 1) lanes.propose(account, key, epoch);
    expect(lanes.propose(account, key, 1) >> 8n).not.toBe(first >> 8n);
  });
});
