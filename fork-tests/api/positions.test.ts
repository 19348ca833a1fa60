/** Positions, strategies and totals against what the receipts and the chain say themselves. */
import { rmSync } from 'node:fs';
import { type Address, erc20Abi, zeroAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { SHARE, USD } from '../../contracts-abi/constants.ts';
import { useFork } from '../harness/fork.ts';
import { Story, TICKER } from './story.ts';
import {
  type Answer,
  type ApiUnderTest,
  expectError,
  expectOk,
  launchApi,
  useApi,
} from './use-api.ts';

const fork = useFork();
const api = useApi(fork);
const story = new Story(fork);

type Position = {
  ticker: string;
  shares: number;
  walletShares: number;
  escrowedShares: number;
  sharesWei: string;
  walletSharesWei: string;
  nav: number;
  value: number;
  costBasis: number;
  avgEntry: number | null;
  unrealizedPnl: number;
  realizedPnl: number;
};

const alice = () => story.address('alice');
const bob = () => story.address('bob');
const path = (owner: Address) => `/v1/positions/${owner}`;
const rowOf = ({ body }: Answer): Position | undefined =>
  (body.positions as Position[] | undefined)?.find(({ ticker }) => ticker === TICKER);

/** To the eight digits that a response keeps. */
const near = (value: number, digits = 8) => {
  const tolerance = Math.abs(value) * 10 ** (1 - digits) + 2e-6;
  return {
    asymmetricMatch: (other: unknown) =>
      typeof other === 'number' && Math.abs(other - value) <= tolerance,
    toString: () => `near ${value}`,
  };
};
const dollars = (usdg: bigint) => Number(usdg) / 1e6;

/** Until the index has read what was mined so far. */
async function indexed(): Promise<void> {
  const head = Number(await fork.client.getBlockNumber({ cacheTime: 0 }));
  await api.until(`/v1/strategies/${alice()}`, ({ body }) => Number(body.asOfBlock) >= head);
}

/**
 * The position in the very next read: whatever the index has not read yet, cost and realised profit (USDG base units,
 * within the rounding of two sales) are as told.
 */
async function positionOf(
  owner: Address,
  costs: bigint,
  realized = 0n,
  from: Pick<ApiUnderTest, 'get'> = api,
): Promise<Position> {
  const answer = await from.get(path(owner));
  expectOk(answer);
  const row = rowOf(answer);
  if (row === undefined) throw new Error(`no ${TICKER} in ${answer.text}`);
  const off = (told: number, exact: number) =>
    Math.max(Math.abs(told - exact) - Math.abs(exact) * 1e-7 - 3e-6, 0);
  expect({ cost: off(row.costBasis, dollars(costs)), text: answer.text }).toMatchObject({
    cost: 0,
  });
  expect({ profit: off(row.realizedPnl, dollars(realized)), text: answer.text }).toMatchObject({
    profit: 0,
  });
  const held = await fork.client.readContract({
    address: story.vault,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [owner],
  });
  expect(row.walletSharesWei).toBe(held.toString());
  expect(row.value).toEqual(near(row.shares * row.nav, 7));
  expect(row.unrealizedPnl).toEqual(near(row.value - row.costBasis, 4));
  return row;
}

describe('GET /v1/positions', () => {
  test('follows buys, sales, escrow and fills at average cost, fees counted', async () => {
    expect((await api.get(path(alice()))).body).toEqual({ address: alice(), positions: [] });
    const first = await story.buy('alice', 4n * SHARE);
    await fork.pushPrice('LLY', 1.1);
    const second = await story.buy('alice', 2n * SHARE);
    const paid = first + second;
    const bought = await positionOf(alice(), paid);
    expect(bought).toMatchObject({
      shares: 6,
      walletShares: 6,
      escrowedShares: 0,
      sharesWei: (6n * SHARE).toString(),
      avgEntry: near(dollars(paid) / 6),
      realizedPnl: 0,
    });

    // Half of it into an order: still the owner's, at the same cost.
    const id = await story.exit('alice', 3n * SHARE, true);
    expect(await positionOf(alice(), paid)).toMatchObject({
      shares: 6,
      walletShares: 3,
      escrowedShares: 3,
      sharesWei: (6n * SHARE).toString(),
      walletSharesWei: (3n * SHARE).toString(),
      realizedPnl: 0,
    });

    // A direct sale of a third of what is left in the wallet, then the order is filled.
    const proceeds = await story.sell('alice', SHARE);
    const filled = await story.fill(fork.deployment.exitEscrow, id, { shares: 3n * SHARE });
    const received = proceeds + filled.net;
    const left = await positionOf(alice(), paid / 3n, received - (paid * 2n) / 3n);
    expect(left).toMatchObject({
      shares: 2,
      escrowedShares: 0,
      avgEntry: near(dollars(paid) / 6),
    });

    // Everything sold: the profit stays, and the books are even to the base unit.
    const rest = await story.sell('alice', 2n * SHARE);
    const closed = await positionOf(alice(), 0n, received + rest - paid);
    expect(closed).toMatchObject({ shares: 0, sharesWei: '0', avgEntry: null, value: 0 });
    // Rounding may move a base unit from one sale to another, and makes and loses none.
    expect(closed.realizedPnl).toEqual(near(dollars(received + rest - paid)));

    await indexed();
    const strategies = await api.get(`/v1/strategies/${alice()}`);
    expect(strategies.body).toEqual({
      address: alice(),
      strategies: [
        {
          id,
          ticker: TICKER,
          type: 'exit',
          buys: 0,
          sold: 1,
          spentUsd: 0,
          receivedUsd: near(dollars(filled.net)),
        },
      ],
      asOfBlock: expect.any(Number),
    });
  });

  test('moves cost with transfers, enters arrivals at their NAV, and realises nothing by either', async () => {
    const paid = await story.buy('alice', 4n * SHARE);
    // A block after the trade, and a minute that is over since.
    await fork.warp(61);
    await fork.warp(61);
    await story.transfer('alice', bob(), SHARE);
    await story.redeem('alice', SHARE);
    // Burnt shares are nobody's.
    const burnt = { address: zeroAddress, positions: [] };
    expect((await api.get(path(zeroAddress))).body).toEqual(burnt);
    // The NAV of a minute is known once its blocks are read; the one of now is the marks', which are read apart.
    await indexed();
    await api.marksSettled();
    const sender = await positionOf(alice(), paid / 2n);
    expect(sender).toMatchObject({ shares: 2, realizedPnl: 0 });
    const { nav } = sender;
    // Nothing has traded since: the NAV of the minute before is the NAV now, less two minutes of the management fee.
    const receiver = await positionOf(bob(), BigInt(Math.round(nav * 1e6)));
    expect(receiver).toMatchObject({ shares: 1, realizedPnl: 0 });
    expect(Math.abs(receiver.unrealizedPnl)).toBeLessThan(nav * 1e-5);
    // Someone else pays: the shares cost what was paid for them.
    const gift = await story.buy('alice', SHARE, story.address('carol'));
    expect(await positionOf(story.address('carol'), gift)).toMatchObject({ shares: 1 });
  });

  test("counts orders, schedules and a session account's trades, and totals them", async () => {
    const before = await api.get('/v1/stats');
    const { limitEscrow, scheduleEscrow } = fork.deployment;
    const limit = await story.limit('alice', 200n);
    const filled = await story.fill(limitEscrow, limit, { dollars: 200n });
    const schedule = await story.schedule('alice', 300n, 3);
    // From its creation: its owner may want to cancel it before anybody fills it.
    const created = await api.until(`/v1/strategies/${alice()}`, ({ text }) =>
      text.includes(schedule),
    );
    expect((created.body.strategies as unknown as unknown[])[1]).toEqual({
      id: schedule,
      ticker: TICKER,
      type: 'schedule',
      buys: 0,
      sold: 0,
      spentUsd: 0,
      receivedUsd: 0,
    });
    const cancel = { orderId: schedule, address: alice() };
    expect((await api.post('/v1/tx/cancel', cancel)).body.simulation).toMatchObject({ ok: true });
    const slots = [await story.fill(scheduleEscrow, schedule, { dollars: 100n })];
    await fork.warp(3_600);
    slots.push(await story.fill(scheduleEscrow, schedule, { dollars: 100n }));
    const spent = [filled, ...slots].map(
      ({ gross, protocolFee, executorFee }) => gross + protocolFee + executorFee,
    );
    const total = spent.reduce((sum, usdg) => sum + usdg, 0n);
    const held = await positionOf(alice(), total);
    expect(held.sharesWei).toBe(
      [filled, ...slots].reduce((sum, { shares }) => sum + shares, 0n).toString(),
    );
    const [ofLimit = 0n, ...ofSlots] = spent;
    const { strategies } = (
      await api.until(`/v1/strategies/${alice()}`, ({ text }) => text.includes('"buys":2'))
    ).body;
    const row = { ticker: TICKER, sold: 0, receivedUsd: 0 };
    expect(strategies).toEqual([
      { ...row, id: limit, type: 'limit', buys: 1, spentUsd: near(dollars(ofLimit)) },
      {
        ...row,
        id: schedule,
        type: 'schedule',
        buys: 2,
        spentUsd: near(dollars(ofSlots.reduce((sum, usdg) => sum + usdg, 0n))),
      },
    ]);

    const agent = await story.agent('bob');
    const session = await story.sessionBuy(agent, 50n, USD / 4n);
    const account = await positionOf(agent.account, session.paid);
    expect(account.sharesWei).toBe(session.shares.toString());
    expect((await api.get(path(bob()))).body.positions).toEqual([]);

    const gross = [filled, ...slots].reduce((sum, each) => sum + each.gross, 0n);
    // The session's own gross: what it spent less both fees (0.20% and the network's).
    const sessionGross = (dollars(session.paid) - 0.25) / 1.002;
    const volume = dollars(gross) + sessionGross;
    // Positions are read past the index where it is behind; volumes are the index's own.
    const stats = await api.until(
      '/v1/stats',
      ({ body }) =>
        Math.abs(Number(body.volumeAllTime) - Number(before.body.volumeAllTime) - volume) < 1e-5,
    );
    expect(stats.headers.get('cache-control')).toBe('public, max-age=1');
    expect(stats.body).toMatchObject({ indexes: 15, live: true });
    const added = Number(stats.body.tvl) - Number(before.body.tvl);
    expect(added).toBeGreaterThan(0);
  });

  test('are exact in the block of the trade, though the index never gets there', async () => {
    const slow = await launchApi(fork.url, fork.deployment, { INDEX_INTERVAL_MS: '60000' });
    try {
      await slow.settled();
      let paid = 0n;
      let received = 0n;
      for (let round = 1n; round <= 3n; round += 1n) {
        paid += await story.buy('alice', 2n * SHARE);
        const bought = await positionOf(alice(), paid, received, slow);
        expect(bought.sharesWei).toBe((2n * SHARE).toString());
        received += await story.sell('alice', 2n * SHARE);
        received -= paid;
        paid = 0n;
        const sold = await positionOf(alice(), 0n, received, slow);
        expect(sold.sharesWei).toBe('0');
      }
      // What they cost is a NAV that only the index can tell: no answer rather than another cost.
      await story.buy('alice', SHARE);
      await fork.warp(120);
      await story.transfer('alice', bob(), SHARE);
      const late = await slow.get(path(bob()));
      expectError(late, 502, 'UPSTREAM', /the index has not read the price/);
      expect(late.body.retryable).toBe(true);
    } finally {
      await slow.stop();
      rmSync(slow.folder, { recursive: true, force: true });
    }
  });
});
