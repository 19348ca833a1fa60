import { PRESETS, SESSION_TERMS, TERMS } from '../cover/terms.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { coverWeeksBody } from '../schemas/responses/cover.ts';

export const coverWeeks = defineEndpoint({
  method: 'get',
  path: '/v1/cover/weeks',
  id: 'coverWeeks',
  tag: 'Cover',
  summary: 'The week of cover that trades now and the two after it, with terms and baskets.',
  response: coverWeeksBody,
  refusals: ['UPSTREAM'],
  cache: 'no-store',
  answer: async ({ service }) => {
    const { now, paused, weeks, vaults } = await service.coverCalendar.read();
    const catalog = service.marks.catalog();
    return {
      current: weeks[0]?.id ?? null,
      now,
      paused,
      weeks: weeks.map((week) => ({ ...week })),
      terms: TERMS,
      session: SESSION_TERMS,
      tickers: vaults.flatMap((vault) => catalog.byVault(vault)?.ticker ?? []),
      presets: PRESETS.map((range) => ({ ...range })),
    };
  },
});
