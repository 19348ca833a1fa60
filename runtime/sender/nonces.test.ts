import * as fc from 'fast-check';
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

/** Plays against a model of the chain and of who holds what. */
class Model {
  readonly book = new NonceBook();
  readonly #held = new Map<number, string>();
  readonly broken: string[] = [];
  #chain: number;
  #serial = 0;

  constructor(start: number) {
    this.#chain = start;
    this.book.sync(start);
  }

  play(act: Action): void {
    switch (act.type) {
      case 'allocate':
        return this.#allocate();
      case 'release':
        return this.#release(act.pick);
      case 'rebind': {
        const nonce = this.#chain + (act.pick % 5);
        if (this.book.take(nonce, 'bound')) this.#held.set(nonce, 'bound');
        return;
      }
      case 'mine':
        return this.#mine(act.count);
      case 'foreign':
        return this.#foreign(act.count);
    }
  }

  #allocate(): void {
    this.#serial += 1;
    const nonce = this.book.allocate(`k${this.#serial}`);
    if (this.#held.has(nonce)) this.broken.push('given twice');
    if (nonce < this.#chain) this.broken.push('given after it was consumed');
    this.#held.set(nonce, `k${this.#serial}`);
  }

  #release(pick: number): void {
    const nonce = [...this.#held.keys()][pick % Math.max(1, this.#held.size)];
    if (nonce === undefined) return;
    this.book.release(nonce);
    this.#held.delete(nonce);
  }

  /** The chain mines only what it has, in order. */
  #mine(count: number): void {
    for (let index = 0; index < count && this.#held.has(this.#chain); index += 1) {
      this.book.settle(this.#chain);
      this.#held.delete(this.#chain);
      this.#chain += 1;
    }
    if (this.book.sync(this.#chain)) this.broken.push('our own taken for foreign');
  }

  /** Somebody else consumes nonces; ours at those numbers are settled by the caller. */
  #foreign(count: number): void {
    this.#chain += count;
    this.book.sync(this.#chain);
    for (const nonce of this.#held.keys()) {
      if (nonce >= this.#chain) continue;
      this.book.settle(nonce);
      this.#held.delete(nonce);
    }
  }

  check(): void {
    const highest = Math.max(-1, ...this.#held.keys());
    const holes = this.book.holes();
    if (this.book.inFlight !== this.#held.size) this.broken.push('in flight miscounted');
    if (highest >= this.book.next) this.broken.push('held beyond the next');
    if (holes.some((hole) => this.#held.has(hole) || hole >= highest)) this.broken.push('no hole');
    // Between the chain's count and the highest held, every number is held or reported.
    const between = Math.max(0, highest + 1 - this.#chain);
    const above = [...this.#held.keys()].filter((nonce) => nonce >= this.#chain).length;
    if (between < 60 && above + holes.length !== between) this.broken.push('a hole not reported');
  }
}

describe('NonceBook', () => {
  it('gives no nonce twice, leaves none out, and never gives a consumed one', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), fc.nat(50), (actions, start) => {
        const model = new Model(start);
        for (const act of actions) {
          model.play(act);
          model.check();
        }
        expect(model.broken).toEqual([]);
      }),
      { numRuns: 2_000 },
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
