/**
 * What the node's gas estimate lies above the gas that a simulation used: the part kept back for inner calls, and on an
 * Orbit chain the share for L1 data, which a simulation need not count. Calls of one kind to one basket have the same
 * size and shape, so what one estimate showed holds for the next for a while: the estimate, by far the dearest call
 * of a fill, is asked for once a kind and half a minute, not once a fill.
 */

export type GasExtras = {
  /** Gas to add to what a call of this kind used; null when no estimate is recent enough. */
  recent(kind: string): bigint | null;
  /** Notes an estimate and what the simulation of the same call used. */
  learn(kind: string, estimated: bigint, used: bigint): void;
};

/**
 * @param options.maxAgeMs for how long an estimate speaks for others; the L1 price drifts
 * @param options.capacity kinds kept; the one learned longest ago goes first
 */
export function createGasExtras(options: {
  now: () => number;
  maxAgeMs?: number;
  capacity?: number;
}): GasExtras {
  const { now, maxAgeMs = 30_000, capacity = 512 } = options;
  const kinds = new Map<string, { extra: bigint; sinceMs: number }>();
  return {
    recent(kind) {
      const known = kinds.get(kind);
      return known === undefined || now() - known.sinceMs > maxAgeMs ? null : known.extra;
    },
    learn(kind, estimated, used) {
      const extra = estimated > used ? estimated - used : 0n;
      const known = kinds.get(kind);
      const isRecent = known !== undefined && now() - known.sinceMs <= maxAgeMs;
      // Of several estimates at once the largest speaks; none of them lengthens the time of an older one.
      const next = isRecent
        ? { extra: extra > known.extra ? extra : known.extra, sinceMs: known.sinceMs }
        : { extra, sinceMs: now() };
      kinds.delete(kind);
      kinds.set(kind, next);
      const [oldest] = kinds.keys();
      if (kinds.size > capacity && oldest !== undefined) kinds.delete(oldest);
    },
  };
}
