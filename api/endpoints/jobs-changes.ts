import { steadyNow } from '../../runtime/clock.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { jobsChangesQuery } from '../schemas/reads.ts';
import { jobsChangesBody } from '../schemas/responses/jobs.ts';

/** Who comes beyond these is answered at once. */
const MOST_WAITING = 256;
/** So often it is looked whether the chain is out of reach, of which nothing tells. */
const LOOK_MS = 1_000;

const hasOthers = (names: ReadonlySet<string>, known: ReadonlySet<string>): boolean =>
  [...names].some((name) => !known.has(name));

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
  answer: async ({ due, service: { news } }, { query }, asker) => {
    const { unless, waitMs } = query;
    const until = steadyNow() + waitMs;
    const gone = asker.gone();
    let known = due.tags.namesOf(unless);
    for (;;) {
      const { told } = news;
      const { chainTime, names, tag, version } = await due.board.current();
      const left = until - steadyNow();
      const isNews = known === null ? tag !== unless : hasOthers(names, known);
      const isFull = news.waiting >= MOST_WAITING;
      if (isNews || left <= 0 || news.isOver || isFull || gone.aborted) {
        return { asOf: new Date(chainTime * 1_000).toISOString(), tag };
      }
      // What went since is due anew when it comes again.
      known = names;
      // One that was begun earlier, for somebody else, says nothing of what was read since.
      if (version === due.board.version) {
        await news.beyond(told, Math.min(left, LOOK_MS), gone);
      }
    }
  },
});
