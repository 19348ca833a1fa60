/** A take: out of the index what the key could buy, out of the chain what of that is open, and what is made of it. */
import type { Address } from 'viem';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { type BlockId, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { CoverBody } from '../schemas/cover.ts';
import { requireIndex, type Service } from '../service.ts';
import type { Offers } from './cover-index.ts';
import { checkCoverGrant, checkFilled, checkHolder, checkMeans } from './cover-policy.ts';
import { type Draft, planCoverSession, planHolder, refuse, type Terms } from './draft.ts';
import { fillOffers, SHORTLISTED } from './fill-offers.ts';
import { MAX_SESSION_TAKE_PRICE } from './terms.ts';

/** What the key could take, as the index has it. */
export async function offersFor(
  service: Service,
  { week, basket, fromBps, toBps }: Terms,
  account: Address,
  { maxPricePer1k = MAX_SESSION_TAKE_PRICE }: CoverBody,
): Promise<Offers> {
  requireIndex(service);
  const mostPrice = maxPricePer1k < MAX_SESSION_TAKE_PRICE ? maxPricePer1k : MAX_SESSION_TAKE_PRICE;
  return await service.coverIndex.offersOf(week, basket.vault, {
    cheapest: SHORTLISTED,
    largest: SHORTLISTED,
    account,
    takeable: { fromBps, toBps, mostPrice },
  });
}

export async function draftTake(
  service: Service,
  account: Address,
  body: CoverBody,
  terms: Terms,
  { offers, leftOutUsd }: Offers,
  block: BlockId,
): Promise<Draft> {
  const { client, deployment } = service;
  const { basket, week, coverUsd } = terms;
  const market = { to: deployment.coverMarket, abi: coverMarketAbi } as const;
  const batch = new ReadBatch();
  const reading = planCoverSession(batch, service, account, body);
  const holding = planHolder(batch, service, account, basket);
  const cap = batch.add({ ...market, functionName: 'capOf', args: [basket.vault] });
  const sold = batch.add({ ...market, functionName: 'marketOf', args: [week, basket.vault] });
  const listings = offers.map((offer) => ({
    offer,
    listing: batch.add({ ...market, functionName: 'listingOf', args: [offer.id] }),
  }));
  await batch.send(client, deployment.multicall3, block);

  const cover = reading();
  refuse(checkCoverGrant(cover, body.feeUsdg), checkHolder(holding()));
  // The index may be a block behind: what is open the chain says.
  const open = listings
    .map(({ offer, listing }) => ({
      ...offer,
      openUsd: required(listing, 'an offer of cover').openUsd,
    }))
    .filter(({ openUsd }) => openUsd > 0n);
  const capLeftUsd = required(cap, 'the cap') - required(sold, 'the market of cover').soldUsd;
  const filled = fillOffers(open, coverUsd, capLeftUsd);
  const bookUsd = open.reduce((sum, { openUsd }) => sum + openUsd, leftOutUsd);
  refuse(
    checkFilled(
      filled,
      { coverUsd, allowPartial: body.allowPartial ?? false },
      { bookUsd, capLeftUsd },
    ),
    checkMeans(cover, filled.cost, body.feeUsdg),
  );
  return {
    cover,
    filled,
    order: {
      tag: 'take',
      ids: filled.parts.map(({ id }) => id),
      coverUsd: filled.parts.map((part) => part.coverUsd),
      minCoverUsd: filled.filledUsd,
      // Ids bind their prices: what it costs now is what it can cost at most.
      limit: filled.cost,
    },
    summary: { cover: filled.filledUsd, ...filled },
  };
}
