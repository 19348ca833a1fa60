/** Baskets, markets, totals, health and the root document (wire.md: Root document, Reads). */
import { addr, bps, count, flag, matching, num, unixMillis, url, words } from './formats.ts';
import { array, map } from './collections.ts';
import { literal, nullable, object, type Rule, type Shape } from './shape.ts';

export const health = object({ ok: literal(true) });

export const chainId = literal(4663);

/** interface.md section 4, aliases apart. */
const ROUTES = [
  'GET /health',
  'GET /v1/baskets',
  'GET /v1/baskets/{ticker}',
  'GET /v1/stats',
  'GET /v1/markets',
  'GET /v1/nav/{ticker}/history',
  'GET /v1/wallet/{address}',
  'GET /v1/positions/{address}',
  'GET /v1/orders/{address}',
  'GET /v1/strategies/{address}',
  'GET /v1/jobs',
  'GET /v1/leverage/sell-routes',
  'GET /v1/cover/weeks',
  'GET /v1/cover/book/{ticker}',
  'GET /v1/cover/positions/{account}',
  'GET /v1/agent/session',
  'POST /v1/tx/buy',
  'POST /v1/tx/sell',
  'POST /v1/tx/exit',
  'POST /v1/tx/limit',
  'POST /v1/tx/redeem',
  'POST /v1/tx/cancel',
  'POST /v1/agent/trade',
  'POST /v1/agent/cover',
  'POST /mcp',
];

const endpoint = matching(/^(GET|POST) \/\S*$/, 'METHOD /path', ['', '/v1/markets', 'FETCH /x']);

export const root = object(
  {
    name: words,
    version: literal('v1'),
    custody: literal('none'),
    chain: object({ name: words, chainId, rpc: url, explorer: url, usdg: addr, gas: words }),
    endpoints: map(endpoint, {
      open: (_, route) => !ROUTES.includes(String(route)),
      rules: [
        (named) => {
          const missing = ROUTES.filter((route) => !Object.values(named).includes(route));
          return missing.length === 0 ? undefined : `does not name ${missing.join(', ')}`;
        },
      ],
    }),
    onboarding: words,
    llms: literal('/llms.txt'),
    openapi: literal('/openapi.json'),
  },
  { ours: { url, docs: literal('/docs'), mcp: literal('/mcp') } },
);

export const ticker = matching(/^[A-Z0-9]+$/, 'a ticker', ['', 'a ticker']);
export const symbol = matching(/^\S+$/, 'a symbol', ['', 'a symbol']);
const price = num({ min: 0 });
const weight = num({ min: 0, max: 1 });

const stamp = { asOfMs: unixMillis, live: flag };

const marks = {
  ticker,
  nav: nullable(price),
  change24h: nullable(num({ min: -1 })),
  buyCostBps: nullable(num()),
  group: words,
  risk: nullable(words),
};

const summary = {
  ...marks,
  name: words,
  thesis: words,
  vault: addr,
  rebalance: words,
  mgmtFeeBps: bps,
  targetWeights: map(weight, {
    key: /^\S+$/,
    rules: [
      (weights) => {
        const total = Object.values(weights).reduce((sum, part) => sum + part, 0);
        return Math.abs(total - 1) < 1e-6 ? undefined : `weights sum to ${total}`;
      },
    ],
  }),
  riskNote: nullable(words),
};

type Fields = Record<string, Shape<unknown>>;

/** What `fields` keeps of a row: the named keys and no other. */
function kept(fields: Fields, names: string | null): Fields {
  if (names === null) return fields;
  const wanted = names.split(',');
  return Object.fromEntries(Object.entries(fields).filter(([name]) => wanted.includes(name)));
}

const unique =
  (key: string): Rule<Record<string, unknown>[]> =>
  (rows) => {
    const values = rows.map((row) => row[key]).filter((value) => value !== undefined);
    return new Set(values).size === values.length ? undefined : `${key} occurs twice`;
  };

/** `/v1/baskets` and its alias. */
export function baskets(query: URLSearchParams) {
  const row = object(kept(summary, query.get('fields')), {
    absent: query.has('fields') ? Object.keys(summary) : [],
  });
  return object({ indexes: array(row, [unique('ticker'), unique('vault')]), ...stamp });
}

const constituent = object({
  symbol,
  address: nullable(addr),
  targetWeight: weight,
  price: nullable(price),
});

export const basket = object(
  { ...summary, constituents: array(constituent) },
  {
    ours: stamp,
    rules: [
      ({ constituents, targetWeights }) =>
        constituents.length === Object.keys(targetWeights).length &&
        constituents.every(({ symbol: of, targetWeight }) => targetWeights[of] === targetWeight)
          ? undefined
          : 'constituents and targetWeights differ',
    ],
  },
);

export function markets(query: URLSearchParams) {
  const row = object(kept(marks, query.get('fields')), {
    absent: query.has('fields') ? Object.keys(marks) : [],
  });
  const rows = array(row, [unique('ticker')]);
  // Any token may be without a price, so any entry may be missing.
  const prices = map(price, { key: /^\S+$/, open: () => true });
  return query.get('prices') === '0'
    ? object({ markets: rows, ...stamp }, { absent: ['prices'] })
    : object({ markets: rows, prices, ...stamp });
}

/** What `/v1/markets?prices=0&fields=ticker,nav,buyCostBps,risk` answers, for whoever picks a basket. */
export const choices = object({
  markets: array(
    object({ ticker, nav: marks.nav, buyCostBps: marks.buyCostBps, risk: marks.risk }),
  ),
  ...stamp,
});

export const stats = object({
  indexes: count,
  volumeAllTime: num({ min: 0 }),
  tvl: num({ min: 0 }),
  ...stamp,
});
