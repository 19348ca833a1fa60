/** Stated prices anew, from what the reference pools quote now, where a break was longer than prices stood still. */
import { type Address, erc20Abi, type LocalAccount } from 'viem';
import { uniswapV3PoolAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { PRICE_SCALE, priceAt } from '../price.ts';
import type { Journal } from './journal.ts';
import type { Say } from './operator.ts';
import type { ProtocolPlan } from './plan.ts';
import { receiptOf } from './settle.ts';

/**
 * Until the first step is signed under it, the new plan is in memory alone: what is on record rests on the old one.
 * @returns the last step where it is signed and not mined: it is signed anew where its contents change.
 */
export async function restateJournal(
  client: ReadClient,
  account: LocalAccount,
  journal: Journal<ProtocolPlan>,
  say: Say,
): Promise<number | undefined> {
  const { plan } = journal.header;
  const resign = await unminedStep(client, account, journal);
  const sent = new Set(
    plan.baskets
      .map(({ ticker }) => ticker)
      .filter((ticker) =>
        journal.steps.some(
          ({ step, what }) => step !== resign && what === `deployment of BasketVault ${ticker}`,
        ),
      ),
  );
  journal.replan(await restatePrices(client, plan, sent));
  say(`Prices of ${plan.baskets.length - sent.size} baskets are stated anew.`);
  return resign;
}

/** By its receipt before its nonce: a node that lags has neither, and one that forgets receipts keeps nonces. */
async function unminedStep(
  client: ReadClient,
  { address }: LocalAccount,
  { steps }: Journal<ProtocolPlan>,
): Promise<number | undefined> {
  const last = steps.at(-1);
  if (last === undefined || (await receiptOf(client, last)) !== null) return undefined;
  const mined = await client.getTransactionCount({ address, blockTag: 'latest' });
  return mined <= last.nonce ? last.step : undefined;
}

/** `standing`: tickers of vaults that were sent already; these and everything but prices stay as planned. */
async function restatePrices(
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
