/** A weekend of the cover market, so that each kind of payout falls due: snapshot, settle, payout and void. */
import { erc20Abi, type Hex, parseEventLogs } from 'viem';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { write } from '../chain/client.ts';
import { lookAtPositions } from './cover-reads.ts';
import type { Life } from './scenario.ts';

type Due = {
  payouts: { type: string; ticker: string; tx: { to: Hex; data: Hex } }[];
  skipped: unknown[];
};

const TICKERS = ['MAG7', 'ADS'];

export async function liveThroughWeekend(life: Life): Promise<void> {
  const { fork } = life;
  const market = { address: fork.deployment.coverMarket, abi: coverMarketAbi } as const;
  const [, week] = await fork.client.readContract({ ...market, functionName: 'currentWeek' });
  const { close, settle } = await fork.client.readContract({
    ...market,
    functionName: 'weekOf',
    args: [week],
  });
  for (const ticker of TICKERS) await take(life, week, ticker);
  await lookAtPositions(life, 4, 0);

  // A jump of the price just before the close: no average is valid yet.
  await warpTo(life, close - 300);
  await fork.pushPrice('NVDA', 0.8);
  await warpTo(life, close + 1);
  await due(life, ({ skipped }) => skipped.length > 0);
  await warpTo(life, close + 600);
  const snapshots = await due(life, has('snapshot MAG7'));
  // The snapshot of the other basket is missed.
  await execute(life, snapshots, 'snapshot MAG7');
  for (const symbol of ['NVDA', 'AAPL', 'MSFT', 'AMZN', 'META']) await fork.pushPrice(symbol, 0.95);
  await warpTo(life, settle + 1);
  await execute(life, await due(life, has('settle MAG7', 'void ADS')), 'settle MAG7');
  await execute(life, await due(life, has('void ADS')), 'void ADS');
  const paying = await due(life, has('payout MAG7', 'payout ADS'));
  await lookAtPositions(life, 4, 0);
  for (const { type, tx } of paying.payouts) if (type === 'payout') await life.send('keeper', tx);
  await lookAtPositions(life, 4, 4);
}

const has =
  (...names: string[]) =>
  ({ payouts }: Due): boolean =>
    names.every((name) => payouts.some(({ type, ticker }) => `${type} ${ticker}` === name));

async function due({ corpus }: Life, holds: (due: Due) => boolean): Promise<Due> {
  return (await corpus.until('/v1/cover/payouts', holds)).body as Due;
}

async function execute(life: Life, { payouts }: Due, name: string): Promise<void> {
  const found = payouts.find(({ type, ticker }) => `${type} ${ticker}` === name);
  if (found === undefined) throw new Error(`${name} is not due`);
  await life.send('keeper', found.tx);
}

async function warpTo({ fork }: Life, time: number): Promise<void> {
  await fork.warp(time - (await fork.now()));
}

/** Alice takes $200 of each offer of one range. */
async function take({ fork }: Life, week: number, ticker: string): Promise<void> {
  const { coverMarket, usdg, startBlock } = fork.deployment;
  const logs = await fork.client.getLogs({ address: coverMarket, fromBlock: BigInt(startBlock) });
  const ids = parseEventLogs({ abi: coverMarketAbi, eventName: 'Listed', logs })
    .map(({ args }) => args)
    .filter(({ terms }) => terms.week === week && terms.vault === fork.vault(ticker))
    .filter(({ terms }) => terms.fromBps === 300)
    .map(({ id }) => id);
  const { account } = fork.accounts.alice;
  const most = 10n ** 12n;
  await write(fork.client, account, {
    address: usdg,
    abi: erc20Abi,
    functionName: 'approve',
    args: [coverMarket, most],
  });
  await write(fork.client, account, {
    address: coverMarket,
    abi: coverMarketAbi,
    functionName: 'take',
    args: [ids, ids.map(() => 200n), 200n * BigInt(ids.length), most],
  });
}
