/**
 * Share balances seen a moment ago, as guesses alone: a build that guesses right needs one read fewer, one that
 * guesses wrong reads again. Nothing is ever built on a guess.
 */
import type { Address } from 'viem';

const MAX_REMEMBERED = 10_000;

export class RecentBalances {
  readonly #known = new Map<string, bigint>();

  guess(vault: Address, owner: Address): bigint | null {
    return this.#known.get(`${vault}:${owner}`) ?? null;
  }

  saw(vault: Address, owner: Address, balance: bigint): void {
    const key = `${vault}:${owner}`;
    this.#known.delete(key);
    if (balance === 0n) return;
    this.#known.set(key, balance);
    if (this.#known.size <= MAX_REMEMBERED) return;
    const oldest = this.#known.keys().next();
    if (!oldest.done) this.#known.delete(oldest.value);
  }
}
