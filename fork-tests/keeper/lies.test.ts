/**
 * An api that lies never gets a signature: the keeper's nonce stays zero, each lie is counted under its reason, the
 * api is not asked any more, and what an honest one lists is executed all the same. But for the fee of a step, which is
 * taken for what it pays.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Address, encodeFunctionData, erc20Abi, type Hex, maxUint256, pad } from 'viem';
import { afterEach, describe, expect, test } from 'vitest';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { payingTo, swappingTo, withData } from './bent-jobs.ts';
import { takeCover } from './chain-orders.ts';
import { useDueOrders } from './due-orders.ts';
import { placeContract, takingCode, WORK_SELECTOR, workCall } from './foreign-contracts.ts';
import { type JobServer, startJobServer, stopJobServers, type WireJob } from './job-server.ts';
import { balanceOf, fillsOf } from './orders.ts';
import { type KeeperUnderTest, launchKeeper, metricOf, stopKeepers, until } from './use-keeper.ts';

/** As many false listings as it takes until a source is dropped. */
const LIES = 3;
const FOREIGN: Address = '0x00000000000000000000000000000000f0e16e00';

const fork = useFork();
const due = useDueOrders(fork, LIES, 50);

afterEach(async () => {
  await stopKeepers();
  await stopJobServers();
});

const stranger = (): Address => fork.accounts.bob.account.address;
const approval = (): Hex =>
  encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [stranger(), maxUint256] });

type Sides = { liar: JobServer; honest: JobServer; keeper: KeeperUnderTest };

async function bothSides(env: Record<string, string> = {}): Promise<Sides> {
  const liar = await startJobServer();
  const honest = await startJobServer();
  honest.jobs([]);
  const keeper = await launchKeeper(fork, [liar.url, honest.url], { env });
  return { liar, honest, keeper };
}

/** After `lies` are listed: nothing is signed, and the liar is not asked again. */
async function expectDropped({ liar, keeper }: Sides, reason: string | null): Promise<void> {
  await keeper.tick();
  if (reason !== null) {
    expect(await metricOf(keeper, 'jobs_refused_total')).toBe(LIES);
    expect(await metricOf(keeper, 'jobs_refused_total', `"${reason}"`)).toBe(LIES);
  }
  expect(await metricOf(keeper, 'sources_dropped_total')).toBe(1);
  const polls = liar.polls();
  await keeper.tick();
  await keeper.tick();
  expect(liar.polls()).toBe(polls);
  const { executor } = keeper;
  for (const blockTag of ['latest', 'pending'] as const) {
    expect(await fork.client.getTransactionCount({ address: executor, blockTag })).toBe(0);
  }
}

/** The same orders, told by the honest api: each is filled once, for the keeper. */
async function expectHonestIsServed({ honest, keeper }: Sides): Promise<void> {
  const before = await balanceOf(fork, fork.deployment.usdg, keeper.executor);
  honest.jobs(due.jobs);
  const filled = async () =>
    (await Promise.all(due.ids.map((id) => fillsOf(fork, fork.deployment.exitEscrow, id)))).flat();
  await until('the honest api is served', async () => {
    await keeper.tick();
    return (await filled()).length === LIES;
  });
  const fills = await filled();
  expect(fills.map(({ args }) => args.executor)).toEqual(due.ids.map(() => keeper.executor));
  const fees = fills.reduce((sum, { args }) => sum + args.executorFee, 0n);
  expect((await balanceOf(fork, fork.deployment.usdg, keeper.executor)) - before).toBe(fees);
  // One each, or fewer where several went in one batch.
  const sent = await fork.client.getTransactionCount({ address: keeper.executor });
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThanOrEqual(LIES);
}

type Lie = [what: string, reason: string, bend: (job: WireJob, index: number) => WireJob];

