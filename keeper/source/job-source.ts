/**
 * Reads `/v1/jobs` and `/v1/cover/payouts` from every configured API at once. A source that is slow, huge, broken or
 * hostile yields nothing this time and is asked again at the next tick: no failure here locks anything out.
 */
import { steadyNow } from '../../runtime/clock.ts';
import { getJson, type Reading } from './get-json.ts';
import { type Job, parseJobs } from './job.ts';
import type { ParsedList } from './listed.ts';
import { type ListedPayout, parsePayouts } from './payout.ts';

export type SourceOptions = {
  /** Base URLs, without a trailing slash. */
  urls: readonly string[];
  maxJobs: number;
} & Reading;

/** Times of the blocks that the two lists of a source are of, unix seconds. */
export type AsOf = { oldest: number; newest: number };

export type SourceAnswer =
  | {
      tag: 'jobs';
      source: number;
      jobs: Job[];
      payouts: ListedPayout[];
      /** Why the payouts are missing, where they are; null too for a service that has none (404). */
      payoutFault: string | null;
      /** False for a service that has no payouts: who serves the cover market must look elsewhere. */
      tellsCover: boolean;
      malformed: string[];
      dropped: number;
      asOf: AsOf | null;
    }
  | { tag: 'failed'; source: number; why: string };

/** Jobs that are there wait so long for the payouts: somebody else may fill them. */
const PAYOUTS_GRACE_MS = 20;
/** While jobs are due, payouts as new as this are not asked for: the service's node has enough to do for the jobs. */
const PAYOUTS_FRESH_MS = 1_000;
/** Older payouts are not told again. */
const PAYOUTS_HOLD_MS = 5_000;

/** Asks every source but those of `skip`, once; answers in the order of the URLs. Never throws. */
export async function pollSources(
  options: SourceOptions,
  signal: AbortSignal,
  skip: (source: number) => boolean = () => false,
): Promise<SourceAnswer[]> {
  const asked = options.urls.flatMap((url, source) => (skip(source) ? [] : [{ url, source }]));
  return Promise.all(asked.map(({ url, source }) => createSource(url, source, options)(signal)));
}

/**
 * One source, asked time and again. Where jobs are due and the payouts are long in coming, those of the last time are
 * told once more, and the ones that are on their way the next time. Never throws.
 */
export function createSource(
  url: string,
  source: number,
  options: Omit<SourceOptions, 'urls'>,
  now: () => number = steadyNow,
): (signal: AbortSignal) => Promise<SourceAnswer> {
  let coming: Promise<ListRead<ListedPayout>> | null = null;
  let last: { read: ListRead<ListedPayout>; atMs: number } | null = null;
  const readPayouts = async (signal: AbortSignal): Promise<ListRead<ListedPayout>> => {
    const parse = (json: unknown): ParsedList<ListedPayout> => parsePayouts(json, options.maxJobs);
    const read = await readList(`${url}/v1/cover/payouts`, parse, options, signal);
    last = { read, atMs: now() };
    coming = null;
    return read;
  };
  const age = (): number => (last === null ? Number.POSITIVE_INFINITY : now() - last.atMs);
  return async (signal) => {
    if (age() >= PAYOUTS_FRESH_MS) coming ??= readPayouts(signal);
    let asked = coming;
    const parse = (json: unknown): ParsedList<Job> => parseJobs(json, options.maxJobs);
    const jobs = await readList(`${url}/v1/jobs`, parse, options, signal);
    const isDue = jobs.tag === 'parsed' && jobs.entries.length > 0;
    const before = last !== null && age() < PAYOUTS_HOLD_MS ? last.read : null;
    if (isDue && before !== null) {
      return answerOf(source, jobs, asked === null ? before : await soon(asked, before));
    }
    asked ??= coming ??= readPayouts(signal);
    return answerOf(source, jobs, await asked);
  };
}

/** What comes within the grace, otherwise what was told before. */
async function soon<T>(coming: Promise<T>, before: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(before), PAYOUTS_GRACE_MS);
  });
  try {
    return await Promise.race([coming, late]);
  } finally {
    clearTimeout(timer);
  }
}

function answerOf(
  source: number,
  jobs: ListRead<Job>,
  payouts: ListRead<ListedPayout>,
): SourceAnswer {
  if (jobs.tag === 'failed') return { tag: 'failed', source, why: jobs.why };
  const cover: Extract<ListRead<ListedPayout>, { tag: 'parsed' }> = payouts.tag === 'failed'
    ? { tag: 'parsed', entries: [], malformed: [], dropped: 0, asOf: null }
    : payouts;
  const told = [jobs.asOf, cover.asOf].filter((time) => time !== null);
  return {
    tag: 'jobs',
    source,
    jobs: jobs.entries,
    payouts: cover.entries,
    payoutFault: payouts.tag === 'failed' && payouts.why !== 'HTTP 404' ? payouts.why : null,
    tellsCover: payouts.tag === 'parsed',
    malformed: [...jobs.malformed, ...cover.malformed.map((problem) => `payouts: ${problem}`)],
    dropped: jobs.dropped + cover.dropped,
    asOf: told.length === 0 ? null : { oldest: Math.min(...told), newest: Math.max(...told) },
  };
}

type ListRead<T> = Extract<ParsedList<T>, { tag: 'parsed' }> | { tag: 'failed'; why: string };

async function readList<T>(
  url: string,
  parse: (json: unknown) => ParsedList<T>,
  options: Omit<SourceOptions, 'urls'>,
  signal: AbortSignal,
): Promise<ListRead<T>> {
  const read = await getJson(url, options, signal);
  if (read.tag === 'failed') return read;
  const parsed = parse(read.json);
  return parsed.tag === 'not_a_list' ? { tag: 'failed', why: parsed.why } : parsed;
}
