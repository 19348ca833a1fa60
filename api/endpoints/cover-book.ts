import { readBook } from '../cover/read-book.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import { coverBookQuery } from '../schemas/cover.ts';
import { tickerPath } from '../schemas/reads.ts';
import { coverBookBody } from '../schemas/responses/cover.ts';

export const coverBook = defineEndpoint({
  method: 'get',
  path: '/v1/cover/book/{ticker}',
  id: 'coverBook',
  tag: 'Cover',
  summary: 'Offers of cover by range, what past weekends would have paid, and what taking costs.',
  description:
    'Prices are dollars per $1,000 of cover plus a fee of 1% of the premium. With coverUsd each range carries a quote that fills the cheapest offers first, in at most 20 parts, as an action of a session key does. Ranges without an offer that are presets, or asked for, are shown with their history.',
  params: tickerPath,
  query: coverBookQuery,
  response: coverBookBody,
  refusals: [{ code: 'UNKNOWN_BASKET', status: 404 }, 'COVER_CLOSED', 'UPSTREAM'],
  cache: 'no-store',
  answer: ({ service }, { params, query }) => readBook(service, params.ticker, query),
});
