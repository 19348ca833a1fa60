/** What anyone may execute, and the routes that sell shares taken in kind (wire.md, Reads and Cover). */
import { addr, bps, callData, hash, int, isoTime, matching, wei, words } from './formats.ts';
import { symbol, ticker } from './marks.ts';
import { array } from './collections.ts';
import { type Infer, literal, nullable, object, type Rule } from './shape.ts';

export const tx = object({ to: addr, data: callData, value: wei });

const toContract: Rule<{ tx: { to: string }; contract: string }> = (job) =>
  job.tx.to.toLowerCase() === job.contract.toLowerCase() ? undefined : 'tx.to is not contract';

const job = object(
  {
    type: literal('sell', 'limit', 'schedule'),
    contract: addr,
    id: hash,
    ticker: nullable(ticker),
    feeUsdg: wei,
    slippageBps: bps,
    tx,
    armData: callData,
  },
  {
    optional: { vault: addr },
    // Of a schedule: which of its buys is due.
    ours: { slot: nullable(int({ min: 0 })) },
    rules: [
      toContract,
      ({ tx: { value } }) => (value === '0' ? undefined : 'a job takes no ETH'),
      // Nobody executes another order than the one that was read.
      ({ id, tx: { data } }) => (data.includes(id.slice(2)) ? undefined : 'tx is of another id'),
      ({ id, armData }) => (armData.includes(id.slice(2)) ? undefined : 'armData is of another id'),
    ],
  },
);

const skipped = array(object({ type: words, id: words, reason: words }));

export const jobs = object({ asOf: isoTime, jobs: array(job), skipped, note: words });

/** Ours: named in no document. */
export const jobsChanges = object({
  asOf: isoTime,
  tag: matching(/^[\w-]{22}\.[\w-]{8}\.\d{1,12}$/, 'a tag', ['', 'a tag', 'a.b.c']),
});

const payout = object(
  {
    type: literal('snapshot', 'settle', 'payout', 'void'),
    contract: addr,
    /** Decimal, as the ids of offers and positions are. */
    id: wei,
    ticker,
    vault: addr,
    week: int({ min: 0, max: 2 ** 32 - 1 }),
    feeUsdg: wei,
    tx,
  },
  {
    ours: { positions: array(wei) },
    rules: [toContract, ({ tx: { value } }) => (value === '0' ? undefined : 'takes no ETH')],
  },
);

export const payouts = object({ asOf: isoTime, payouts: array(payout), skipped, note: words });

const swapCall = object({
  router: addr,
  tokenIn: addr,
  tokenOut: addr,
  amountIn: wei,
  callData,
});

export const sellRoutes = object(
  {
    vault: addr,
    shares: wei,
    zapper: addr,
    router: addr,
    swaps: array(swapCall),
    legs: array(object({ symbol, token: addr, amountIn: wei }, { ours: { expectedUsdg: wei } })),
    unrouted: array(addr),
    note: words,
  },
  {
    ours: { grossUsdg: wei, asOfBlock: int({ min: 0 }) },
    rules: [
      ({ swaps, legs }) =>
        swaps.every(({ tokenIn }) => legs.some(({ token }) => token === tokenIn))
          ? undefined
          : 'a swap of what is no leg',
      ({ swaps, unrouted }) =>
        swaps.some(({ tokenIn }) => unrouted.includes(tokenIn))
          ? 'a swap of what has no route'
          : undefined,
      ({ swaps, legs }) =>
        swaps.every(({ tokenIn, amountIn }) =>
          legs.some((leg) => leg.token === tokenIn && BigInt(amountIn) <= BigInt(leg.amountIn)),
        )
          ? undefined
          : 'a swap of more than its leg',
    ],
  },
);
export type Job = Infer<typeof job>;
