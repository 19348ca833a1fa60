/** Stated prices anew, from what the reference pools quote now, where a break was longer than prices stood still. */
import { type Address, erc20Abi } from 'viem';
import { uniswapV3PoolAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { PRICE_SCALE, priceAt } from '../price.ts';
import type { ProtocolPlan } from './plan.ts';

/** `standing`: tickers of vaults that were sent already; these and everything but prices stay as planned. */
export async function restatePrices(
  client: ReadClient,
  plan: ProtocolPlan,
  standing: ReadonlySet<string>,
): Promise<ProtocolPlan> {
  const { usdg, weth } = plan.externals;
  const decimalsOf = (address: Address) =>
    client.readContract({ address, abi: erc20Abi, functionName: 'decimals' });
  const quoteOf = async (pool: Address, token: Address, quote: Address): Promise<bigint> => {
    const [slot0, tokenDecimals] = await Promise.all([
      client.readContract({ address: pool, abi: uniswapV3PoolAbi, functionName: 'slot0' }),
      decimalsOf(token),
    ]);
    const quoteDecimals = quote === weth ? 18 : 6;
    return priceAt({ token, tokenDecimals, quote, quoteDecimals }, slot0[0]);
  };
  const wethPrice = await quoteOf(plan.wethUsdgPool, weth, usdg);
  const baskets: ProtocolPlan['baskets'] = [];
  for (const basket of plan.baskets) {
    if (standing.has(basket.ticker)) {
      baskets.push(basket);
      continue;
    }
    const constituents: typeof basket.constituents = [];
    for (const part of basket.constituents) {
      if (part.pool === null) {
        constituents.push(part);
        continue;
      }
      const quoted = await quoteOf(part.pool, part.token, part.viaWeth ? weth : usdg);
      const statedPrice = part.viaWeth ? (quoted * wethPrice) / PRICE_SCALE : quoted;
      constituents.push({ ...part, statedPrice });
    }
    baskets.push({ ...basket, constituents });
  }
  return { ...plan, baskets };
}
