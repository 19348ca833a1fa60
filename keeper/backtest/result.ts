/** What a policy did with a recording, from its attempts and last decisions; and the difference of two. Pure. */

/** One transaction that came to an end. USDG base units. */
export type Attempted = {
  intent: string;
  job: string;
  kind: string;
  outcome: string;
  feeUsdg: bigint;
  gasUsed: bigint;
  gasL1: bigint | null;
  /** Null where the ETH price was not known. */
  costUsdg: bigint | null;
};

/** Sums of one job or of all. `netUsdg` = fees less cost. */
export type Sums = {
  executed: number;
  reverted: number;
  feesUsdg: bigint;
  gasUsed: bigint;
  costUsdg: bigint;
  netUsdg: bigint;
};

export type PolicyResult = Sums & {
  jobs: ReadonlyMap<string, Sums>;
  /** Jobs that were listed and never executed, by their last decision. */
  skipped: ReadonlyMap<string, number>;
  /** Jobs whose transaction was sent and whose end nobody told: in no sum, and not skipped. */
  open: ReadonlySet<string>;
  gasL1: bigint;
  /** Transactions whose cost is not in the sums. */
  costUnknown: number;
};

const NONE: Sums = {
  executed: 0,
  reverted: 0,
  feesUsdg: 0n,
  gasUsed: 0n,
  costUsdg: 0n,
  netUsdg: 0n,
};

function plus(a: Sums, b: Sums): Sums {
  return {
    executed: a.executed + b.executed,
    reverted: a.reverted + b.reverted,
    feesUsdg: a.feesUsdg + b.feesUsdg,
    gasUsed: a.gasUsed + b.gasUsed,
    costUsdg: a.costUsdg + b.costUsdg,
    netUsdg: a.netUsdg + b.netUsdg,
  };
}

export function minus(a: Sums, b: Sums): Sums {
  return {
    executed: a.executed - b.executed,
    reverted: a.reverted - b.reverted,
    feesUsdg: a.feesUsdg - b.feesUsdg,
    gasUsed: a.gasUsed - b.gasUsed,
    costUsdg: a.costUsdg - b.costUsdg,
    netUsdg: a.netUsdg - b.netUsdg,
  };
}

function sumsOf({ kind, outcome, feeUsdg, gasUsed, costUsdg }: Attempted): Sums {
  const cost = costUsdg ?? 0n;
  return {
    executed: outcome === 'mined' && kind !== 'arm' ? 1 : 0,
    reverted: outcome === 'reverted' ? 1 : 0,
    feesUsdg: feeUsdg,
    gasUsed,
    costUsdg: cost,
    netUsdg: feeUsdg - cost,
  };
}

/**
 * @param attempts those of the chain; an intent that is told twice counts as told last
 * @param decisions last decision by job
 * @param listed every job that a source listed
 * @param leftOut jobs that are in no sum and no count
 */
export function resultOf(
  attempts: readonly Attempted[],
  decisions: ReadonlyMap<string, string>,
  listed: ReadonlySet<string>,
  leftOut: ReadonlySet<string> = new Set(),
): PolicyResult {
  const last = new Map(attempts.map((attempt) => [attempt.intent, attempt]));
  const executed = new Set(
    [...last.values()].filter((one) => sumsOf(one).executed > 0).map(({ job }) => job),
  );
  const open = new Set(
    [...decisions]
      .filter(
        ([job, decision]) => decision === 'sent' || (decision === 'executed' && !executed.has(job)),
      )
      .map(([job]) => job),
  );
  const jobs = new Map<string, Sums>();
  let total = NONE;
  let gasL1 = 0n;
  let costUnknown = 0;
  for (const attempt of last.values()) {
    if (attempt.outcome !== 'mined' && attempt.outcome !== 'reverted') continue;
    if (open.has(attempt.job) || leftOut.has(attempt.job)) continue;
    const sums = sumsOf(attempt);
    total = plus(total, sums);
    jobs.set(attempt.job, plus(jobs.get(attempt.job) ?? NONE, sums));
    gasL1 += attempt.gasL1 ?? 0n;
    if (attempt.costUsdg === null) costUnknown += 1;
  }
  const skipped = new Map<string, number>();
  for (const job of listed) {
    if ((jobs.get(job)?.executed ?? 0) > 0 || open.has(job) || leftOut.has(job)) continue;
    const reason = decisions.get(job) ?? 'not_considered';
    skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  }
  return { ...total, jobs, skipped, open, gasL1, costUnknown };
}

/** Jobs whose sums differ, with `b` less `a`; their sum is the difference of the totals. */
export function differences(a: PolicyResult, b: PolicyResult): Map<string, Sums> {
  const found = new Map<string, Sums>();
  for (const job of new Set([...a.jobs.keys(), ...b.jobs.keys()])) {
    const sums = minus(b.jobs.get(job) ?? NONE, a.jobs.get(job) ?? NONE);
    if (Object.values(sums).some((value) => BigInt(value) !== 0n)) found.set(job, sums);
  }
  return found;
}
