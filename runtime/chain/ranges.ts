/**
 * How many blocks to ask getLogs for: providers cap ranges at 10, 100, 10,000 or 100,000 blocks, or results, or time,
 * and say so in words of their own. So the words are not read: halve on refusal, then close in on the largest size
 * that is taken, and probe beyond it again after a while. Pure.
 */
export type RangePolicy = {
  /** To ask for next. */
  size: number;
  /** Largest size taken since the last doubt; 0 before the first. */
  good: number;
  /** Largest size not known to be refused. */
  ceiling: number;
  /** Successes since the ceiling was learned. */
  successes: number;
};

/** After so many successes the ceiling may have been a passing trouble: it is raised by one doubling. */
const PROBE_AFTER = 20;

export function initialRange(max: number): RangePolicy {
  return { size: max, good: 0, ceiling: max, successes: 0 };
}

export function afterRefusal(policy: RangePolicy, asked: number): RangePolicy {
  const ceiling = Math.max(asked - 1, 1);
  const half = Math.max(Math.floor(asked / 2), 1);
  // What was good before is good no longer when it is refused itself.
  const good = policy.good < asked ? policy.good : 0;
  return { size: good > 0 ? good : half, good, ceiling, successes: 0 };
}

export function afterSuccess(policy: RangePolicy, max: number): RangePolicy {
  const successes = policy.successes + 1;
  const probe = successes >= PROBE_AFTER;
  const ceiling = probe ? Math.min(policy.ceiling * 2, max) : policy.ceiling;
  return {
    size: Math.ceil((policy.size + ceiling) / 2),
    good: policy.size,
    ceiling,
    successes: probe ? 0 : successes,
  };
}
