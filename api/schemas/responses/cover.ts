/** What the cover reads and the agent's cover route answer (wire.md, Cover reads and Cover plan). */
import { z } from 'zod';
import { awaitsSignature, domainBody, sessionBody } from './agent.ts';
import { addressText, hexText, indexedBlock, tickerText, urlText, weiText } from './scalars.ts';

const bps = z.int().meta({ description: 'Basis points of a drop.' });
const range = { fromBps: bps, toBps: bps };
const dollars = (description: string) => z.number().meta({ description });
const wholeDollars = (description: string) => z.int().meta({ description });
const listingId = z
  .string()
  .regex(/^[0-9]+$/)
  .meta({ description: 'Decimal.' });
const seconds = z.int().meta({ description: 'Unix seconds.' });

const week = z
  .object({
    id: z.int(),
    close: seconds,
    settle: seconds,
    cutoffAt: seconds.meta({ description: 'Unix seconds: nothing is sold from then on.' }),
    tradingOpen: z.boolean().meta({ description: 'By the calendar; a pause is told apart.' }),
  })
  .meta({ id: 'CoverWeek' });

const terms = z
  .object({
    feeBps: z.int().meta({ description: 'Of the premium.' }),
    minCoverUsd: wholeDollars('Least cover of a listing and of a part taken out of it.'),
    rangeStepBps: bps,
    minFromBps: bps,
    minWidthBps: bps,
    maxToBps: bps,
  })
  .meta({ id: 'CoverTerms' });

const session = z
  .object({
    maxTakePer1k: dollars('Dearest offer that a session key can take, dollars per $1,000.'),
    maxRequestPer1k: dollars('Dearest request of a session key, dollars per $1,000.'),
    weeksAhead: z.int().meta({ description: 'Weeks that trade beside the current one.' }),
    maxPremiumOfCover: z.number().meta({ description: 'Premium and fee as a fraction of cover.' }),
  })
  .meta({ id: 'CoverSessionTerms' });

export const coverWeeksBody = z
  .object({
    current: z.int().nullable().meta({ description: 'The week trading now.' }),
    now: seconds,
    paused: z.boolean().meta({ description: 'By the protocol: no new cover before it ends.' }),
    weeks: z.array(week),
    terms,
    session,
    tickers: z.array(tickerText).meta({ description: 'Baskets with a cover market.' }),
    presets: z.array(z.object(range)),
  })
  .meta({ id: 'CoverWeeks' });

const offer = z.object({
  id: listingId,
  pricePer1k: dollars('Dollars per $1,000 of cover, before the fee.'),
  coverUsd: wholeDollars('Whole dollars that are open.'),
  sessionCanTake: z.boolean(),
  mine: z.boolean().optional().meta({ description: 'True for an offer of ?account.' }),
});

const history = z.object({
  weekends: z.int().meta({ description: 'Weekends on record.' }),
  since: z.iso.datetime().meta({ description: 'Close of the first of them.' }),
  paidWeekends: z.int(),
  fullWeekends: z.int(),
  fairPer1k: dollars('Average payout a weekend per $1,000.'),
  estimatePer1k: dollars(
    'Payout to be expected per $1,000 of weekends as wide as those on record.',
  ),
});

const quote = z.object({
  coverUsd: wholeDollars('Asked for.'),
  filledUsd: wholeDollars('What the book has of it.'),
  restUsd: wholeDollars('What it has not.'),
  premium: dollars('Dollars.'),
  fee: dollars('Dollars.'),
  cost: dollars('Premium and fee, dollars.'),
  costUsdg: weiText.meta({ description: 'Premium and fee, USDG base units.' }),
  per1k: z.number().nullable().meta({ description: 'Premium per $1,000 of what is filled.' }),
});

