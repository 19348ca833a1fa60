/** GET /v1/nav/{ticker}/history, and the change of a day that the marks take from the same history. */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { basketVaultAbi, navOracleAbi } from '../../contracts-abi/generated/index.ts';
import { startFork, type Fork } from '../harness/fork.ts';
import { type ApiUnderTest, expectError, expectOk, launchApi } from './use-api.ts';

let fork: Fork;
let api: ApiUnderTest & { folder: string };
/** A moment a day before the fork's head, and what the oracle said then. */
let dayAgo: { time: number; nav: bigint };

const TICKER = 'CRYP';
const history = (query = '', ticker = TICKER) => api.get(`/v1/nav/${ticker}/history${query}`);

async function mineAt(time: number): Promise<void> {
  await fork.client.setNextBlockTimestamp({ timestamp: BigInt(time) });
  await fork.client.mine({ blocks: 1 });
}

const spotNav = () =>
  fork.client.readContract({
    address: fork.deployment.oracle,
    abi: navOracleAbi,
    functionName: 'spotNav',
    args: [fork.vault(TICKER)],
  });

const genesisAt = () =>
  fork.client.readContract({
    address: fork.vault(TICKER),
    abi: basketVaultAbi,
    functionName: 'genesisAt',
  });

// One chain and one api for the file: nothing here changes either.
beforeAll(async () => {
  fork = await startFork();
  const time = Math.ceil(((await fork.now()) + 1) / 60) * 60;
  await mineAt(time);
  dayAgo = { time, nav: await spotNav() };
  await fork.pushPrice('WETH', 1.05);
  await mineAt(time + 3_600);
  await fork.pushPrice('WETH', 1.02);
  await mineAt(time + 86_400);
  api = await launchApi(fork.url, fork.deployment);
  await api.settled();
});
afterAll(async () => {
  await api?.stop();
  if (api !== undefined) rmSync(api.folder, { recursive: true, force: true });
  await fork?.anvil.stop();
});

type Candle = { t: number; o: number; h: number; l: number; c: number };

