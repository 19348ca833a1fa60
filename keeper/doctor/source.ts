/** Each API by itself: whether its jobs and payouts are such as the keeper reads. */
import { pollSources } from '../source/job-source.ts';
import { fail, type Finding, hostOf, ok, warn } from '../../runtime/doctor/finding.ts';
import { type ClockReading, clockOf } from '../../runtime/doctor/rpc.ts';

const MAX_BYTES = 4_000_000;

export async function checkSource(
  url: string,
  index: number,
  timeoutMs: number,
  maxJobs: number,
): Promise<{ findings: Finding[]; clock: ClockReading | null }> {
  const about = `api ${index + 1}`;
  const host = hostOf(url);
  const options = { urls: [url], timeoutMs, maxBytes: MAX_BYTES, maxJobs };
  const [[answer], clock] = await Promise.all([
    pollSources(options, new AbortController().signal),
    readClock(url, timeoutMs),
  ]);
  if (answer === undefined || answer.tag === 'failed') {
    const why = `${host}: /v1/jobs: ${answer?.why ?? 'no answer'}`;
    const fix = 'check API_URLS and that the API runs';
    return { findings: [fail(about, why, fix)], clock };
  }
  const { jobs, payouts, payoutFault, malformed } = answer;
  const findings: Finding[] = [];
  if (malformed.length > 0) {
    const says = `${host}: ${malformed.length} entries do not parse (${malformed[0] ?? ''})`;
    findings.push(warn(about, says, 'they are left out; tell whoever runs this API'));
  }
  if (payoutFault === null) {
    findings.push(ok(about, `${host}: ${jobs.length} jobs, ${payouts.length} payouts`));
  } else {
    const says = `${host}: ${jobs.length} jobs, but /v1/cover/payouts: ${payoutFault}`;
    findings.push(warn(about, says, 'cover work is not found there'));
  }
  return { findings, clock };
}

async function readClock(url: string, timeoutMs: number): Promise<ClockReading | null> {
  const startedMs = Date.now();
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(timeoutMs) });
    const clock = clockOf(response, startedMs);
    await response.body?.cancel();
    return clock;
  } catch {
    // Expected: it does not answer; the check of its jobs says so.
    return null;
  }
}
