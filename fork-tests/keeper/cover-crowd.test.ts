/** A weekend on which hundreds hold cover, one of whom, and one underwriter, no USDG can be sent to. */
import { type Address, encodeFunctionData, zeroAddress } from 'viem';
import { afterEach, expect, test } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { runWhy } from '../../keeper/cli/why.ts';
import { onMarket } from '../api/cover-agent.ts';
import { useApi } from '../api/use-api.ts';
import { write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { claimCredits, eventsOf, judgeWeekend, moneyOf, sellToCrowd } from './cover-crowd.ts';
import { startJobServer, stopJobServers } from './job-server.ts';
import { launchKeeper, metricOf, stopKeepers, until } from './use-keeper.ts';

const fork = useFork();
const api = useApi(fork);
afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
});

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
  await until('all is paid', async () => (await count('PaidOut')) === POSITIONS, 150_000);
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
  expect(await runWhy('999999', keeper.env, (line) => said.push(line))).toBe(1);
  expect(said.at(-1)).toMatch(/never sent goes by its first position/);
  // Whom no USDG could be sent to is told what the market holds for him, until he has it.
  const creditOf = async (account: Address): Promise<unknown> => {
    await api.settled();
    const answer = await fetch(`${api.url}/v1/cover/positions/${account}`);
    return ((await answer.json()) as { credit: unknown }).credit;
  };
  const credits = await Promise.all(crowd.blocked.map(({ address }) => creditOf(address)));
  expect(credits.every((credit) => Number(credit) > 0)).toBe(true);
  const sum = credits.reduce<number>((all, credit) => all + Number(credit), 0);
  expect(sum).toBeCloseTo(Number(verdict.credited) / 1e6, 3);
  expect(await claimCredits(fork, crowd)).toEqual([]);
  for (const { address } of crowd.blocked) expect(await creditOf(address)).toBe(0);
});

/** Bob asks Erin for cover of CORE at a price that leaves a fee worth a payout. */
async function sellDear(week: number): Promise<void> {
  const terms = { fromBps: 300, toBps: 1_000, coverUsd: 200n, pricePer1k: 100n * USD };
  const from = (await fork.client.getBlockNumber()) + 1n;
  const args = [{ week, vault: fork.vault('CORE'), ...terms }] as const;
  await onMarket(fork, 'bob', { functionName: 'request', args });
  const [listed] = await eventsOf(fork, 'Listed', from);
  await onMarket(fork, 'erin', { functionName: 'fill', args: [listed?.args.id ?? 0n, 200n] });
}

test.for(['api', 'own'] as const)(
  'payouts that pay are made though hundreds of refunds of a voided week wait before them (%s)',
  { timeout: 120_000 },
  async (source) => {
    const crowd = await sellToCrowd(fork, TICKER, POSITIONS);
    for (let sale = 0; sale < 4; sale += 1) await sellDear(crowd.week);
    const vault = fork.vault('CORE');
    const step = (functionName: 'snapshot' | 'settle' | 'voidWeek', of: Address) =>
      write(fork.client, fork.accounts.carol.account, {
        address: fork.deployment.coverMarket,
        abi: coverMarketAbi,
        functionName,
        args: [crowd.week, of, zeroAddress],
      });
    await warpTo(crowd.close);
    await step('snapshot', vault);
    await warpTo(crowd.settle);
    await step('settle', vault);
    await step('voidWeek', crowd.vault);
    await api.settled();
    // Nothing at a loss: the refunds pay nothing, and wait.
    const env = {
      KEEPER_DUTY_BUDGET_USDG: '0',
      KEEPER_DISCOVERY: source === 'own' ? 'always' : 'off',
    };
    const keeper = await launchKeeper(fork, source === 'own' ? [] : [api.url], { env });
    keeper.run();
    const paid = async () => (await eventsOf(fork, 'PaidOut', crowd.fromBlock)).length;
    await until('what pays is paid', async () => (await paid()) === 4);
  },
);

test('a source whose payouts somebody else has paid a part of meanwhile told no lie, and is asked again', async () => {
  const { week, vault, close, settle, sold } = await sellToCrowd(fork, TICKER, 60);
  const market = { address: fork.deployment.coverMarket, abi: coverMarketAbi } as const;
  const { account } = fork.accounts.bob;
  await warpTo(close);
  await write(fork.client, account, {
    ...market,
    functionName: 'snapshot',
    args: [week, vault, zeroAddress],
  });
  await warpTo(settle);
  await write(fork.client, account, {
    ...market,
    functionName: 'settle',
    args: [week, vault, zeroAddress],
  });
  const ids = sold.map(({ positionId }) => positionId);
  const payout = (positions: readonly bigint[]) =>
    ({ ...market, functionName: 'payout', args: [positions, zeroAddress] }) as const;
  const listed = [];
  // Three that pay less than they say drop a source.
  for (const positions of [ids.slice(0, 20), ids.slice(20, 40), ids.slice(40)]) {
    const { result } = await fork.client.simulateContract({ ...payout(positions), account });
    listed.push({
      type: 'payout',
      contract: market.address,
      id: String(positions[0]),
      ticker: TICKER,
      vault,
      week,
      feeUsdg: String(result[1]),
      tx: { to: market.address, data: encodeFunctionData(payout(positions)), value: '0' },
    });
    await write(fork.client, account, payout(positions.slice(1, 2)));
  }
  const source = await startJobServer();
  source.payouts(listed);
  const keeper = await launchKeeper(fork, [source.url]);
  await keeper.tick();
  expect(await metricOf(keeper, 'decisions_total', '"closed"')).toBe(3);
  expect(await metricOf(keeper, 'sources_dropped_total')).toBe(0);
  // Whoever names positions that nobody bought lies, as before.
  const [first] = ids;
  const made = payout([first ?? 0n, 10n ** 12n]);
  source.payouts([
    { ...listed[0], feeUsdg: '9000000', tx: { ...listed[0]?.tx, data: encodeFunctionData(made) } },
  ]);
  await until('the lie is told', async () => {
    await keeper.tick();
    return (await metricOf(keeper, 'decisions_total', '"short_fee"')) > 0;
  });
});
