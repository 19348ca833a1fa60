import { steadyNow } from '../runtime/clock.ts';

/** A token bucket per session key, in a bounded map: the least recently seen key is forgotten first. */
export type KeyLimiter = {
  /** Takes one token; `retryAfterSeconds` when there is none. */
  take(key: string): { ok: true } | { ok: false; retryAfterSeconds: number };
  size: () => number;
};

export function createKeyLimiter(
  options: { perMinute: number; maxKeys: number },
  now: () => number = steadyNow,
): KeyLimiter {
  const buckets = new Map<string, { tokens: number; at: number }>();
  const perMs = options.perMinute / 60_000;
  return {
    take: (key) => {
      const at = now();
      const known = buckets.get(key);
      const tokens =
        known === undefined
          ? options.perMinute
          : Math.min(options.perMinute, known.tokens + Math.max(0, at - known.at) * perMs);
      buckets.delete(key);
      if (buckets.size >= options.maxKeys) {
        const oldest = buckets.keys().next();
        if (oldest.done !== true) buckets.delete(oldest.value);
      }
      const enough = tokens >= 1;
      buckets.set(key, { tokens: enough ? tokens - 1 : tokens, at });
      if (enough) return { ok: true };
      return { ok: false, retryAfterSeconds: Math.max(1, Math.ceil((1 - tokens) / perMs / 1_000)) };
    },
    size: () => buckets.size,
  };
}
