/** What `/ready` tells: each check's name and, where it fails, why, in words for an operator. */
export type ReadinessResult =
  /** `note`: what an operator may want to know though nothing is wrong. */
  { ok: true; note?: string } | { ok: false; reason: string };

export type ReadinessCheck = { name: string; check: () => ReadinessResult };

export type ReadinessReport = {
  ready: boolean;
  checks: { name: string; ok: boolean; reason?: string; note?: string }[];
};

/** Checks are synchronous reads of state that the process keeps anyway: asking costs no RPC. */
export function readinessReport(checks: readonly ReadinessCheck[]): ReadinessReport {
  const results = checks.map(({ name, check }) => ({ name, ...check() }));
  return { ready: results.every((result) => result.ok), checks: results };
}
