/**
 * How many blocks to ask getLogs for: providers cap ranges at 10, 100, 10,000 or 100,000 blocks, or results, or time,
 * and say so in words of their own. So the words are not read: halve on refusal, remember the ceiling, probe again
 * after a while. Pure.
 */
export type RangePolicy = {
  size: number;
  /** Largest size not known to be refused. */
  ceiling: number;
  /** Successes since the ceiling was learned. */
  successes: number;
};

/** After so many successes the ceiling may have been a passing trouble: it is raised by one doubling. */
const PROBE_AFTER = 20;

export function initialRange(max: number): RangePolicy {
  return { size: max, ceiling: max, successes: 0 };
}

export function afterRefusal(policy: RangePolicy, asked: number): RangePolicy {
  const ceiling = Math.max(asked - 1, 1);
  return { size: Math.max(Math.floor(asked / 2), 1), ceiling, successes: 0 };
}

export function afterSuccess(policy: RangePolicy, max: number): RangePolicy {
  const successes = policy.successes + 1;
  if (successes < PROBE_AFTER) {
    return { ...policy, successes, size: Math.min(policy.size * 2, policy.ceiling) };
  }
  const ceiling = Math.min(policy.ceiling * 2, max);
  return { size: Math.min(policy.size * 2, ceiling), ceiling, successes: 0 };
}
