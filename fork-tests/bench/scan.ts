/**
 * The uncached computation of `/v1/jobs` after a new block, with 100,000 open orders over 100 open; ten are triggered
 * in both. Two api processes on one chain, each with its own rows; asked in turns.
 *
 * The ten are real: built, sent, indexed, and confirmed and quoted on chain by every scan. The others are rows written
 * beside them, since a scan asks the chain about what triggers alone. What is timed is the first request after a block:
 * its `asOf` must be that block's time, so nothing of it was computed before.
 */
import type { Hex } from 'viem';
import { type ChainClient, connect, transact } from '../chain/client.ts';
import { devAccount } from '../chain/seed/accounts.ts';
import { until } from '../e2e/stack.ts';
import { databaseIn, startApiProcess } from './measure/api-process.ts';
import { startBenchChain } from './measure/chain.ts';
import type { ServerProcess } from './measure/process.ts';
import { median, sideBySide } from './measure/rounds.ts';
import { writeResting } from './scan/resting.ts';
import type { Bench } from './types.ts';

const MANY = 100_000;
const FEW = 100;
const TRIGGERED = 10;
const ROUNDS = 7;
/** One figure is the median of so many blocks. */
const BLOCKS = 5;
const TICKERS = ['CHIP', 'ADS'] as const;
const SETTINGS = {
  HTTP_REQUESTS_PER_MINUTE: '0',
  MARKS_INTERVAL_MS: '400',
  // Nothing but the scan is to be busy while it is timed.
  COST_INTERVAL_MS: '3600000',
  LOG_LEVEL: 'warn',
};

type Plan = { approval: { to: Hex; data: Hex } | null; tx: { to: Hex; data: Hex } };

export const bench: Bench = async ({ say }) => {
  const { anvil, manifest } = await startBenchChain(say);
  const client = connect(anvil.url);
  const servers: ServerProcess[] = [];
  try {
    for (let count = 0; count < 2; count += 1)
      servers.push(await startApiProcess(anvil.url, manifest, SETTINGS));
    const [many, few] = servers;
    if (many === undefined || few === undefined) throw new Error('two servers are needed');
    say(`opening ${TRIGGERED} orders that trigger`);
    await openTriggered(client, few.url);
    for (const server of servers) await jobsOf(server, TRIGGERED);
    say(`writing ${MANY - TRIGGERED} and ${FEW - TRIGGERED} that do not`);
    await writeResting(databaseIn(many.folder), manifest, MANY - TRIGGERED);
    await writeResting(databaseIn(few.folder), manifest, FEW - TRIGGERED);
    const sides = await sideBySide({
      rounds: ROUNDS,
      ours: () => scanMs(client, many),
      baseline: () => scanMs(client, few),
      say,
    });
    return {
      ratio: sides.ratio,
      ratios: sides.ratios,
      manyMs: sides.ours,
      fewMs: sides.baseline,
      openMany: MANY,
      openFew: FEW,
      triggered: TRIGGERED,
    };
  } finally {
    for (const server of servers.toReversed()) await server.stop();
    await anvil.stop();
  }
};

/** Half of them stops above the average, half of them buys without a trigger. */
async function openTriggered(client: ChainClient, url: string): Promise<void> {
  const { account } = devAccount('alice');
  const build = async (route: string, body: object): Promise<Plan & { minShares: string }> => {
    const response = await fetch(`${url}/v1/tx/${route}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, address: account.address, simulate: false }),
    });
    if (!response.ok) throw new Error(`${route}: ${await response.text()}`);
    return (await response.json()) as Plan & { minShares: string };
  };
  const send = async ({ approval, tx }: Plan): Promise<void> => {
    if (approval !== null) await transact(client, account, approval);
    await transact(client, account, { to: tx.to, data: tx.data });
  };
  for (let count = 0; count < TRIGGERED; count += 1) {
    const ticker = TICKERS[count % TICKERS.length] ?? 'CHIP';
    if (count < TRIGGERED / 2) {
      const bought = await build('buy', { ticker, amountUsdg: 100 });
      await send(bought);
      await send(await build('exit', { ticker, shares: bought.minShares, stopNav: 1_000_000 }));
    } else {
      await send(await build('limit', { ticker, amountUsdg: 100 }));
    }
  }
}

type Jobs = { asOf: string; jobs: unknown[]; skipped: unknown[] };

async function jobsOf(server: ServerProcess, count: number): Promise<void> {
  await until(`${server.url} lists ${count} jobs`, async () => {
    const { jobs } = (await (await fetch(`${server.url}/v1/jobs`)).json()) as Partial<Jobs>;
    return jobs?.length === count ? true : null;
  });
}

/** Milliseconds of the first request after a block: the median of several blocks. */
async function scanMs(client: ChainClient, server: ServerProcess): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < BLOCKS; count += 1) {
    await client.mine({ blocks: 1 });
    const { timestamp } = await client.getBlock();
    const minedAt = Date.now();
    // Marks that were read after the block; the scan is made for these.
    await until('marks of the new block', async () => {
      const { asOfMs } = (await (await fetch(`${server.url}/v1/markets?prices=0`)).json()) as {
        asOfMs: number;
      };
      return asOfMs > minedAt + MARKS_READ_MS ? true : null;
    });
    const startedAt = performance.now();
    const response = await fetch(`${server.url}/v1/jobs`);
    const body = (await response.json()) as Jobs;
    times.push(performance.now() - startedAt);
    const block = new Date(Number(timestamp) * 1_000).toISOString();
    if (body.asOf !== block || body.jobs.length !== TRIGGERED || body.skipped.length > 0) {
      throw new Error(`not the jobs of ${block}: ${JSON.stringify(body).slice(0, 300)}`);
    }
  }
  return median(times);
}

/** A read of the marks that was under way when the block came is not one of it. */
const MARKS_READ_MS = 300;