describe('GET /v1/nav/{ticker}/history', () => {
  test('answers candles, closes and a summary of the same history', async () => {
    const ohlc = await history('?days=2&res=1h');
    expectOk(ohlc);
    expect(ohlc.headers.get('content-type')).toContain('application/json');
    const { ticker, resolution, candles, ...rest } = ohlc.body as unknown as {
      ticker: string;
      resolution: string;
      candles: Candle[];
    };
    expect({ ticker, resolution, rest }).toEqual({ ticker: TICKER, resolution: '1h', rest: {} });
    expect(candles).toHaveLength(48);
    candles.forEach((candle, index) => {
      expect(Object.keys(candle)).toEqual(['t', 'o', 'h', 'l', 'c']);
      expect(candle.t).toBe((candles[0]?.t ?? 0) + index * 3_600);
      expect(candle.l).toBeLessThanOrEqual(Math.min(candle.o, candle.c));
      expect(candle.h).toBeGreaterThanOrEqual(Math.max(candle.o, candle.c));
    });
    // The last one runs: it closes where the marks stand.
    const last = candles.at(-1);
    expect(last?.t).toBe(dayAgo.time + 86_400 - ((dayAgo.time + 86_400) % 3_600));
    const markets = await api.get('/v1/markets?prices=0');
    const rows = markets.body.markets as unknown as { ticker: string; nav: number }[];
    expect(last?.c).toBe(rows.find((row) => row.ticker === TICKER)?.nav);

    const close = await history('?days=2&res=1h&format=close');
    expectOk(close);
    expect(close.body).toEqual({ ticker, resolution, close: candles.map(({ t, c }) => [t, c]) });

    const summary = await history('?days=2&res=1h&format=summary');
    expectOk(summary);
    const high = Math.max(...candles.map(({ h }) => h));
    const low = Math.min(...candles.map(({ l }) => l));
    const open = candles[0]?.o ?? 0;
    expect(summary.body).toEqual({
      ticker,
      resolution,
      days: 2,
      summary: {
        candles: 48,
        from: candles[0]?.t,
        to: last?.t,
        open,
        last: last?.c,
        high,
        low,
        change: expect.closeTo((last?.c ?? 0) / open - 1, 6),
        maxDrawdown: expect.any(Number),
        volatility: expect.any(Number),
      },
    });
    // The chain's own market moves by some percent a day.
    const { volatility, maxDrawdown } = (
      summary.body as unknown as { summary: Record<string, number> }
    ).summary;
    expect(volatility).toBeGreaterThan(0.05);
    expect(maxDrawdown).toBeGreaterThan(0);
    expect(maxDrawdown).toBeLessThan(0.5);
  });

  test.for([
    ['', '1h', 7],
    ['?days=1', '1m', 1],
    ['?days=2', '1h', 2],
    ['?days=30', '1h', 30],
    ['?days=31', '1d', 31],
    ['?days=365', '1d', 365],
    ['?days=365&res=1h', '1h', 365],
    ['?days=6&res=1m', '1m', 6],
  ] as const)('%s is at resolution %s, from genesis on', async ([query, resolution, days]) => {
    const answer = await history(query);
    expectOk(answer);
    expect(answer.body.resolution).toBe(resolution);
    const candles = answer.body.candles as unknown as Candle[];
    const span = { '1m': 60, '1h': 3_600, '1d': 86_400 }[resolution];
    expect(candles.length).toBeGreaterThan(1);
    // The part of a span that has begun counts, at both ends.
    const age = (await fork.now()) - (await genesisAt());
    const most = Math.ceil(Math.min(days * 86_400, age) / span) + 1;
    expect(candles.length).toBeLessThanOrEqual(most);
    expect(candles.length).toBeGreaterThanOrEqual(most - 2);
    expect(candles.every(({ t }, index) => t === (candles[0]?.t ?? 0) + index * span)).toBe(true);
  });

  test('names no basket in any other way than by its ticker, in any case of letters', async () => {
    expectError(await history('', 'NOPE'), 404, 'UNKNOWN_BASKET');
    expectOk(await history('?format=summary', TICKER.toLowerCase()));
  });

  test.for([
    ['?days=0', /^days: expected a whole number of days, 1 to 365$/],
    ['?days=366', /^days: /],
    ['?days=1.5', /^days: /],
    ['?days=-1', /^days: /],
    ['?days=', /^days: /],
    ['?days=1&days=2', /^days: /],
    ['?res=5m', /^res: expected 1m, 1h or 1d$/],
    ['?format=csv', /^format: expected ohlc, close or summary$/],
    [
      '?res=1m',
      /^7 days of 1m are 10080 candles, more than the 10000.* at most 6 days, or for res=1h$/,
    ],
    ['?res=1m&days=365&format=summary', /525600 candles/],
  ] as const)('%s is refused with what would be right', async ([query, message]) => {
    expectError(await history(query), 400, 'BAD_REQUEST', message);
  });

  test('is cached for seconds, told apart by its ETag, and indented when asked', async () => {
    const first = await history('?format=summary');
    expect(first.headers.get('cache-control')).toBe('public, max-age=5');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).not.toBe('');
    const again = await api.get(`/v1/nav/${TICKER}/history?format=summary`, {
      'if-none-match': etag,
    });
    expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' });
    const pretty = await history('?format=summary&pretty=1');
    expect(pretty.text).toContain('\n  "ticker"');
    expect(pretty.body).toEqual(first.body);
  });

  test('is the same from an empty store', async () => {
    const paths = ['MAG7', TICKER, 'CORE'].flatMap((ticker) =>
      ['?days=365', '?days=3&res=1h', '?days=3&res=1m&format=close'].map(
        (query) => `/v1/nav/${ticker}/history${query}`,
      ),
    );
    const before = await Promise.all(paths.map((path) => api.get(path)));
    const fresh = await launchApi(fork.url, fork.deployment, { INDEX_MAX_RANGE: '777' });
    await fresh.settled();
    for (const [index, path] of paths.entries()) {
      expectOk(before[index] ?? (await api.get(path)));
      expect((await fresh.get(path)).text).toBe(before[index]?.text);
    }
    await fresh.stop();
    rmSync(fresh.folder, { recursive: true, force: true });
  });
});

test('the change of a day is against the NAV of 24 hours ago', async () => {
  const answer = await api.until('/v1/markets?prices=0', ({ body }) =>
    (body.markets as unknown as { change24h: number | null }[]).some(
      (row) => row.change24h !== null,
    ),
  );
  const rows = answer.body.markets as unknown as { ticker: string; change24h: number }[];
  const now = await spotNav();
  const change = Number(((now - dayAgo.nav) * 10n ** 12n) / dayAgo.nav) / 1e12;
  expect(rows.find(({ ticker }) => ticker === TICKER)?.change24h).toBe(
    Number(change.toPrecision(8)),
  );
  // A basket without a price has no change; every other one here is older than a day.
  expect(rows.filter(({ change24h }) => change24h === null).length).toBeLessThanOrEqual(1);
});