export const coverBookBody = z
  .object({
    ticker: tickerText,
    vault: addressText,
    week: z.int(),
    terms,
    session,
    ranges: z.array(
      z.object({
        ...range,
        offers: z.array(offer).meta({ description: 'The cheapest first.' }),
        depthUsd: wholeDollars("Open cover of these, without ?account's own."),
        cheapestPer1k: z.number().nullable(),
        history,
        quote: quote.optional().meta({ description: 'With ?coverUsd: what taking it costs.' }),
      }),
    ),
    capLeftUsd: wholeDollars("What the week's cap still carries."),
    note: z.string().optional().meta({ description: 'A pause; offers that are not shown.' }),
    asOfBlock: indexedBlock,
  })
  .meta({ id: 'CoverBook' });

const navText = z.number().nullable().meta({ description: 'Average NAV, dollars per share.' });

export const coverPositionsBody = z
  .object({
    account: addressText,
    positions: z.array(
      z.object({
        id: listingId,
        ticker: tickerText,
        week: z.int(),
        role: z.enum(['buyer', 'underwriter']),
        ...range,
        coverUsd: wholeDollars('Whole dollars.'),
        premium: dollars('Dollars that the buyer locked for the underwriter.'),
        fees: dollars('Dollars of cover fee that the buyer locked.'),
        move: z
          .union([z.number(), z.literal('void')])
          .nullable()
          .meta({
            description:
              'Settlement over close less one, as a fraction; "void": a snapshot was missed, everything goes back; null: not known yet.',
          }),
        closeNav: navText,
        settleNav: navText,
        paid: z.boolean(),
        paidOut: dollars('Dollars paid to this side; 0 before.'),
      }),
    ),
    listings: z.array(
      z.object({
        id: listingId,
        week: z.int(),
        ticker: tickerText,
        side: z.enum(['request', 'offer']),
        ...range,
        pricePer1k: dollars('Dollars per $1,000.'),
        openUsd: wholeDollars('Whole dollars still open.'),
        listedUsd: wholeDollars('Whole dollars as listed.'),
      }),
    ),
    credit: dollars(
      'Dollars that could not be sent to the account and that the market holds for it: claim(to) on it sends them anywhere. What is paid or given back counts as such all the same.',
    ),
    note: z.string().optional(),
    asOfBlock: indexedBlock,
  })
  .meta({ id: 'CoverPositions' });

const typeFields = z.array(z.object({ name: z.string(), type: z.string() })).readonly();

const action = z
  .object({
    account: addressText,
    key: addressText,
    kind: z.literal([0, 1, 4]).meta({ description: '0 take, 1 request, 4 cancel.' }),
    data: hexText,
    nonce: weiText,
    deadline: seconds,
    fee: weiText.meta({ description: 'Network fee, USDG base units.' }),
  })
  .meta({ id: 'CoverAction' });

export const coverPlan = z
  .object({
    intent: z.enum(['take', 'request', 'cancel']),
    ticker: tickerText.optional(),
    week: z.int().optional(),
    fromBps: bps.optional(),
    toBps: bps.optional(),
    summary: z.object({
      cover: wholeDollars('Whole dollars; of a cancel, what is still open.'),
      premium: dollars('Dollars.'),
      fee: dollars('Dollars of cover fee; of a request it lies within the premium.'),
      cost: dollars('Dollars that the account locks; zero for a cancel.'),
      returned: z.number().optional().meta({ description: 'Of a cancel: dollars that come back.' }),
    }),
    offers: z
      .array(z.object({ id: listingId, coverUsd: z.int(), pricePer1k: z.number() }))
      .optional()
      .meta({ description: 'Of a take: what is taken of which offer.' }),
    status: sessionBody,
    coverRemainingTodayUsdg: weiText.meta({
      description: 'Left of the daily cover limit before this action, USDG base units.',
    }),
    module: addressText.meta({ description: 'The cover module.' }),
    action,
    typedData: z.object({
      domain: domainBody('basket cover'),
      types: z.object({ EIP712Domain: typeFields, CoverAction: typeFields }),
      primaryType: z.literal('CoverAction'),
      message: action,
    }),
    relayerUrl: urlText,
    simulation: awaitsSignature,
  })
  .meta({ id: 'CoverPlan' });
