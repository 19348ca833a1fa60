/**
 * A weekend on which thousands hold cover, as an operator would meet it: the real api and one real keeper, blocks of a
 * quarter of a second that hold no more gas than the live chain's, one buyer and one underwriter to whom no USDG can be
 * sent. What must hold at the end: every position paid once, everybody's money to the base unit, what cannot be
 * delivered a credit that can be claimed later, the journal's books equal to the chain's, memory and handles flat.
 */
import type { TransactionReceipt } from 'viem';
import { devAccount } from '../chain/seed/accounts.ts';
import { pushPrice } from '../chain/market/push.ts';
import {
  claimCredits,
  eventsOf,
  judgeWeekend,
  moneyOf,
  sellToCrowd,
} from '../keeper/cover-crowd.ts';
import { startBlocks } from './blocks.ts';
import { readBooks } from './books.ts';
import { balancesOf, type Ground, onGround, type SoakResult, startSoakChain } from './ground.ts';
import { createProcess } from './processes.ts';
import { Resources } from './resources.ts';

const BLOCK_MS = 250;
/** What a transaction on an Arbitrum Orbit chain may use, as configured by default. */
const BLOCK_GAS = 32_000_000n;
const TICKER = 'MAG7';
const DROP = 0.93;
/** Left to itself, Node lets a heap grow to several times what is in use: this shows what is. */
const HEAP_MB = 112;
const SAMPLE_MS = 1_000;
/** Processes that have just started are still compiling their code. */
const WARM_UP_SAMPLES = 20;
/** What is left of their work when all is paid is not theirs for good. */
const REST_SAMPLES = 20;
const STEP_MS = 120_000;
/** Longest time for a position, of all of them together. */
const MS_A_POSITION = 200;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function soakCover(options: {
  positions: number;
  say: (line: string) => void;
}): Promise<SoakResult> {
  return await onGround(options.say, (ground) => run(options.positions, ground));
}

async function run(positions: number, ground: Ground): Promise<SoakResult> {
  const { folder, say, atEnd } = ground;
  const { anvil, client, manifest } = await startSoakChain(ground);
  const place = { client, manifest };
  const { deployment } = manifest;
  const executor = devAccount('keeper').account.address;
  const crowd = await sellToCrowd(place, TICKER, positions, say);
  const before = await moneyOf(place, crowd, [executor]);
  const wallet = await balancesOf(client, manifest, executor);

  await client.setBlockGasLimit({ gasLimit: BLOCK_GAS });
  const blocks = await startBlocks(client, BLOCK_MS);
  atEnd(() => blocks.stop());
  const api = await createProcess({
    name: 'api',
    entry: 'api',
    folder,
    rpcUrl: anvil.url,
    deployment,
    env: (port) => ({ API_PORT: String(port), PUBLIC_BASE_URL: `http://127.0.0.1:${port}` }),
  });
  atEnd(() => api.stop());
  await api.start();
  const keeper = await createProcess({
    name: 'keeper',
    entry: 'keeper',
    folder,
    rpcUrl: anvil.url,
    deployment,
    env: (port) => ({
      KEEPER_PORT: String(port),
      API_URLS: api.url,
      WALLET_PRIVATE_KEYS: devAccount('keeper').privateKey,
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    }),
  });
  atEnd(() => keeper.stop());
  await keeper.start();

  const resources = new Resources();
  const sample = async (): Promise<void> => {
    await sleep(SAMPLE_MS);
    for (const each of [api, keeper]) resources.sample(each.name, each.pid());
  };
  for (let index = 0; index < WARM_UP_SAMPLES; index += 1) await sleep(SAMPLE_MS);

  const count = async (name: 'SnapshotTaken' | 'WeekSettled' | 'PaidOut'): Promise<number> =>
    (await eventsOf(place, name, crowd.fromBlock)).length;
  const reach = async (what: string, ms: number, holds: () => Promise<boolean>): Promise<void> => {
    const deadline = performance.now() + ms;
    while (!(await holds())) {
      if (performance.now() > deadline) {
        throw new Error(`not within ${ms} ms: ${what}\n${keeper.log.slice(-20).join('\n')}`);
      }
      await sample();
    }
  };
  const warpTo = async (time: number): Promise<void> => {
    const { timestamp } = await client.getBlock();
    await client.increaseTime({ seconds: time - Number(timestamp) });
  };

  await warpTo(crowd.close);
  await reach('the close is on record', STEP_MS, async () => (await count('SnapshotTaken')) === 1);
  await dropBasket();
  await warpTo(crowd.settle);
  await reach('the week is settled', STEP_MS, async () => (await count('WeekSettled')) === 1);
  const began = performance.now();
  let paid = 0;
  await reach('every position is paid', positions * MS_A_POSITION, async () => {
    paid = await count('PaidOut');
    return paid >= positions;
  });
  const seconds = Math.round((performance.now() - began) / 1_000);
  say(`${paid} positions paid in ${seconds} s`);
  await reach('the journal is settled', STEP_MS, async () =>
    Promise.resolve(readBooks(keeper.database).open === 0),
  );

  for (let index = 0; index < REST_SAMPLES; index += 1) await sample();

  const { problems, ...verdict } = await judgeWeekend(place, crowd, before, executor);
  const trends = Object.fromEntries(
    [api, keeper].map(({ name }) => [name, resources.trend(name)] as const),
  );
  for (const [name, { flat }] of Object.entries(trends)) {
    if (!flat) problems.push(`memory or handles of ${name} grow`);
  }
  const receipts = await payoutReceipts();
  const mostGas = receipts.reduce((most, { gasUsed }) => (gasUsed > most ? gasUsed : most), 0n);
  problems.push(...(await claimCredits(place, crowd)));

  await keeper.stop();
  const books = readBooks(keeper.database);
  const after = await balancesOf(client, manifest, executor);
  if (books.feesUsdg !== after.usdg - wallet.usdg) {
    problems.push(
      `the journal has ${books.feesUsdg} of USDG, the chain ${after.usdg - wallet.usdg}`,
    );
  }
  if (books.gasWei !== wallet.wei - after.wei) {
    problems.push(
      `the journal has ${books.gasWei} wei of gas, the chain ${wallet.wei - after.wei}`,
    );
  }
  if (problems.length > 0) say(keeper.log.slice(-40).join('\n'));
  const figures = {
    positions,
    keeperHeapMb: HEAP_MB,
    seconds,
    transactions: receipts.length,
    reverted: books.reverted,
    mostGas: Number(mostGas),
    blockGas: Number(BLOCK_GAS),
    shares: verdict.shares,
    usdg: {
      toBuyers: verdict.toBuyers.toString(),
      toUnderwriters: verdict.toUnderwriters.toString(),
      credited: verdict.credited.toString(),
      rewards: verdict.rewards.toString(),
      journal: books.feesUsdg.toString(),
    },
    resources: trends,
    blocksMissed: blocks.faults(),
  };
  return { ok: problems.length === 0, figures, problems };

  async function dropBasket(): Promise<void> {
    const basket = deployment.baskets.find(({ ticker }) => ticker === TICKER);
    const maker = devAccount('maker').account;
    for (const symbol of Object.keys(basket?.targetWeights ?? {})) {
      await pushPrice(client, maker, manifest, symbol, DROP);
    }
  }

  async function payoutReceipts(): Promise<TransactionReceipt[]> {
    const events = await eventsOf(place, 'RewardPaid', crowd.fromBlock);
    return await Promise.all(
      events.map(({ transactionHash }) => client.getTransactionReceipt({ hash: transactionHash })),
    );
  }
}
