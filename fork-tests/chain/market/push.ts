/** Moves a token's price for good: what tests and demos use to make triggers cross. */
import type { LocalAccount } from 'viem';
import { marketMakerAbi } from '../../../contracts-abi/generated/index.ts';
import { type ChainClient, write } from '../client.ts';
import { PRICE_SCALE, toScaled } from '../price.ts';
import { type Manifest, tokenOf } from '../seed/manifest.ts';
import { dollarPrice, movesTo, trade } from './moves.ts';

/**
 * Trades every pool of the token to `factor` times its present dollar price and records the shift on chain, so that a
 * running market keeps to it. Pushing WETH moves the dollar price of what trades through it as well.
 *
 * The 10-minute average follows within ten minutes of chain time. While it does, a push beyond 6% leaves the basket
 * without a reference: the window is not calm (rule 1).
 */
export async function pushPrice(
  client: ChainClient,
  maker: LocalAccount,
  manifest: Manifest,
  symbol: string,
  factor: number,
): Promise<void> {
  const token = tokenOf(manifest, symbol);
  const present = await dollarPrice(client, manifest, token);
  if (present === null) throw new Error(`${symbol} trades nowhere`);
  const weth = await dollarPrice(client, manifest, tokenOf(manifest, 'WETH'));
  if (weth === null) throw new Error('WETH has no pool');
  const scaledFactor = toScaled(factor);
  const target = (present * scaledFactor) / PRICE_SCALE;
  const prices = new Map([
    ['WETH', weth],
    [symbol, target],
  ]);
  const own = new Set(token.pools.map(({ address }) => address));
  const moves = movesTo(manifest, prices).filter(({ pool }) => own.has(pool));

  const shift = await shiftOf(client, manifest, token.address);
  await write(client, maker, {
    address: manifest.maker,
    abi: marketMakerAbi,
    functionName: 'setShift',
    args: [token.address, (shift * scaledFactor) / PRICE_SCALE],
  });
  await trade(client, maker, manifest, moves);
}

/** The shift that pushes so far add up to, x 1e18. */
async function shiftOf(
  client: ChainClient,
  manifest: Manifest,
  token: `0x${string}`,
): Promise<bigint> {
  const shift = await client.readContract({
    address: manifest.maker,
    abi: marketMakerAbi,
    functionName: 'shift',
    args: [token],
  });
  return shift === 0n ? PRICE_SCALE : shift;
}