const LIES_ABOUT_FILLS: Lie[] = [
  [
    'a contract that is not ours',
    'unknown_contract',
    (job) => ({ ...job, contract: stranger(), tx: { ...job.tx, to: stranger() } }),
  ],
  [
    'a token in place of the escrow',
    'target',
    (job) => ({ ...job, tx: { ...job.tx, to: fork.deployment.usdg, data: approval() } }),
  ],
  ['the calldata of an approval', 'selector', (job) => withData(job, approval())],
  ['another executor', 'executor', (job) => payingTo(job, stranger())],
  ['another recipient of a swap', 'swap_recipient', (job) => swappingTo(job, stranger())],
  ['a value above zero', 'value', (job) => ({ ...job, tx: { ...job.tx, value: '1' } })],
  [
    "another order's id",
    'id',
    (job, index) => ({ ...job, id: due.jobs[(index + 1) % LIES]?.id ?? '' }),
  ],
  [
    'bytes behind the arguments',
    'encoding',
    (job) => withData(job, `${job.tx.data as Hex}${'00'.repeat(32)}`),
  ],
  ['an approval in place of the arming', 'arm', (job) => ({ ...job, armData: approval() })],
];

describe('an api that lies about fills', () => {
  test.each(LIES_ABOUT_FILLS)('%s', async (_, reason, bend) => {
    const sides = await bothSides();
    sides.liar.jobs(due.jobs.map(bend));
    await expectDropped(sides, reason);
    await expectHonestIsServed(sides);
  });

  test('a fee that the fill does not pay', async () => {
    const sides = await bothSides();
    sides.liar.jobs(due.jobs.map((job) => ({ ...job, feeUsdg: '99000000' })));
    await expectDropped(sides, null);
    for (const id of due.ids) {
      const [timeline] = await sides.keeper.journal.timeline(id);
      expect(timeline?.decisions.map(({ decision }) => decision)).toEqual(['short_fee']);
    }
    await expectHonestIsServed(sides);
  });
});

describe('an api that lies about the cover market', () => {
  const TICKERS = ['MAG7', 'ADS', 'CORE'];
  type Step = { week: number; vault: Address };
  const snapshot = ({ week, vault }: Step, executor = pad('0x', { size: 20 })): Hex =>
    encodeFunctionData({
      abi: coverMarketAbi,
      functionName: 'snapshot',
      args: [week, vault, executor],
    });
  const listed = ({ week, vault }: Step) => ({
    type: 'snapshot',
    contract: fork.deployment.coverMarket,
    id: ((BigInt(week) << 160n) | BigInt(vault)).toString(),
    ticker: null,
    vault,
    week,
    feeUsdg: '100000',
    tx: { to: fork.deployment.coverMarket, data: snapshot({ week, vault }), value: '0' },
  });
  type Listed = ReturnType<typeof listed>;
  const withCall = (entry: Listed, data: Hex): Listed => ({ ...entry, tx: { ...entry.tx, data } });
  const payout = (positions: bigint[], executor: Address): Hex =>
    encodeFunctionData({
      abi: coverMarketAbi,
      functionName: 'payout',
      args: [positions, executor],
    });

  const LIES_ABOUT_COVER: [string, string, (entry: Listed) => object][] = [
    [
      'another week',
      'id',
      (entry) => withCall(entry, snapshot({ ...entry, week: entry.week + 1 })),
    ],
    [
      'another basket',
      'id',
      (entry) => withCall(entry, snapshot({ ...entry, vault: fork.vault('HEALTH') })),
    ],
    ['another executor', 'executor', (entry) => withCall(entry, snapshot(entry, stranger()))],
    ['the call of another step', 'selector', (entry) => ({ ...entry, type: 'settle' })],
    ['the calldata of an approval', 'selector', (entry) => withCall(entry, approval())],
    ['a value above zero', 'value', (entry) => ({ ...entry, tx: { ...entry.tx, value: '1' } })],
    [
      'a contract that is not ours',
      'unknown_contract',
      (entry) => ({ ...entry, contract: stranger(), tx: { ...entry.tx, to: stranger() } }),
    ],
    [
      'a payout that names a position twice',
      'positions',
      (entry) => ({
        ...withCall(entry, payout([BigInt(entry.id), BigInt(entry.id)], pad('0x', { size: 20 }))),
        type: 'payout',
      }),
    ],
    [
      'a payout whose reward goes elsewhere',
      'executor',
      (entry) => ({ ...withCall(entry, payout([BigInt(entry.id)], stranger())), type: 'payout' }),
    ],
  ];

  test.each(LIES_ABOUT_COVER)('%s', async (_, reason, bend) => {
    const sides = await bothSides();
    const [, week] = await fork.client.readContract({
      address: fork.deployment.coverMarket,
      abi: coverMarketAbi,
      functionName: 'currentWeek',
    });
    sides.liar.jobs([]);
    sides.liar.payouts(TICKERS.map((ticker) => bend(listed({ week, vault: fork.vault(ticker) }))));
    await expectDropped(sides, reason);
  });
});

