/** What gas costs now: its price and ETH's, shared by all requests for a moment. */
import type { PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import { navOracleAbi } from '../../contracts-abi/generated/index.ts';
import { steadyNow } from '../../runtime/clock.ts';
import { faultLine } from '../../runtime/fault-line.ts';
import type { ReadinessResult } from '../../runtime/readiness.ts';

export type GasMarks = {
  /** What the sender pays per gas: the base fee and its tip. Not `eth_gasPrice`, which adds a tip of the node's own. */
  gasPriceWei: bigint;
  /** Dollars x 1e18 per ETH. */
  ethPrice: bigint;
};

export type MarksReader = {
  /** At most `maxAgeMs` old; throws when the chain cannot be asked or has no ETH price. */
  read(): Promise<GasMarks>;
  readiness: () => ReadinessResult;
  stop(): void;
};

const MAX_AGE_MS = 1_000;
/** Kept fresh in the background for `/ready`, far slower than a busy relayer reads. */
const REFRESH_MS = 5_000;
const STALE_MS = 30_000;

export function createMarksReader(
  client: PublicClient,
  deployment: Deployment,
  tipWei: bigint,
  now: () => number = steadyNow,
): MarksReader {
  let last: { marks: GasMarks; at: number } | null = null;
  let failure: string | null = null;
  let reading: Promise<GasMarks> | null = null;

  const fetchMarks = async (): Promise<GasMarks> => {
    const [block, [spot, average]] = await Promise.all([
      client.getBlock({ blockTag: 'latest' }),
      client.readContract({
        address: deployment.oracle,
        abi: navOracleAbi,
        functionName: 'ethPrice',
      }),
    ]);
    // The average cannot be pushed within a block; spot only serves where there is no average.
    const ethPrice = average > 0n ? average : spot;
    if (ethPrice === 0n) throw new Error('the oracle has no ETH price');
    const gasPriceWei =
      block.baseFeePerGas === null ? await client.getGasPrice() : block.baseFeePerGas + tipWei;
    return { gasPriceWei, ethPrice };
  };

  const read = async (): Promise<GasMarks> => {
    if (last !== null && now() - last.at <= MAX_AGE_MS) return last.marks;
    reading ??= fetchMarks().then(
      (marks) => {
        last = { marks, at: now() };
        failure = null;
        reading = null;
        return marks;
      },
      (error: unknown) => {
        failure = faultLine(error);
        reading = null;
        throw error;
      },
    );
    return await reading;
  };

  const timer = setInterval(() => {
    // Expected to fail while the chain is away: `failure` tells it, and the next round tries again.
    read().catch(() => undefined);
  }, REFRESH_MS);
  timer.unref();

  return {
    read,
    readiness: () => {
      if (last === null) return { ok: false, reason: failure ?? 'gas and ETH prices not read yet' };
      if (now() - last.at > STALE_MS) {
        return { ok: false, reason: failure ?? 'gas and ETH prices are stale' };
      }
      return { ok: true };
    },
    stop: () => clearInterval(timer),
  };
}
