/** Unsigned transactions of a plain wallet (wire.md, Plans). */
import { addr, callData, count, flag, int, num, unixSeconds, wei, words } from './formats.ts';
import { tx } from './jobs.ts';
import { symbol } from './marks.ts';
import { array } from './collections.ts';
import {
  type Infer,
  literal,
  nothing,
  nullable,
  object,
  oneOf,
  ruled,
  type Shape,
} from './shape.ts';

/** Dry run of approval and tx together (ours). */
const afterApproval = object(
  { ok: nullable(flag) },
  { optional: { gas: wei, reason: words, skipped: words } },
);
const ours = { afterApproval };

/** Exactly one of three forms. */
const simulation = oneOf('ok', [
  [
    true,
    object({ ok: literal(true) }, { optional: { gas: wei }, ours, absent: ['reason', 'skipped'] }),
  ],
  [false, object({ ok: literal(false), reason: words }, { ours, absent: ['gas', 'skipped'] })],
  [null, object({ ok: nothing, skipped: words }, { ours, absent: ['gas', 'reason'] })],
]);

/** What the trade pays to the protocol and to its executor (ours). */
const fees = object({ mintUsdg: wei, sellUsdg: wei, executorUsdg: wei });

const approval = nullable(object({ to: addr, data: callData }));

/** Present in every plan. */
const base = object({ approval, tx }, { optional: { simulation, warnings: array(words) } });
export type Plan = Infer<typeof base>;

type Fields = Record<string, Shape<unknown>>;

function plan<R extends Fields>(adds: R, extras: Fields = {}) {
  return ruled(
    object(
      { approval, tx, ...adds },
      {
        optional: { simulation, warnings: array(words) },
        ours: { asOfBlock: int({ min: 0 }), expiresAt: nullable(unixSeconds), fees, ...extras },
      },
    ),
    (built) => {
      const { approval: first, simulation: run } = built as Plan;
      return first === null || run === undefined || run.ok === null
        ? undefined
        : 'simulated although an approval must be mined first';
    },
  );
}

export const buy = ruled(
  plan({ amountInUsdg: wei, minShares: wei, estShares: num({ min: 0 }), legs: count }),
  ({ minShares, estShares }) =>
    Number(minShares) / 1e18 <= estShares * (1 + 2e-7) ? undefined : 'minShares above estShares',
);

export const sell = ruled(
  plan({ sharesWei: wei, expectedUsdg: wei, minOutUsdg: wei, legs: count }),
  ({ minOutUsdg, expectedUsdg }) =>
    BigInt(minOutUsdg) <= BigInt(expectedUsdg) ? undefined : 'minOutUsdg above expectedUsdg',
);

const deadline = { deadline: unixSeconds };
export const exit = plan({ kind: literal('stop_loss', 'take_profit', 'bracket') }, deadline);
export const limit = plan({ note: words }, deadline);
export const redeem = plan(
  { mode: literal('inkind') },
  { receives: array(object({ symbol, token: addr, amountWei: wei })) },
);
export const cancel = plan({});
/** Ours: a plan and what it prefunds. */
export const schedule = plan(
  {},
  {
    ...deadline,
    kind: literal('subscribe', 'twap'),
    totalUsdg: wei,
    everySeconds: int({ min: 1 }),
    note: words,
  },
);