describe('an api that lies about the fee of a step', () => {
  const market = () => ({ address: fork.deployment.coverMarket, abi: coverMarketAbi }) as const;

  test('keeps nobody from taking it: a snapshot has an hour', async () => {
    const vault = fork.vault('CORE');
    const { week, close } = await takeCover(fork, vault);
    await fork.warp(close - (await fork.now()));
    const liar = await startJobServer();
    const data = encodeFunctionData({
      ...market(),
      functionName: 'snapshot',
      args: [week, vault, pad('0x', { size: 20 })],
    });
    const id = ((BigInt(week) << 160n) | BigInt(vault)).toString();
    const tx = { to: market().address, data, value: '0' };
    const step = { type: 'snapshot', contract: market().address, id, ticker: 'CORE', vault, week };
    liar.payouts([{ ...step, feeUsdg: '9000000', tx }]);
    const keeper = await launchKeeper(fork, [liar.url]);
    await keeper.tick();
    const args = [week, vault] as const;
    const { outcome } = await fork.client.readContract({
      ...market(),
      functionName: 'marketOf',
      args,
    });
    expect(outcome).toBe(1);
    const [timeline] = await keeper.journal.timeline(id);
    expect(timeline?.decisions.map(({ decision }) => decision)).toContain('short_fee');
  });
});

describe('an api that lies about a contract that the operator allowed', () => {
  const allowList = (): string => {
    const path = join(tmpdir(), `allow-list-${process.pid}.json`);
    const contracts = [{ address: FOREIGN, name: 'another service', selectors: [WORK_SELECTOR] }];
    writeFileSync(path, JSON.stringify({ contracts }));
    return path;
  };
  const foreignJobs = (data: Hex) =>
    due.jobs.map((job) => ({
      ...job,
      type: 'work',
      contract: FOREIGN,
      vault: undefined,
      armData: '0x',
      feeUsdg: '2000000',
      tx: { to: FOREIGN, data, value: '0' },
    }));

  test('it takes instead of paying, where the wallet carelessly gave it an allowance', async () => {
    const { usdg } = fork.deployment;
    const { account } = fork.accounts.agent;
    await fork.client.setBalance({ address: account.address, value: 10n ** 18n });
    await placeContract(fork, FOREIGN, takingCode(usdg));
    await write(fork.client, fork.accounts.alice.account, {
      address: usdg,
      abi: erc20Abi,
      functionName: 'transfer',
      args: [account.address, 50_000_000n],
    });
    await write(fork.client, account, {
      address: usdg,
      abi: erc20Abi,
      functionName: 'approve',
      args: [FOREIGN, maxUint256],
    });
    const liar = await startJobServer();
    liar.jobs(foreignJobs(workCall(5_000_000n)));
    const env = { KEEPER_ALLOW_LIST_FILE: allowList() };
    const keeper = await launchKeeper(fork, [liar.url], { role: 'agent', env });
    await keeper.tick();
    await keeper.tick();
    // The approval above is the only transaction that this wallet ever signed.
    expect(await fork.client.getTransactionCount({ address: account.address })).toBe(1);
    expect(await balanceOf(fork, usdg, account.address)).toBe(50_000_000n);
    const [timeline] = await keeper.journal.timeline(due.first().id);
    expect(timeline?.decisions[0]).toMatchObject({
      decision: 'short_fee',
      detail: 'gains $-5, not $1.98',
    });
    expect(await metricOf(keeper, 'sources_dropped_total')).toBe(1);
  });

  test('a function that is not on the list', async () => {
    const sides = await bothSides({ KEEPER_ALLOW_LIST_FILE: allowList() });
    sides.liar.jobs(foreignJobs(approval()));
    await expectDropped(sides, 'foreign_selector');
    await expectHonestIsServed(sides);
  });
});
