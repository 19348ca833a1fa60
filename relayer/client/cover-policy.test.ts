/** What a take may cost, to the base unit as the market adds it up: an honest plan at the very price asked passes. */
import { expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { COVER_KIND, encodeCoverData } from '../../contracts-abi/cover-data.ts';
import { checkCover } from './cover-policy.ts';
import { pinsOf } from './pins.ts';
import type { Policy } from './terms.ts';

const account = `0x${'1'.repeat(40)}` as const;
const policy: Policy = {
  pins: pinsOf({
    chainId: 4663,
    sessionModule: `0x${'2'.repeat(40)}`,
    baskets: [{ ticker: 'MAG7', vault: `0x${'4'.repeat(40)}` }],
  }),
  account,
  kinds: ['cover-take'],
  maxSpend: 100n * USD,
  maxSlippageBps: 100,
  maxFee: USD,
};

function judge(parts: readonly bigint[], limit: bigint, maxPricePer1k: bigint): string | null {
  const coverUsd = parts.reduce((sum, part) => sum + part, 0n);
  const ids = parts.map((_, index) => BigInt(index + 1));
  const data = encodeCoverData({ tag: 'take', ids, coverUsd: parts, minCoverUsd: coverUsd, limit });
  const found = checkCover(
    { account, key: account, kind: COVER_KIND.take, data, nonce: 1n, deadline: 1, fee: 0n },
    {
      type: 'cover',
      kind: 'cover-take',
      ticker: 'MAG7',
      fromBps: 300,
      toBps: 1_000,
      coverUsd,
      maxPricePer1k,
    },
    policy,
  );
  return found === null ? null : `${found.field} ${found.reason}`;
}

it.each<[price: bigint, parts: readonly bigint[], cost: bigint]>([
  // Premium 301,410, fee 3,014.1.
  [5_910_000n, [51n], 304_425n],
  // Premium 215,130, fee 2,151.3.
  [2_130_000n, [101n], 217_282n],
  // 360,510 and 431,430: 3,605.1 and 4,314.3; in one part it would be 7,919.4.
  [5_910_000n, [61n, 73n], 799_861n],
  [5_910_000n, [134n], 799_860n],
  // Whole: 3,264.
  [6_400_000n, [51n], 329_664n],
])('at %i per $1,000, parts of %s dollars cost at most this and no more', (price, parts, cost) => {
  expect(judge(parts, cost, price)).toBeNull();
  expect(judge(parts, cost + 1n, price)).toBe('limit is above the dearest price asked');
});

it('takes of no more offers than the module executes', () => {
  const twenty = Array.from({ length: 20 }, () => 50n);
  expect(judge(twenty, 1_000n, USD)).toBeNull();
  expect(judge([...twenty, 50n], 1_000n, USD)).toBe('ids are more than a key takes at once');
});
