/** What a recording tells that the sources listed. */
import { parseJobs } from '../source/job.ts';
import type { SourceAnswer } from '../source/job-source.ts';
import { parsePayouts } from '../source/payout.ts';
import { workKeyOf } from '../work.ts';
import type { TickLine } from './lines.ts';

/** Through the keeper's own parsers: a recording may come from elsewhere. */
export function answersOf(told: NonNullable<TickLine['answers']>): SourceAnswer[] {
  return told.map(({ source, jobs, payouts }) => {
    const parsedJobs = parseJobs({ jobs }, jobs.length);
    const parsedPayouts = parsePayouts({ payouts }, payouts.length);
    return {
      tag: 'jobs',
      source,
      jobs: parsedJobs.tag === 'parsed' ? parsedJobs.entries : [],
      payouts: parsedPayouts.tag === 'parsed' ? parsedPayouts.entries : [],
      payoutFault: null,
      malformed: [],
      dropped: 0,
      tellsCover: true,
      asOf: null,
    };
  });
}

/** The unit of memory and journal of everything that is listed. */
export function keysOf(
  answers: readonly SourceAnswer[],
): { key: string; type: string; ticker: string | null }[] {
  return answers.flatMap((answer) =>
    answer.tag === 'failed'
      ? []
      : [
          ...answer.jobs.map(({ contract, id, type, ticker }) => ({
            key: workKeyOf(contract, id),
            type,
            ticker,
          })),
          ...answer.payouts.map(({ contract, id, type, ticker }) => ({
            key: workKeyOf(contract, id, type),
            type,
            ticker,
          })),
        ],
  );
}
