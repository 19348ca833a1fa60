/** The fifteen baskets of the local chain. Weights are in basis points of the opening NAV and sum to 10,000. */

export type BasketSeed = {
  ticker: string;
  name: string;
  thesis: string;
  group: string;
  /** "" for ordinary baskets. */
  risk: '' | 'elevated' | 'high';
  riskNote: string;
  managementFeeBps: number;
  /** Dollars per share at the start. */
  openingNav: number;
  /** Symbol to weight in basis points. */
  weights: Readonly<Record<string, number>>;
  /** Set up for automated orders and agent trades. */
  ordersEnabled: boolean;
  /** Has a cover market: its reference pools remember enough for a snapshot. */
  cover: boolean;
};

export const REBALANCE = 'none: fixed units per share, weights drift with prices';

const CRYPTO_NOTE =
  'Moves two to three times as much as the broad market in either direction; size it accordingly.';

export const BASKETS: readonly BasketSeed[] = [
  basket('MAG7', 'Magnificent Seven', 'Large Cap', 55, 100, {
    thesis:
      'The seven companies that carry most of the S&P 500, held in one token at near-equal weight.',
    weights: {
      NVDA: 1500,
      AAPL: 1500,
      MSFT: 1500,
      AMZN: 1400,
      GOOGL: 1400,
      META: 1400,
      TSLA: 1300,
    },
    cover: true,
  }),
  basket('AIX', 'AI Infrastructure', 'Technology', 75, 80, {
    thesis: 'Chips, clouds and software that every large model is trained and served on.',
    weights: { NVDA: 3000, AMD: 1500, AVGO: 1800, MSFT: 1700, ORCL: 1200, PLTR: 800 },
  }),
  basket('CHIP', 'Semiconductors', 'Technology', 65, 50, {
    thesis: 'Designers and makers of the processors behind data centres, phones and cars.',
    weights: { NVDA: 3500, AVGO: 2500, AMD: 2500, INTC: 1500 },
  }),
  basket('CLOUD', 'Cloud and Security', 'Technology', 65, 60, {
    thesis: 'Recurring revenue from renting computers and keeping intruders out of them.',
    weights: { MSFT: 3000, AMZN: 2500, GOOGL: 2000, ORCL: 1500, CRWD: 1000 },
  }),
  basket('ADS', 'Digital Advertising', 'Communication', 60, 40, {
    thesis: 'Three companies that take more than half of all advertising money spent online.',
    weights: { GOOGL: 4000, META: 4000, AMZN: 2000 },
    cover: true,
  }),
  basket('CORE', 'US Core', 'Broad Market', 50, 100, {
    thesis:
      'Five hundred companies with a tilt to the Nasdaq, for the part of a portfolio that is left alone.',
    weights: { SPY: 7000, QQQ: 3000 },
    cover: true,
  }),
  basket('SIXTY', 'Sixty Forty', 'Multi Asset', 50, 100, {
    thesis:
      'Sixty percent stocks, thirty percent long treasuries, ten percent gold: the classic balance.',
    weights: { SPY: 6000, TLT: 3000, XAU: 1000 },
  }),
  basket('HARD', 'Hard Assets', 'Real Assets', 70, 75, {
    thesis:
      'Gold, bitcoin and oil: things that nobody can print, as a hedge against money that can be.',
    weights: { XAU: 5000, CBTC: 2500, XOM: 2500 },
    risk: 'elevated',
    riskNote: 'A quarter is bitcoin, which can halve within months.',
  }),
  basket('CRYP', 'Crypto Equities', 'Digital Assets', 95, 25, {
    thesis:
      'Exchanges and treasuries that rise and fall with digital assets, plus the two largest of these.',
    weights: { COIN: 2500, HOOD: 2000, MSTR: 1500, CBTC: 2500, WETH: 1500 },
    risk: 'high',
    riskNote: CRYPTO_NOTE,
  }),
  basket('RETAIL', 'Retail Favourites', 'Thematic', 80, 20, {
    thesis: 'What individual investors hold most, by number of accounts.',
    weights: { TSLA: 2500, NVDA: 2000, PLTR: 2000, HOOD: 1500, AAPL: 1000, AMD: 1000 },
    risk: 'elevated',
    riskNote: 'Crowded names: they fall together when sentiment turns.',
  }),
  basket('HEALTH', 'Health Care', 'Defensive', 60, 50, {
    thesis:
      'The leading drug maker and the largest insurer: demand that does not wait for the cycle.',
    weights: { LLY: 6000, UNH: 4000 },
  }),
  basket('FIN', 'Money and Markets', 'Financials', 60, 40, {
    thesis: 'A bank, a broker and an exchange that earn on every trade and every loan.',
    weights: { JPM: 5500, HOOD: 2500, COIN: 2000 },
    risk: 'elevated',
    riskNote: 'Almost half depends on trading volumes in digital assets.',
  }),
  basket('TEN', 'Top Ten', 'Large Cap', 55, 120, {
    thesis:
      'Ten leaders across sectors at equal weight, so that no single name decides the result.',
    weights: {
      NVDA: 1000,
      AAPL: 1000,
      MSFT: 1000,
      AMZN: 1000,
      GOOGL: 1000,
      META: 1000,
      NFLX: 1000,
      JPM: 1000,
      LLY: 1000,
      XOM: 1000,
    },
  }),
  // No 10-minute average exists for KLAR: the basket trades, but not by orders or agents.
  basket('FRESH', 'Fresh Listings', 'Thematic', 95, 10, {
    thesis: 'Recent listings beside the exchanges that listed them.',
    weights: { KLAR: 5000, HOOD: 3000, COIN: 2000 },
    risk: 'high',
    riskNote:
      'Half is a newly listed share with a thin market; there are no stop orders on this basket.',
    ordersEnabled: false,
  }),
  // SPCX trades nowhere: the basket can be redeemed in kind, but not bought or sold for USDG.
  basket('PREIPO', 'Private Leaders', 'Thematic', 95, 30, {
    thesis: 'Units in a private company beside the listed ones closest to it.',
    weights: { SPCX: 5000, TSLA: 3000, PLTR: 2000 },
    risk: 'high',
    riskNote: 'Half has no market at all: shares can only be redeemed in kind.',
    ordersEnabled: false,
  }),
];

/** Symbols of the tokens whose reference pools the cover market takes snapshots of. */
export function coverSymbols(): ReadonlySet<string> {
  return new Set(
    BASKETS.filter(({ cover }) => cover).flatMap(({ weights }) => Object.keys(weights)),
  );
}

function basket(
  ticker: string,
  name: string,
  group: string,
  managementFeeBps: number,
  openingNav: number,
  rest: Pick<BasketSeed, 'thesis' | 'weights'> &
    Partial<Pick<BasketSeed, 'risk' | 'riskNote' | 'ordersEnabled' | 'cover'>>,
): BasketSeed {
  return {
    ticker,
    name,
    group,
    managementFeeBps,
    openingNav,
    risk: '',
    riskNote: '',
    ordersEnabled: true,
    cover: false,
    ...rest,
  };
}
