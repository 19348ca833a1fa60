/** What an address has: wallet, positions, open orders, strategies (wire.md, Reads). */
import { addr, flag, hash, int, nearly, num, unixSeconds, wei, words } from './formats.ts';
import { chainId, ticker } from './marks.ts';
import { array } from './collections.ts';
import { literal, nothing, nullable, object, oneOf, type Rule } from './shape.ts';

const amount = num({ min: 0 });

/** A rounded number and the exact amount that it shows. */
const shows =
  <N extends string, E extends string>(
    number: N,
    exact: E,
    scale: number,
  ): Rule<Record<N, number> & Record<E, string>> =>
  (row) =>
    nearly(row[number], Number(row[exact]) / scale)
      ? undefined
      : `${number} is not ${exact} in units`;

export const wallet = object(
  {
    address: addr,
    chainId,
    eth: amount,
    ethWei: wei,
    usdg: amount,
    usdgWei: wei,
    holdings: array(object({ ticker, sharesWei: wei })),
    tradeGasEth: amount,
    gasOk: flag,
  },
  {
    optional: { note: words },
    rules: [
      shows('eth', 'ethWei', 1e18),
      shows('usdg', 'usdgWei', 1e6),
      ({ holdings }) =>
        holdings.every(({ sharesWei }) => sharesWei !== '0') ? undefined : 'a holding of nothing',
    ],
  },
);

const position = object(
  {
    ticker,
    shares: amount,
    walletShares: amount,
    escrowedShares: amount,
    sharesWei: wei,
    walletSharesWei: wei,
    nav: amount,
    value: amount,
    costBasis: amount,
    avgEntry: nullable(amount),
    unrealizedPnl: num(),
    realizedPnl: num(),
  },
  {
    rules: [
      shows('shares', 'sharesWei', 1e18),
      shows('walletShares', 'walletSharesWei', 1e18),
      ({ shares, walletShares, escrowedShares }) =>
        Math.abs(shares - walletShares - escrowedShares) <= shares * 1e-6 + 1e-12
          ? undefined
          : 'shares are not those of the wallet and those in escrow',
      ({ sharesWei, walletSharesWei }) =>
        BigInt(walletSharesWei) <= BigInt(sharesWei) ? undefined : 'the wallet holds more than all',
      ({ shares, nav, value }) =>
        Math.abs(value - shares * nav) <= value * 1e-6 + 1e-6
          ? undefined
          : 'value is not shares at nav',
      ({ value, costBasis, unrealizedPnl }) =>
        Math.abs(unrealizedPnl - (value - costBasis)) <= (value + costBasis) * 1e-6 + 1e-6
          ? undefined
          : 'unrealizedPnl is not value less costBasis',
    ],
  },
);

export const positions = object({ address: addr, positions: array(position) });

const exitFields = { id: hash, escrow: addr, ticker: nullable(ticker), shares: amount };
const price = num({ min: 0 });
const ours = { deadline: unixSeconds };

const limitBuy = object({
  id: hash,
  escrow: addr,
  ticker: nullable(ticker),
  amountUsdg: amount,
  triggerNav: nullable(price),
  triggerBelow: flag,
  deadline: unixSeconds,
  kind: literal('limit_buy'),
});

/** The kind says which prices an exit has. */
const order = oneOf('kind', [
  [
    'stop_loss',
    object({ ...exitFields, stopNav: price, tpNav: nothing, kind: literal('stop_loss') }, { ours }),
  ],
  [
    'take_profit',
    object(
      { ...exitFields, stopNav: nothing, tpNav: price, kind: literal('take_profit') },
      { ours },
    ),
  ],
  [
    'bracket',
    object(
      { ...exitFields, stopNav: price, tpNav: price, kind: literal('bracket') },
      {
        ours,
        rules: [({ stopNav, tpNav }) => (stopNav < tpNav ? undefined : 'stopNav is not below')],
      },
    ),
  ],
  ['limit_buy', limitBuy],
]);

const indexed = { ours: { asOfBlock: int({ min: 0 }) } };

export const orders = object({ address: addr, orders: array(order) }, indexed);

const strategy = object(
  {
    id: words,
    ticker: nullable(ticker),
    buys: num({ min: 0 }),
    sold: num({ min: 0 }),
    spentUsd: amount,
    receivedUsd: amount,
  },
  { ours: { type: words } },
);

export const strategies = object({ address: addr, strategies: array(strategy) }, indexed);
