import { steadyNow } from '../../runtime/clock.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { jobsChangesQuery } from '../schemas/reads.ts';
import { jobsChangesBody } from '../schemas/responses/jobs.ts';

/** Who comes beyond these is answered at once. */
const MOST_WAITING = 256;

export const jobsChanges = defineEndpoint({
  method: 'get',
  path: '/v1/jobs/changes',
  id: 'jobsChanges',
  tag: 'Jobs',
  summary: 'Waits until other jobs are due than those of a tag.',
  description:
    'Answers at once where others are due than those of `unless`, otherwise when that is so or `waitMs` are over. Then read /v1/jobs.',
  query: jobsChangesQuery,
  response: jobsChangesBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  deadline: 'own',
  answer: async ({ due, service: { news } }, { query }) => {
    const { unless, waitMs } = query;
    const until = steadyNow() + waitMs;
    for (;;) {
      const { told } = news;
      const { chainTime, tag, version } = await due.current();
      const left = until - steadyNow();
      if (tag !== unless || left <= 0 || news.isOver || news.waiting >= MOST_WAITING) {
        return { asOf: new Date(chainTime * 1_000).toISOString(), tag };
      }
      // One that was begun earlier, for somebody else, says nothing of what was read since.
      if (version === due.version) await news.beyond(told, left);
    }
  },
});
