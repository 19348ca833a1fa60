/**
 * The market of a running local chain: every few seconds it trades the pools to where the seeded price process stands.
 * Steps are of fixed length, so the path of prices is the same in every run; pushes (push.ts) shift it for good.
 */
import type { LocalAccount } from 'viem';
import { marketMakerAbi, uniswapV3PoolAbi } from '../../../contracts-abi/generated/index.ts';
import { type ChainClient, reasonOf } from '../client.ts';
import { PRICE_SCALE } from '../price.ts';
import { scaled } from '../seed/history.ts';
import type { Manifest } from '../seed/manifest.ts';
import type { PriceProcess } from '../seed/price-process.ts';
import { type Move, movesTo, trade } from './moves.ts';

export type MarketOptions = {
  client: ChainClient;
  maker: LocalAccount;
  manifest: Manifest;
  /** Stands at the prices that the pools have now. */
  process: PriceProcess;
  /** Seconds of the price process that a step covers, default 4. */
  stepSeconds?: number;
  /** Between steps; default as long as a step covers. */
  pauseMs?: number;
  /** After each step: how many pools moved, or why none could. */
  onStep?: (outcome: StepOutcome) => void;
};

export type StepOutcome = { tag: 'moved'; pools: number } | { tag: 'failed'; reason: string };

export type Market = {
  /** Resolves when the step under way, if any, has ended. */
  stop(): Promise<void>;
};

/** A pool nearer than this to its price is left alone: parts per million of the square-root price. */
const DEAD_BAND_PPM = 150n;
/** Each step trades one part in so many of the market, so that blocks stay small. */
const ROTATION = 3;

export function startMarket(options: MarketOptions): Market {
  const { process, stepSeconds = 4, onStep } = options;
  const { pauseMs = stepSeconds * 1_000 } = options;
  const ending = new AbortController();
  let wake: () => void = () => undefined;
  let round = 0;

  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const prices = process.step(stepSeconds);
      try {
        const pools = await step(options, scaled(prices), round);
        onStep?.({ tag: 'moved', pools });
      } catch (error) {
        // expected while the node restarts or a user's trade emptied the maker: the next step tries again
        onStep?.({ tag: 'failed', reason: reasonOf(error) });
      }
      round += 1;
      if (ending.signal.aborted) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };

  const running = run();
  return {
    stop: () => {
      ending.abort();
      wake();
      return running;
    },
  };
}

async function step(
  { client, maker, manifest }: MarketOptions,
  fair: ReadonlyMap<string, bigint>,
  round: number,
): Promise<number> {
  const traded = manifest.tokens.filter(({ symbol }) => fair.has(symbol));
  const shifts = await client.multicall({
    allowFailure: false,
    contracts: traded.map(({ address }) => ({
      address: manifest.maker,
      abi: marketMakerAbi,
      functionName: 'shift' as const,
      args: [address] as const,
    })),
  });
  const prices = new Map<string, bigint>();
  for (const [index, { symbol }] of traded.entries()) {
    const shift = shifts[index] ?? 0n;
    const price = fair.get(symbol) ?? 0n;
    prices.set(symbol, shift === 0n ? price : (price * shift) / PRICE_SCALE);
  }
  const turn = movesTo(manifest, prices).filter(
    (_, index) => index % ROTATION === round % ROTATION,
  );
  const moves = await outsideBand(client, turn);
  await trade(client, maker, manifest, moves);
  return moves.length;
}

async function outsideBand(client: ChainClient, moves: readonly Move[]): Promise<Move[]> {
  const slots = await client.multicall({
    allowFailure: false,
    contracts: moves.map(({ pool }) => ({
      address: pool,
      abi: uniswapV3PoolAbi,
      functionName: 'slot0' as const,
    })),
  });
  return moves.filter(({ sqrtPriceX96: target }, index) => {
    const present = slots[index]?.[0] ?? target;
    const distance = present > target ? present - target : target - present;
    return distance * 1_000_000n > target * DEAD_BAND_PPM;
  });
}
