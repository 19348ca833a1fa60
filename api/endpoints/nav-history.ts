import type { Address } from 'viem';
import type { z } from 'zod';
import { toNumber } from '../../contracts-abi/rounding.ts';
import { ApiError } from '../../runtime/errors.ts';
import { defineEndpoint } from '../http/endpoint.ts';
import type { Candle } from '../nav/candles.ts';
import {
  candleCount,
  RESOLUTIONS,
  type Resolution,
  resolutionFor,
  tooMany,
} from '../nav/resolution.ts';
import { summaryOf } from '../nav/summary.ts';
import { navHistoryQuery, tickerPath } from '../schemas/reads.ts';
import { navHistoryBody } from '../schemas/responses/nav-history.ts';
import { basketOf, type Service } from '../service.ts';

/** A candle runs for a minute at least; a shared cache may bridge what no chart shows. */
const CACHE = 'public, max-age=5';

type Asked = z.output<typeof navHistoryQuery> & { res: Resolution };

/**
 * Rebuilt from the chain's events; costs no RPC. Volatility is the sample standard deviation of the log returns between
 * successive closes, times the square root of the candles in a year of 365 days.
 */
export const navHistory = defineEndpoint({
  method: 'get',
  path: '/v1/nav/{ticker}/history',
  id: 'navHistory',
  tag: 'Reads',
  summary: 'NAV of a basket over time: candles, closes, or a summary.',
  description:
    'Every candle to the running one, without gaps: a minute without a trade carries the close before on, less the management fee. NAVs are at pool prices. At most 10,000 candles.',
  params: tickerPath,
  query: navHistoryQuery,
  response: navHistoryBody,
  refusals: [{ code: 'UNKNOWN_BASKET', status: 404 }, 'UPSTREAM'],
  cache: CACHE,
  answer: async ({ service }, { params, query }) => {
    const basket = basketOf(service, params.ticker, 404);
    const asked = { ...query, res: query.res ?? resolutionFor(query.days) };
    const problem = tooMany(asked.res, asked.days);
    if (problem !== null) throw new ApiError('BAD_REQUEST', problem);
    const candles = await candlesOf(service, basket.vault, asked);
    return bodyOf(basket.ticker, asked, candles);
  },
});

/** @throws ApiError UPSTREAM until the history has been read once. */
async function candlesOf(
  service: Service,
  vault: Address,
  { res, days }: Asked,
): Promise<Candle[]> {
  const { indexer, marks, navs } = service;
  const candles = indexer.caughtUp
    ? await navs.candles(
        vault,
        RESOLUTIONS[res].seconds,
        candleCount(res, days),
        marks.snapshot().chainTime,
      )
    : null;
  if (candles === null) {
    throw new ApiError(
      'UPSTREAM',
      `the NAV history is still being read from the chain (${indexer.lagBlocks} blocks to go): retry`,
    );
  }
  return candles;
}

const dollars = (nav: bigint) => toNumber(nav, 18);

function bodyOf(
  ticker: string,
  { res, days, format }: Asked,
  candles: readonly Candle[],
): z.input<typeof navHistoryBody> {
  const head = { ticker, resolution: res };
  if (format === 'summary') return { ...head, days, summary: summaryOf(candles, res) };
  if (format === 'close') {
    return { ...head, close: candles.map(({ t, c }): [number, number] => [t, dollars(c)]) };
  }
  return {
    ...head,
    candles: candles.map(({ t, o, h, l, c }) => ({
      t,
      o: dollars(o),
      h: dollars(h),
      l: dollars(l),
      c: dollars(c),
    })),
  };
}
