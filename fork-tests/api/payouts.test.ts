/** What the cover market waits for is announced while it is due, runs from its own tx by anybody, and pays its fee. */
import { type Hex, numberToHex } from 'viem';
import { beforeEach, describe, expect, test } from 'vitest';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { rpc } from '../anvil.ts';
import { write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { takeCover } from '../keeper/chain-orders.ts';
import { balanceOf, sendCall } from './send-plan.ts';
import { expectError, launchApi, useApi } from './use-api.ts';

const fork = useFork();
const api = useApi(fork);

type PayoutRow = {
  type: string;
  contract: Hex;
  id: string;
  ticker: string;
  vault: Hex;
  week: number;
  feeUsdg: string;
  positions: string[];
  tx: { to: Hex; data: Hex; value: string };
};
type Skipped = { type: string; id: string; reason: string };

const HOUR = 3_600;
/** Short of a moment by so much, since the chain's time goes on while a test waits; the second itself is payouts-due's. */
const MINUTE = 60;
const market = () => ({ address: fork.deployment.coverMarket, abi: coverMarketAbi }) as const;
const bob = () => fork.accounts.bob.account.address;

let week = 0;
let close = 0;
let settle = 0;

beforeEach(async () => {
  const [, current] = await fork.client.readContract({ ...market(), functionName: 'currentWeek' });
  week = current;
  const times = await fork.client.readContract({
    ...market(),
    functionName: 'weekOf',
    args: [week],
  });
  close = times.close;
  settle = times.settle;
});

/** What is announced once as much is; with `executor`. */
async function announced(
  holds: (payouts: PayoutRow[], skipped: Skipped[]) => boolean,
): Promise<{ payouts: PayoutRow[]; skipped: Skipped[]; asOf: string }> {
  const { body } = await api.until(`/v1/cover/payouts?executor=${bob()}`, ({ status, body }) => {
    const { payouts, skipped } = body as unknown as { payouts: PayoutRow[]; skipped: Skipped[] };
    return status === 200 && holds(payouts, skipped);
  });
  return body as unknown as { payouts: PayoutRow[]; skipped: Skipped[]; asOf: string };
}

const what = (payouts: readonly PayoutRow[]) =>
  payouts.map(({ type, ticker }) => `${type} ${ticker}`).toSorted();

async function announce(...expected: string[]): Promise<PayoutRow[]> {
  const sorted = expected.toSorted();
  const { payouts, skipped } = await announced((all) => what(all).join() === sorted.join());
  expect(skipped).toEqual([]);
  expect(new Set(payouts.map(({ type, id }) => `${type} ${id}`)).size).toBe(payouts.length);
  return payouts;
}

/** A stranger sends it as announced; Bob, named as executor, gets exactly the fee. */
async function execute(payout: PayoutRow | undefined): Promise<bigint> {
  if (payout === undefined) throw new Error('not announced');
  expect(payout.tx).toMatchObject({ to: fork.deployment.coverMarket, value: '0' });
  const before = await balanceOf(fork, fork.deployment.usdg, bob());
  const receipt = await sendCall(fork, 'keeper', payout.tx.to, payout.tx.data);
  expect(receipt.status).toBe('success');
  const earned = (await balanceOf(fork, fork.deployment.usdg, bob())) - before;
  expect(earned).toBe(BigInt(payout.feeUsdg));
  return earned;
}

const named = (payouts: readonly PayoutRow[], name: string) =>
  payouts.find(({ type, ticker }) => `${type} ${ticker}` === name);

/** As where nobody funded it: the local chain's market begins with a pool that pays. */
async function emptyFeePool(): Promise<void> {
  const feePoolSlot = numberToHex(0, { size: 32 });
  await fork.client.setStorageAt({
    address: fork.deployment.coverMarket,
    index: feePoolSlot,
    value: numberToHex(0, { size: 32 }),
  });
  expect(await feePool()).toBe(0n);
}

const feePool = () => fork.client.readContract({ ...market(), functionName: 'feePool' });

async function warpTo(time: number): Promise<void> {
  await fork.warp(time - (await fork.now()));
}

describe('GET /v1/cover/payouts', () => {
  test('announces each step when it is due, until somebody has done it, and every fee arrives', async () => {
    expect(await feePool()).toBeGreaterThan(0n);
    await emptyFeePool();
    for (const ticker of ['MAG7', 'ADS', 'CORE']) await takeCover(fork, fork.vault(ticker));
    await announce();
    await warpTo(close - MINUTE);
    await announce();

    // From the close on, for an hour. CORE's snapshot is missed.
    await warpTo(close);
    const atClose = await announce('snapshot MAG7', 'snapshot ADS', 'snapshot CORE');
    expect(named(atClose, 'snapshot ADS')).toMatchObject({
      contract: fork.deployment.coverMarket,
      vault: fork.vault('ADS'),
      week,
    });
    // Nothing was ever paid into the pool: the work is announced all the same, and says what it pays.
    expect(await execute(named(atClose, 'snapshot MAG7'))).toBe(0n);
    await announce('snapshot ADS', 'snapshot CORE');
    await execute(named(atClose, 'snapshot ADS'));
    await announce('snapshot CORE');
    await warpTo(close + HOUR);
    await announce('void CORE');

    for (const symbol of ['NVDA', 'AAPL', 'MSFT', 'AMZN', 'META', 'TSLA']) {
      await fork.pushPrice(symbol, 0.95);
    }
    await warpTo(settle - MINUTE);
    await announce('void CORE');
    await warpTo(settle);
    const atSettle = await announce('void CORE', 'settle MAG7', 'settle ADS');
    await execute(named(atSettle, 'settle MAG7'));

    // Two offers were taken, so two positions, in one payout: the fee pool begins to fill.
    const settled = await announce('void CORE', 'settle ADS', 'payout MAG7');
    const payout = named(settled, 'payout MAG7');
    expect(payout?.positions).toHaveLength(2);
    expect(payout?.id).toBe(payout?.positions[0]);
    const before = await balanceOf(fork, fork.deployment.usdg, fork.accounts.alice.account.address);
    expect(await execute(payout)).toBeGreaterThan(0n);
    const paid = await balanceOf(fork, fork.deployment.usdg, fork.accounts.alice.account.address);
    expect(paid).toBeGreaterThan(before);

    // What is announced together is paid together: the fees share the pool in the order of the list.
    const rest = await announce('void CORE', 'settle ADS');
    expect(rest.map(({ type }) => type)).toEqual(['settle', 'void']);
    for (const each of rest) expect(await execute(each)).toBeGreaterThan(0n);
    const last = await announce('payout ADS', 'payout CORE');
    expect(named(last, 'payout CORE')?.feeUsdg).toBe('0');
    for (const each of last) await execute(each);
    await announce();
  });

  test('tells why a snapshot cannot be taken yet, and pays the sender where nobody is named', async () => {
    await takeCover(fork, fork.vault('MAG7'));
    await takeCover(fork, fork.vault('CORE'));
    await warpTo(close - 300);
    await fork.pushPrice('NVDA', 0.8);
    await warpTo(close + 1);
    const { payouts, skipped } = await announced((_all, others) => others.length === 1);
    expect(what(payouts)).toEqual(['snapshot CORE']);
    expect(skipped).toEqual([
      {
        type: 'snapshot',
        id: ((BigInt(week) << 160n) | BigInt(fork.vault('MAG7'))).toString(),
        reason: `no valid average NAV in the windows so far: the next one ends at ${new Date((close + 600) * 1_000).toISOString()}`,
      },
    ]);
    // The window after the jump is calm.
    await warpTo(close + 600);
    const later = await announce('snapshot CORE', 'snapshot MAG7');
    // Of a pool that somebody funded, the first week's steps are paid.
    for (const each of later) expect(await execute(each)).toBeGreaterThan(0n);
    await warpTo(settle);
    for (const each of await announce('settle CORE', 'settle MAG7')) {
      expect(await execute(each)).toBeGreaterThan(0n);
    }

    await announce('payout CORE', 'payout MAG7');
    const keeper = fork.accounts.keeper.account.address;
    const { body } = await api.get('/v1/cover/payouts');
    const [first] = body.payouts as unknown as PayoutRow[];
    const before = await balanceOf(fork, fork.deployment.usdg, keeper);
    await sendCall(fork, 'keeper', first?.tx.to ?? '0x', first?.tx.data ?? '0x');
    const earned = (await balanceOf(fork, fork.deployment.usdg, keeper)) - before;
    expect(earned).toBe(BigInt(first?.feeUsdg ?? '0'));
    expect(earned).toBeGreaterThan(0n);
    expectError(await api.get('/v1/cover/payouts?executor=me'), 400, 'BAD_REQUEST', /executor/);
    const { coverMarket, usdg, oracle, registry, pause } = fork.deployment;
    for (const refused of [coverMarket, usdg, oracle, registry, pause]) {
      const answer = await api.get(`/v1/cover/payouts?executor=${refused}`);
      expectError(answer, 400, 'BAD_REQUEST', /executor/);
    }
  });

  test('announces again what a reorg undid, also of a week that was over', async () => {
    await takeCover(fork, fork.vault('MAG7'));
    await warpTo(settle + 26 * HOUR);
    await execute(named(await announce('void MAG7'), 'void MAG7'));
    await execute(named(await announce('payout MAG7'), 'payout MAG7'));
    await announce();
    await rpc(fork.url, 'anvil_reorg', [1, []]);
    await fork.warp(1);
    await execute(named(await announce('payout MAG7'), 'payout MAG7'));
  });

  test('names a payout by the first position that it pays, also where another was paid and the index lags', async () => {
    await takeCover(fork, fork.vault('MAG7'));
    for (const [time, functionName] of [
      [close, 'snapshot'],
      [settle, 'settle'],
    ] as const) {
      await warpTo(time);
      const args = [week, fork.vault('MAG7'), bob()] as const;
      await write(fork.client, fork.accounts.bob.account, { ...market(), functionName, args });
    }
    const lagging = await launchApi(fork.url, fork.deployment, { INDEX_INTERVAL_MS: '60000' });
    try {
      await lagging.settled();
      const positionsAre = (count: number) =>
        lagging.until('/v1/cover/payouts', ({ body }) => {
          const [row] = body.payouts as unknown as PayoutRow[];
          return row?.positions.length === count;
        });
      const [both] = (await positionsAre(2)).body.payouts as unknown as PayoutRow[];
      const [first, second] = both?.positions ?? [];
      await write(fork.client, fork.accounts.bob.account, {
        ...market(),
        functionName: 'payout',
        args: [[BigInt(first ?? 0)], bob()],
      });
      const [rest] = (await positionsAre(1)).body.payouts as unknown as PayoutRow[];
      expect(rest).toMatchObject({ id: second, positions: [second] });
    } finally {
      await lagging.stop();
    }
  });
});
