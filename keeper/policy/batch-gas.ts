/**
 * What batches use of the sum of their members' own estimates, learned from those that were mined. Each estimate holds a
 * whole transaction and cold pools, which a batch pays for once: a limit of that sum and its headroom asks for twice
 * what is used, and a block has room for fewer of them. Batches of other baskets share less: each set of baskets is
 * learned by itself.
 */
import { LRUCache } from 'lru-cache';

/** So many mined batches of a set of baskets speak for its next one: the dearest of them. */
const LEAST_SEEN = 3;
const MOST_SEEN = 20;
const MOST_SENT = 200;
const MOST_SETS = 200;
const BPS = 10_000n;
/** EIP-3529: at most a fifth of what was needed is given back, and no receipt tells of it. */
const NEEDED_OF_USED = { over: 5n, under: 4n };

export type BatchGas = {
  /** What a batch of these baskets needs at most, before headroom, of the sum of its members' estimates. */
  expected(baskets: string, sum: bigint): bigint;
  /** A batch with this sum of estimates is on its way. */
  sent(carrier: string, baskets: string, sum: bigint): void;
  /** One was included. @param ran whether a member of it did; told of each member */
  mined(carrier: string, gasUsed: bigint, ran: boolean): void;
};

type Needs = LRUCache<string, { bps: bigint }>;

export function createBatchGas(): BatchGas {
  const sums = new LRUCache<string, { baskets: string; sum: bigint }>({ max: MOST_SENT });
  /** By baskets and batch, basis points of its sum; rounded up. */
  const sets = new LRUCache<string, Needs>({ max: MOST_SETS });
  return {
    expected(baskets, sum) {
      const needs = sets.get(baskets);
      if (needs === undefined || needs.size < LEAST_SEEN) return sum;
      const most = [...needs.values()].reduce((bps, one) => (one.bps > bps ? one.bps : bps), 0n);
      const expected = (sum * most + BPS - 1n) / BPS;
      return expected < sum ? expected : sum;
    },
    sent: (carrier, baskets, sum) => void sums.set(carrier, { baskets, sum }),
    mined(carrier, gasUsed, ran) {
      const sent = sums.get(carrier);
      if (sent === undefined || sent.sum === 0n) return;
      if (!ran) {
        // It may have failed for want of gas.
        sets.delete(sent.baskets);
        sums.delete(carrier);
        return;
      }
      const needs = sets.get(sent.baskets) ?? new LRUCache({ max: MOST_SEEN });
      sets.set(sent.baskets, needs);
      const { over, under } = NEEDED_OF_USED;
      const part = sent.sum * under;
      needs.set(carrier, { bps: (gasUsed * over * BPS + part - 1n) / part });
    },
  };
}
