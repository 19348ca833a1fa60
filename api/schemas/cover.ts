/** Requests of the cover routes (interface.md section 4; wire.md, Cover rules). */
import { z } from 'zod';
import { MAX_SESSION_COVER_PRICE, USD } from '../../contracts-abi/constants.ts';
import { decimalTextOf, parseDecimal } from '../../contracts-abi/rounding.ts';
import { addressSchema, uintDigitsSchema } from '../../runtime/schema.ts';
import { boundFault, rangeFault, TERMS } from '../cover/terms.ts';
import { tickerSchema } from './common.ts';

/** A week's number: its close in unix seconds over the seconds of a week; four digits for centuries. */
const MOST_WEEK = 99_999;
const MOST_COVER_USD = 1_000_000_000;

const weekSchema = z
  .int('expected the number of a week')
  .min(0, 'expected the number of a week')
  .max(MOST_WEEK, 'expected the number of a week')
  .meta({ description: 'Number of a week of /v1/cover/weeks; absent: the week trading now.' });

const fromSchema = z
  .int('expected whole basis points')
  .min(1, `expected 1 to ${TERMS.maxToBps} basis points`)
  .max(TERMS.maxToBps, `expected 1 to ${TERMS.maxToBps} basis points`)
  .meta({ description: 'Drop at which cover starts paying, in basis points.' });
const toSchema = fromSchema.meta({
  description: 'Drop from which cover pays in full, in basis points.',
});

const coverUsdSchema = z
  .int('expected whole dollars')
  .min(TERMS.minCoverUsd, `expected at least ${TERMS.minCoverUsd} dollars of cover`)
  .max(MOST_COVER_USD, `expected at most ${MOST_COVER_USD} dollars of cover`)
  .meta({ description: 'Cover in whole dollars.' });

/** Dollars per $1,000. */
const dollarsSchema = z
  .number({ error: 'expected dollars per $1,000 as a number' })
  .positive('expected a price above zero')
  .max(1_000, 'expected at most 1000 dollars per $1,000');
/** USDG base units; what is below one of them is left out. */
const priceOf = (dollars: number): bigint => parseDecimal(decimalTextOf(dollars), 6) ?? 0n;

const maxPriceSchema = dollarsSchema
  .transform(priceOf)
  .refine((price) => price > 0n, 'expected a price of at least 0.000001 dollars');
const centsSchema = dollarsSchema
  .refine((dollars) => /^\d+(\.\d{1,2})?$/.test(decimalTextOf(dollars)), 'expected whole cents')
  .transform(priceOf);

/** Digits in a query, a number from a tool. */
function inQuery<S extends z.ZodType>(schema: S) {
  return z.preprocess(
    (given) => (typeof given === 'string' && /^[0-9]{1,10}$/.test(given) ? Number(given) : given),
    schema,
  );
}

type RangeBody = { fromBps?: number | undefined; toBps?: number | undefined };

/** Of a range that is named whole, or of the half that is named: of that, of one that a range can have. */
function checkRange({ fromBps, toBps }: RangeBody, context: z.RefinementCtx): void {
  if (fromBps === undefined || toBps === undefined) {
    for (const [path, bps] of Object.entries({ fromBps, toBps }) as [keyof RangeBody, number?][]) {
      const why = bps === undefined ? null : boundFault(path, bps);
      if (why !== null) context.addIssue({ code: 'custom', path: [path], message: why });
    }
    return;
  }
  const fault = rangeFault({ fromBps, toBps });
  if (fault !== null) {
    context.addIssue({ code: 'custom', path: [fault.path], message: fault.why });
  }
}

export const coverBookQuery = z
  .object({
    week: inQuery(weekSchema)
      .optional()
      .meta({ description: 'Number of a week that trades; absent: the current one.' }),
    coverUsd: inQuery(coverUsdSchema)
      .optional()
      .meta({ description: 'Whole dollars of cover to quote, for each range.' }),
    fromBps: inQuery(fromSchema).optional().meta({ description: 'Only ranges from this drop.' }),
    toBps: inQuery(toSchema).optional().meta({ description: 'Only ranges up to this drop.' }),
    account: addressSchema.optional().meta({
      description: 'The buyer: its own offers are marked and left out of depth and quotes.',
    }),
  })
  .superRefine(checkRange);

export const coverAccountPath = z.object({
  account: addressSchema.meta({ description: 'Address that bought or underwrote cover.' }),
});

const NEEDED = {
  take: ['ticker', 'fromBps', 'toBps', 'coverUsd'],
  request: ['ticker', 'fromBps', 'toBps', 'coverUsd', 'pricePer1k'],
  cancel: ['listingId'],
} as const;
const ALLOWED = {
  take: [...NEEDED.take, 'week', 'maxPricePer1k', 'allowPartial'],
  request: [...NEEDED.request, 'week'],
  cancel: NEEDED.cancel,
} as const;

const ACTIONS = ['take', 'request', 'cancel'] as const;

export const coverRequest = z
  .strictObject({
    owner: addressSchema.meta({ description: "Public address of the account's owner." }),
    key: addressSchema.meta({ description: "Public address of the agent's key." }),
    action: z.enum(ACTIONS, { error: 'expected "take", "request" or "cancel"' }).meta({
      description: 'Buy out of the book, ask for cover at a price, or take a request back.',
    }),
    ticker: tickerSchema.optional(),
    week: weekSchema.optional(),
    fromBps: fromSchema.optional(),
    toBps: toSchema.optional(),
    coverUsd: coverUsdSchema.optional(),
    maxPricePer1k: maxPriceSchema.optional().meta({
      type: 'number',
      description:
        "Take alone: dearest offer to take, dollars per $1,000; never above the session's 3% ceiling.",
    }),
    allowPartial: z.boolean('expected true or false').optional().meta({
      description: 'Take alone: buy what the book has when it holds less than coverUsd.',
    }),
    pricePer1k: centsSchema
      .refine(
        (price) => price <= MAX_SESSION_COVER_PRICE,
        `expected at most ${MAX_SESSION_COVER_PRICE / USD} dollars per $1,000`,
      )
      .optional()
      .meta({ type: 'number', description: 'Request alone: dollars per $1,000, whole cents.' }),
    listingId: uintDigitsSchema
      .transform(BigInt)
      .optional()
      .meta({ description: 'Cancel alone: the id of an open request of the account.' }),
    feeUsdg: uintDigitsSchema.default('0').transform(BigInt).meta({
      description: 'Network fee that the action signs, USDG base units; a cancel carries none.',
    }),
  })
  .superRefine((body, context) => {
    const rule = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    const { action } = body;
    const allowed: ReadonlySet<string> = new Set(ALLOWED[action]);
    for (const field of [
      'ticker',
      'week',
      'fromBps',
      'toBps',
      'coverUsd',
      'maxPricePer1k',
      'allowPartial',
      'pricePer1k',
      'listingId',
    ] as const) {
      if (body[field] !== undefined && !allowed.has(field))
        rule(field, `forbidden for a ${action}`);
    }
    for (const field of NEEDED[action]) {
      if (body[field] === undefined) rule(field, `required for a ${action}`);
    }
    if (action === 'cancel' && body.feeUsdg !== 0n) rule('feeUsdg', 'a cancel carries no fee');
    checkRange(body, context);
  });
export type CoverBody = z.infer<typeof coverRequest>;
