import { steadyNow } from '../../runtime/clock.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import type { Waited } from '../jobs/news.ts';
import { jobsChangesQuery } from '../schemas/reads.ts';
import { jobsChangesBody } from '../schemas/responses/jobs.ts';

/** So often it is looked whether the chain is out of reach, of which nothing tells. */
const LOOK_MS = 1_000;

export const jobsChanges = defineEndpoint({
  method: 'get',
  path: '/v1/jobs/changes',
  id: 'jobsChanges',
  tag: 'Jobs',
  summary: 'Waits until a job is due that is not among those of a tag.',
  description:
    'Answers when a job is due that was not under `unless`, which may be at once, or when `waitMs` are over. Then read /v1/jobs.',
  query: jobsChangesQuery,
  response: jobsChangesBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  deadline: 'own',
  answer: async ({ board, due, service: { news } }, { query }, asker) => {
    const { unless, waitMs } = query;
    const until = steadyNow() + waitMs;
    const gone = asker.gone();
    let waited: Waited = 'over';
    for (;;) {
      const { told } = news;
      const { chainTime, tag, version } = await due.board.current();
      const left = until - steadyNow();
      const isNews = unless === undefined || due.tags.isNews(unless, tag);
      const isOver = left <= 0 || news.isOver || waited === 'pushed_out' || asker.isGone();
      if (isNews || isOver) {
        // Who is told of news asks for it next; a fault is told then.
        if (isNews && unless !== undefined) board.current().catch(() => undefined);
        return { asOf: new Date(chainTime * 1_000).toISOString(), tag };
      }
      // One that was begun earlier, for somebody else, says nothing of what was read since.
      if (version === due.board.version) {
        waited = await news.beyond(told, Math.min(left, LOOK_MS), gone);
      }
    }
  },
});
