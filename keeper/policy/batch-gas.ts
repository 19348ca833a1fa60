/**
 * What batches use of the sum of their members' own estimates, learned from those that were mined. Each estimate holds a
 * whole transaction and cold pools, which a batch pays for once: a limit of that sum and its headroom asks for twice
 * what is used, and a block has room for fewer of them.
 */
import { LRUCache } from 'lru-cache';

/** So many mined batches speak for the next one: of several baskets the dearest counts. */
const LEAST_SEEN = 3;
const MOST_SEEN = 20;
const MOST_SENT = 200;
const BPS = 10_000n;

export type BatchGas = {
  /** What a batch is expected to use at most, before headroom, of the sum of its members' estimates. */
  expected(sum: bigint): bigint;
  /** A batch with this sum of estimates is on its way. */
  sent(carrier: string, sum: bigint): void;
  /** One was mined. @param ran whether a member of it did; told of each member */
  mined(carrier: string, gasUsed: bigint, ran: boolean): void;
};

export function createBatchGas(): BatchGas {
  const sums = new LRUCache<string, { sum: bigint }>({ max: MOST_SENT });
  /** By batch, basis points of its sum; rounded up. */
  const used = new LRUCache<string, { bps: bigint }>({ max: MOST_SEEN });
  return {
    expected(sum) {
      if (used.size < LEAST_SEEN) return sum;
      const most = [...used.values()].reduce((bps, one) => (one.bps > bps ? one.bps : bps), 0n);
      const expected = (sum * most + BPS - 1n) / BPS;
      return expected < sum ? expected : sum;
    },
    sent: (carrier, sum) => void sums.set(carrier, { sum }),
    mined(carrier, gasUsed, ran) {
      const sent = sums.get(carrier);
      if (sent === undefined || sent.sum === 0n) return;
      if (ran) used.set(carrier, { bps: (gasUsed * BPS + sent.sum - 1n) / sent.sum });
      else {
        // It may have failed for want of gas.
        used.clear();
        sums.delete(carrier);
      }
    },
  };
}
