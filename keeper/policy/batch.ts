/**
 * Several fills in one transaction of Multicall3. Pure. Fills of one basket read the same pools: together they cost less
 * than apart, and one nonce carries them all.
 */

/** No transaction of ours asks for more gas: a block must have room for it. */
export const MOST_BATCH_GAS = 12_000_000n;

/**
 * Cuts what is ready into batches of at most `most` members and {@link MOST_BATCH_GAS}; a batch of one is no batch and
 * is sent by itself. Keeps the order.
 */
export function cutIntoBatches<T extends { gas: bigint }>(
  ready: readonly T[],
  most: number,
): T[][] {
  const batches: T[][] = [];
  let room = 0n;
  for (const item of ready) {
    const last = batches.at(-1);
    if (last === undefined || last.length >= most || item.gas > room) {
      batches.push([item]);
      room = MOST_BATCH_GAS - item.gas;
    } else {
      last.push(item);
      room -= item.gas;
    }
  }
  return batches;
}

/** Whether one transaction of `batchGas` is cheaper than one each. */
export function isCheaper(batchGas: bigint, gases: readonly bigint[]): boolean {
  return batchGas < gases.reduce((sum, gas) => sum + gas, 0n);
}

/** A member's share of the gas that the batch used: equal parts, the first carries the remainder; their sum is exact. */
export function gasShare(gasUsed: bigint, members: number, index: number): bigint {
  const part = gasUsed / BigInt(members);
  return index === 0 ? gasUsed - part * BigInt(members - 1) : part;
}
