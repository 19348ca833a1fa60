/** One basket's book of a week, range by range (wire.md, Cover reads). */
import type { z } from 'zod';
import { coverWeek } from '../../contracts-abi/cover-calendar.ts';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { toNumber } from '../../contracts-abi/rounding.ts';
import { ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { coverBookQuery } from '../schemas/cover.ts';
import { basketOf, requireIndex, type Service } from '../service.ts';
import type { Offer } from './cover-index.ts';
import { type Filled, fillOffers, SHORTLISTED, shortlist } from './fill-offers.ts';
import { MAX_SESSION_TAKE_PRICE, PRESETS, type Range, SESSION_TERMS, TERMS } from './terms.ts';
import { oddsOf } from './weekend-odds.ts';
import { requireCoverBasket, tradingWeek } from './weeks.ts';

/** Of each range; beside `account`'s own as many. */
const SHOWN = { cheapest: 500, largest: SHORTLISTED };

type Query = z.output<typeof coverBookQuery>;

/** @throws ApiError UNKNOWN_BASKET, COVER_CLOSED, UPSTREAM. */
export async function readBook(service: Service, ticker: string, query: Query) {
  const basket = basketOf(service, ticker, 404);
  const calendar = await service.coverCalendar.read();
  requireCoverBasket(calendar, basket);
  const week = tradingWeek(calendar, query.week);
  requireIndex(service);
  const asOfBlock = service.indexer.height;
  const timesOf = (id: number) => service.coverCalendar.timesOf(id) ?? coverWeek(id);
  const account = query.account?.toLowerCase();
  const [{ offers, leftOutUsd }, capLeft, { weekends, since }] = await Promise.all([
    service.coverIndex.offersOf(week.id, basket.vault, { ...SHOWN, account }),
    capLeftOf(service, week.id, basket.vault),
    service.weekends.of(basket, calendar.now, timesOf),
  ]);
  const ranges = rangesOf(offers, query).map((range) => {
    const own = offers.filter((each) => isSame(each, range));
    const others = own.filter(({ owner }) => owner !== account);
    const cheapest = others[0];
    return {
      ...range,
      offers: own.map(({ id, owner, pricePer1k, openUsd }) => ({
        id: id.toString(),
        pricePer1k: toNumber(pricePer1k, 6),
        coverUsd: Number(openUsd),
        sessionCanTake: owner !== account && pricePer1k <= MAX_SESSION_TAKE_PRICE,
        ...(owner === account ? { mine: true } : {}),
      })),
      depthUsd: others.reduce((sum, { openUsd }) => sum + Number(openUsd), 0),
      cheapestPer1k: cheapest === undefined ? null : toNumber(cheapest.pricePer1k, 6),
      history: {
        ...oddsOf(weekends, range),
        since: new Date(since * 1_000).toISOString(),
      },
      ...(query.coverUsd === undefined
        ? {}
        : { quote: quoteOf(query.coverUsd, taking(others, BigInt(query.coverUsd), capLeft)) }),
    };
  });
  return {
    ticker: basket.ticker,
    vault: basket.vault,
    week: week.id,
    terms: TERMS,
    session: SESSION_TERMS,
    ranges,
    capLeftUsd: Number(capLeft),
    ...noteOf(calendar.paused, leftOutUsd),
    asOfBlock,
  };
}

/** What a session key would take, where that is all that is asked for; else what a wallet would. */
function taking(others: readonly Offer[], coverUsd: bigint, capLeftUsd: bigint): Filled {
  const takeable = others.filter(({ pricePer1k }) => pricePer1k <= MAX_SESSION_TAKE_PRICE);
  const filled = fillOffers(shortlist(takeable), coverUsd, capLeftUsd);
  const most = coverUsd < capLeftUsd ? coverUsd : capLeftUsd;
  if (filled.filledUsd === most || takeable.length === others.length) return filled;
  return fillOffers(shortlist(others), coverUsd, capLeftUsd);
}

function noteOf(paused: boolean, leftOutUsd: bigint): { note?: string } {
  const notes = [
    ...(paused ? ['the protocol is paused: nothing is sold before the pause ends'] : []),
    ...(leftOutUsd > 0n
      ? [`the cheapest and the largest offers are shown; there are $${leftOutUsd} more`]
      : []),
  ];
  return notes.length === 0 ? {} : { note: notes.join('; ') };
}

async function capLeftOf(
  { client, deployment }: Service,
  week: number,
  vault: `0x${string}`,
): Promise<bigint> {
  const market = { to: deployment.coverMarket, abi: coverMarketAbi } as const;
  const batch = new ReadBatch();
  const cap = batch.add({ ...market, functionName: 'capOf', args: [vault] });
  const sold = batch.add({ ...market, functionName: 'marketOf', args: [week, vault] });
  await batch.send(client, deployment.multicall3);
  return required(cap, 'the cap') - required(sold, 'the market of cover').soldUsd;
}

const isSame = (a: Range, b: Range): boolean => a.fromBps === b.fromBps && a.toBps === b.toBps;

/** Ranges with offers, the presets, and the one asked for; of all of these, what the query lets through. In order. */
function rangesOf(offers: readonly Offer[], { fromBps, toBps }: Query): Range[] {
  const found = new Map<string, Range>();
  const asked = fromBps !== undefined && toBps !== undefined ? [{ fromBps, toBps }] : [];
  for (const range of [...offers, ...PRESETS, ...asked]) {
    const own = { fromBps: range.fromBps, toBps: range.toBps };
    if (fromBps !== undefined && own.fromBps !== fromBps) continue;
    if (toBps !== undefined && own.toBps !== toBps) continue;
    found.set(`${own.fromBps}:${own.toBps}`, own);
  }
  return [...found.values()].sort((a, b) => a.fromBps - b.fromBps || a.toBps - b.toBps);
}

function quoteOf(coverUsd: number, { filledUsd, premium, fee, cost }: Filled) {
  return {
    coverUsd,
    filledUsd: Number(filledUsd),
    restUsd: coverUsd - Number(filledUsd),
    premium: toNumber(premium, 6),
    fee: toNumber(fee, 6),
    cost: toNumber(cost, 6),
    costUsdg: cost.toString(),
    per1k: filledUsd === 0n ? null : (toNumber(premium, 6) * 1_000) / Number(filledUsd),
  };
}
