/** A move costs about 100,000 gas, more when it crosses initialised ticks; unused gas is not charged. */
export function makerMoveGas(pools: number): bigint {
  return 500_000n + 400_000n * BigInt(pools);
}
