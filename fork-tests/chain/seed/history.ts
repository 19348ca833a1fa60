/**
 * Half a year of prices before the chain is handed over, so that cover has weekends to be judged by, charts have shape
 * and references are valid at once: steps shorter than a weekend first, then two days of hours, then twenty minutes,
 * which is more than the reference's ten.
 */
import type { LocalAccount } from 'viem';
import type { ChainClient } from '../client.ts';
import { movesTo, trade } from '../market/moves.ts';
import { toScaled } from '../price.ts';
import type { Manifest } from './manifest.ts';
import { createPriceProcess, type PriceProcess } from './price-process.ts';

/** From a week's close to its settlement where the clocks go forward; a step of less moves every weekend. */
const SHORTEST_WEEKEND = 65 * 3_600;
const STEP = SHORTEST_WEEKEND - 5 * 3_600;
const WEEKENDS = 27;
const LONG_STEPS = Math.ceil((WEEKENDS * 7 * 86_400) / STEP);

/** Seconds of each step. */
const STEPS: readonly number[] = [
  ...Array<number>(LONG_STEPS).fill(STEP),
  ...Array<number>(48).fill(3_600),
  ...Array<number>(20).fill(60),
];

/** How long before the present a chain must begin for its history to fit, with a margin for the deployment. */
export const HISTORY_SECONDS = STEPS.reduce((sum, step) => sum + step, 0) + 600;

const SEED = 4663;

export function openingProcess(manifest: Manifest): PriceProcess {
  return createPriceProcess(
    SEED,
    manifest.tokens.filter(({ price }) => price > 0),
  );
}

/** The process as it stands at the end of the history: what the market goes on from. */
export function resumedProcess(manifest: Manifest): PriceProcess {
  const process = openingProcess(manifest);
  for (const seconds of STEPS) process.step(seconds);
  return process;
}

/** Trades through the history, ending at `endsAt` (unix seconds); `lately` is called two days and a bit before. */
export async function tradeHistory(
  client: ChainClient,
  maker: LocalAccount,
  manifest: Manifest,
  endsAt: number,
  progress: (step: string) => void,
  lately: () => Promise<void>,
): Promise<void> {
  const process = openingProcess(manifest);
  let at = endsAt - STEPS.reduce((sum, step) => sum + step, 0);
  for (const [index, seconds] of STEPS.entries()) {
    if (index === LONG_STEPS) await lately();
    at += seconds;
    if (index % 20 === 0) progress(`trading through history: ${index} of ${STEPS.length}`);
    await client.setNextBlockTimestamp({ timestamp: BigInt(at) });
    await trade(client, maker, manifest, movesTo(manifest, scaled(process.step(seconds))));
  }
}

export function scaled(prices: ReadonlyMap<string, number>): Map<string, bigint> {
  return new Map([...prices].map(([symbol, price]) => [symbol, toScaled(price)]));
}
