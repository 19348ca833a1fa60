/** A weekend on which hundreds hold cover, one of whom, and one underwriter, no USDG can be sent to. */
import { afterEach, expect, test } from 'vitest';
import { runWhy } from '../../keeper/cli/why.ts';
import { useApi } from '../api/use-api.ts';
import { useFork } from '../harness/fork.ts';
import { claimCredits, eventsOf, judgeWeekend, moneyOf, sellToCrowd } from './cover-crowd.ts';
import { launchKeeper, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const api = useApi(fork);
afterEach(stopKeepers);

const TICKER = 'MAG7';
/** More than one answer of the api lists. */
const POSITIONS = 440;

const warpTo = async (time: number) => fork.warp(time - (await fork.now()));

test(`${POSITIONS} positions are paid in batches, whoever cannot be paid keeps nobody from it`, {
  timeout: 120_000,
}, async () => {
  const crowd = await sellToCrowd(fork, TICKER, POSITIONS);
  await api.settled();
  const keeper = await launchKeeper(fork, [api.url]);
  keeper.run();
  const before = await moneyOf(fork, crowd, [keeper.executor]);
  const count = async (name: 'SnapshotTaken' | 'WeekSettled' | 'PaidOut') =>
    (await eventsOf(fork, name, crowd.fromBlock)).length;

  await warpTo(crowd.close);
  await until('the close is on record', async () => (await count('SnapshotTaken')) === 1);
  const basket = fork.deployment.baskets.find(({ ticker }) => ticker === TICKER);
  for (const symbol of Object.keys(basket?.targetWeights ?? {})) {
    await fork.pushPrice(symbol, 0.93);
  }
  await warpTo(crowd.settle);
  await until('all is paid', async () => (await count('PaidOut')) === POSITIONS, 60_000);
  await until(
    'the journal is settled',
    async () => (await keeper.journal.unsettled(10)).length === 0,
  );

  const verdict = await judgeWeekend(fork, crowd, before, keeper.executor);
  expect(verdict.problems).toEqual([]);
  // Ranges below, around and beyond the drop; the two that are owed and cannot be paid.
  expect(verdict.shares).toEqual({ nothing: 110, part: 220, full: 110 });
  expect(verdict.credited).toBeGreaterThan(0n);
  expect(verdict.payouts).toBe(POSITIONS / 20);
  // An operator asks for a position, and is told of the payout that it was in.
  const [, inner] = crowd.sold;
  const said: string[] = [];
  const id = String(inner?.positionId);
  expect(await runWhy(id, keeper.env, (line) => said.push(line))).toBe(0);
  expect(said.join('\n')).toMatch(/^position \d+ is one of those in\n.*:payout:\d+\n[^]*executed/);
  expect(await runWhy('999999', keeper.env, () => undefined)).toBe(1);
  expect(await claimCredits(fork, crowd)).toEqual([]);
});
