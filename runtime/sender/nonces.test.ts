import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NonceBook } from './nonces.ts';

type Action =
  | { type: 'allocate' }
  | { type: 'release'; pick: number }
  | { type: 'mine'; count: number }
  | { type: 'foreign'; count: number }
  | { type: 'rebind'; pick: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Action>({ type: 'allocate' }) },
  fc.record({ type: fc.constant('release' as const), pick: fc.nat(20) }),
  fc.record({ type: fc.constant('mine' as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ type: fc.constant('foreign' as const), count: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ type: fc.constant('rebind' as const), pick: fc.nat(20) }),
);

describe('NonceBook', () => {
  it('gives no nonce twice, leaves none out, and never gives a consumed one', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), fc.nat(50), (actions, start) => {
        const book = new NonceBook();
        book.sync(start);
        const held = new Map<number, string>();
        let chain = start;
        let serial = 0;
        for (const act of actions) {
          if (act.type === 'allocate') {
            serial += 1;
            const nonce = book.allocate(`k${serial}`);
            expect(held.has(nonce)).toBe(false);
            expect(nonce).toBeGreaterThanOrEqual(chain);
            held.set(nonce, `k${serial}`);
          } else if (act.type === 'release') {
            const nonce = [...held.keys()][act.pick % Math.max(1, held.size)];
            if (nonce === undefined) continue;
            book.release(nonce);
            held.delete(nonce);
          } else if (act.type === 'rebind') {
            const nonce = chain + (act.pick % 5);
            if (book.take(nonce, 'bound')) held.set(nonce, 'bound');
          } else if (act.type === 'mine') {
            // The chain mines only what it has, in order.
            for (let index = 0; index < act.count && held.has(chain); index += 1) {
              book.settle(chain);
              held.delete(chain);
              chain += 1;
            }
            expect(book.sync(chain)).toBe(false);
          } else {
            // Somebody else consumes nonces; ours at those numbers are settled by the caller.
            chain += act.count;
            book.sync(chain);
            for (const nonce of held.keys()) {
              if (nonce >= chain) continue;
              book.settle(nonce);
              held.delete(nonce);
            }
          }
          expect(book.inFlight).toBe(held.size);
          for (const nonce of held.keys()) expect(book.next).toBeGreaterThan(nonce);
          const highest = Math.max(-1, ...held.keys());
          for (const hole of book.holes()) {
            expect(held.has(hole)).toBe(false);
            expect(hole).toBeLessThan(highest);
          }
          // Between the chain's count and the highest held, every number is held or reported.
          if (highest >= 0 && highest - chain < 60) {
            const between = Math.max(0, highest + 1 - chain);
            const above = [...held.keys()].filter((nonce) => nonce >= chain).length;
            expect(above + book.holes().length).toBe(between);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('hands a released nonce to whoever asks next', () => {
    const book = new NonceBook();
    book.sync(7);
    expect([book.allocate('a'), book.allocate('b'), book.allocate('c')]).toEqual([7, 8, 9]);
    book.release(8);
    expect(book.holes()).toEqual([8]);
    expect(book.allocate('d')).toBe(8);
    book.release(9);
    expect(book.next).toBe(9);
    expect(book.allocate('e')).toBe(9);
  });

  it('continues after a foreign transaction and says so once', () => {
    const book = new NonceBook();
    book.sync(0);
    book.allocate('a');
    expect(book.sync(3)).toBe(true);
    expect(book.sync(3)).toBe(false);
    expect(book.allocate('b')).toBe(3);
  });

  it('keeps what was given through a reorg that lowers the count', () => {
    const book = new NonceBook();
    book.sync(5);
    expect(book.sync(3)).toBe(false);
    expect(book.allocate('a')).toBe(5);
    expect(book.holes()).toEqual([3, 4]);
    book.restore(3, 'x');
    expect(book.headOfLine()).toBe(3);
  });
});
