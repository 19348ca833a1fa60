/** The unsigned cover action of an agent, bounded by what the market holds now (wire.md, Cover plan). */
import { type Address, erc20Abi, isAddressEqual } from 'viem';
import { MAX_SESSION_COVER_OFFERS } from '../../contracts-abi/constants.ts';
import { COVER_KIND, type CoverOrder, encodeCoverData } from '../../contracts-abi/cover-data.ts';
import {
  coverMarketAbi,
  coverModuleAbi,
  exitEscrowAbi,
  navOracleAbi,
} from '../../contracts-abi/generated/index.ts';
import { toNumber } from '../../contracts-abi/rounding.ts';
import {
  type CoverAction,
  coverActionToJson,
  coverActionTypedData,
} from '../../contracts-abi/typed-data.ts';
import { type BlockId, optional, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { ApiError } from '../../runtime/errors.ts';
import type { Basket } from '../catalog/catalog.ts';
import { refuseSurely } from '../chain/newest-block.ts';
import type { CoverBody } from '../schemas/cover.ts';
import { basketOf, requireIndex, type Service } from '../service.ts';
import { planSession, sessionJson } from '../session/read-session.ts';
import { ACTION_LIFETIME, SKIPPED } from '../session/signed-later.ts';
import type { Refused } from '../session/trade-policy.ts';
import type { Offer } from './cover-index.ts';
import {
  checkCoverGrant,
  checkFilled,
  checkHolder,
  checkMeans,
  type CoverSession,
  type Holder,
  leftToday,
} from './cover-policy.ts';
import { type Filled, fillOffers } from './fill-offers.ts';
import { coverFeeOf, MAX_SESSION_TAKE_PRICE, premiumOf } from './terms.ts';
import { requireCoverBasket, tradingWeek } from './weeks.ts';

/** Offers that the chain is asked about: some of the cheapest may be gone by now. */
const MOST_CONFIRMED = 2 * Number(MAX_SESSION_COVER_OFFERS);
/** ICoverMarket.Side. */
const SIDE = { none: 0, offer: 1, request: 2 } as const;

function refuse(...checks: (Refused | null)[]): void {
  const found = checks.find((check) => check !== null);
  if (found !== undefined) throw new ApiError(found.code, found.message);
}

/** Money in USDG base units; cover in whole dollars. */
type Summary = { cover: bigint; premium: bigint; fee: bigint; cost: bigint; returned?: bigint };
type Draft = { cover: CoverSession; order: CoverOrder; summary: Summary; filled?: Filled };
type Terms = { basket: Basket; week: number; fromBps: number; toBps: number; coverUsd: bigint };

/** @throws ApiError with the codes of interface.md section 4, POST /v1/agent/cover. */
export async function buildCover(service: Service, body: CoverBody) {
  const terms = body.action === 'cancel' ? null : await termsOf(service, body);
  const account = await service.accounts.of(body.owner);
  const offers =
    terms !== null && body.action === 'take' ? await offersFor(service, terms, account, body) : [];
  const draft = await refuseSurely(service, async (block) => {
    if (terms === null) return await draftCancel(service, account, body, block);
    return body.action === 'take'
      ? await draftTake(service, account, body, terms, offers, block)
      : await draftRequest(service, account, body, terms, block);
  });
  const { session } = draft.cover;
  const action: CoverAction = {
    account,
    key: body.key,
    kind: COVER_KIND[draft.order.tag],
    data: encodeCoverData(draft.order),
    nonce: service.nonces.propose(account, body.key, session.epoch),
    deadline: Math.min(session.chainTime + ACTION_LIFETIME, session.validUntil),
    fee: body.feeUsdg,
  };
  const { coverModule } = service.deployment;
  const { cover, premium, fee, cost, returned } = draft.summary;
  return {
    intent: body.action,
    ...(terms === null
      ? {}
      : {
          ticker: terms.basket.ticker,
          week: terms.week,
          fromBps: terms.fromBps,
          toBps: terms.toBps,
        }),
    summary: {
      cover: Number(cover),
      premium: toNumber(premium, 6),
      fee: toNumber(fee, 6),
      cost: toNumber(cost, 6),
      ...(returned === undefined ? {} : { returned: toNumber(returned, 6) }),
    },
    ...(draft.filled === undefined
      ? {}
      : {
          offers: draft.filled.parts.map(({ id, coverUsd, pricePer1k }) => ({
            id: id.toString(),
            coverUsd: Number(coverUsd),
            pricePer1k: toNumber(pricePer1k, 6),
          })),
        }),
    status: sessionJson(service, session),
    coverRemainingTodayUsdg: leftToday(draft.cover).toString(),
    module: coverModule,
    action: actionJson(action),
    typedData: typedDataOf(action, coverModule),
    relayerUrl: service.urls.relayerCover,
    simulation: SKIPPED,
  };
}

/** Kinds that a session key has, as the answer's type has them. */
type SessionKind = (typeof COVER_KIND)['take' | 'request' | 'cancel'];

function actionJson(action: CoverAction) {
  const json = coverActionToJson(action);
  return { ...json, kind: json.kind as SessionKind };
}

function typedDataOf(action: CoverAction, coverModule: Address) {
  return { ...coverActionTypedData(action, coverModule), message: actionJson(action) };
}

/** @throws ApiError UNKNOWN_BASKET, COVER_CLOSED, UPSTREAM. */
async function termsOf(service: Service, body: CoverBody): Promise<Terms> {
  const { ticker, fromBps, toBps, coverUsd } = body;
  if (
    ticker === undefined ||
    fromBps === undefined ||
    toBps === undefined ||
    coverUsd === undefined
  ) {
    throw new Error('the schema lets no terms be left out');
  }
  const basket = basketOf(service, ticker, 400);
  const calendar = await service.coverCalendar.read();
  requireCoverBasket(calendar, basket);
  const week = tradingWeek(calendar, body.week).id;
  return { basket, week, fromBps, toBps, coverUsd: BigInt(coverUsd) };
}

/** What the key could take, as the index has it: the cheapest first. */
async function offersFor(
  service: Service,
  { week, basket, fromBps, toBps }: Terms,
  account: Address,
  { maxPricePer1k = MAX_SESSION_TAKE_PRICE }: CoverBody,
): Promise<Offer[]> {
  requireIndex(service);
  const most = maxPricePer1k < MAX_SESSION_TAKE_PRICE ? maxPricePer1k : MAX_SESSION_TAKE_PRICE;
  const own = account.toLowerCase();
  const offers = await service.coverIndex.offersOf(week, basket.vault);
  return offers
    .filter((offer) => offer.fromBps === fromBps && offer.toBps === toBps)
    .filter(({ owner, pricePer1k }) => owner !== own && pricePer1k <= most)
    .slice(0, MOST_CONFIRMED);
}

function planCoverSession(
  batch: ReadBatch,
  service: Service,
  account: Address,
  { owner, key }: CoverBody,
): () => CoverSession {
  const session = planSession(batch, service, owner, key, account);
  const spent = batch.add({
    to: service.deployment.coverModule,
    abi: coverModuleAbi,
    functionName: 'usageOf',
    args: [account, key],
  });
  return () => ({ session: session(), spentToday: required(spent, 'the cover of today') });
}

function planHolder(
  batch: ReadBatch,
  { deployment }: Service,
  account: Address,
  { ticker, vault }: Basket,
): () => Holder {
  const free = batch.add({
    to: vault,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [account],
  });
  const escrowed = batch.add({
    to: deployment.exitEscrow,
    abi: exitEscrowAbi,
    functionName: 'escrowedShares',
    args: [account, vault],
  });
  const reference = batch.add({
    to: deployment.oracle,
    abi: navOracleAbi,
    functionName: 'referenceNav',
    args: [vault],
  });
  return () => ({
    ticker,
    shares: required(free, 'the shares') + required(escrowed, 'the shares in orders'),
    reference: optional(reference),
  });
}

async function draftTake(
  service: Service,
  account: Address,
  body: CoverBody,
  terms: Terms,
  offers: readonly Offer[],
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
  const open = listings.map(({ offer, listing }) => ({
    ...offer,
    openUsd: required(listing, 'an offer of cover').openUsd,
  }));
  const filled = fillOffers(
    open.filter(({ openUsd }) => openUsd > 0n),
    coverUsd,
    required(cap, 'the cap') - required(sold, 'the market of cover').soldUsd,
    Number(MAX_SESSION_COVER_OFFERS),
  );
  refuse(
    checkFilled(filled, { coverUsd, allowPartial: body.allowPartial ?? false }),
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

async function draftRequest(
  service: Service,
  account: Address,
  body: CoverBody,
  { basket, week, fromBps, toBps, coverUsd }: Terms,
  block: BlockId,
): Promise<Draft> {
  const pricePer1k = body.pricePer1k ?? 0n;
  const batch = new ReadBatch();
  const reading = planCoverSession(batch, service, account, body);
  const holding = planHolder(batch, service, account, basket);
  await batch.send(service.client, service.deployment.multicall3, block);
  const cover = reading();
  const premium = premiumOf(coverUsd, pricePer1k);
  refuse(
    checkCoverGrant(cover, body.feeUsdg),
    checkHolder(holding()),
    checkMeans(cover, premium, body.feeUsdg),
  );
  return {
    cover,
    order: { tag: 'request', week, vault: basket.vault, fromBps, toBps, coverUsd, pricePer1k },
    // The fee lies within the premium: the underwriter gets the rest (wire.md, Cover rules).
    summary: { cover: coverUsd, premium, fee: coverFeeOf(premium), cost: premium },
  };
}

async function draftCancel(
  service: Service,
  account: Address,
  body: CoverBody,
  block: BlockId,
): Promise<Draft> {
  const { client, deployment } = service;
  const listingId = body.listingId ?? 0n;
  const batch = new ReadBatch();
  const reading = planCoverSession(batch, service, account, body);
  const pending = batch.add({
    to: deployment.coverMarket,
    abi: coverMarketAbi,
    functionName: 'listingOf',
    args: [listingId],
  });
  await batch.send(client, deployment.multicall3, block);
  const cover = reading();
  refuse(checkCoverGrant(cover, body.feeUsdg));
  const { owner, side, openUsd, terms } = required(pending, 'the listing');
  const isOwn = side !== SIDE.none && isAddressEqual(owner, account);
  if (isOwn && side === SIDE.offer) {
    throw new ApiError(
      'BAD_REQUEST',
      'listingId: an offer, which the owner alone cancels; a key takes back requests',
    );
  }
  if (!isOwn || openUsd === 0n) {
    throw new ApiError('ORDER_NOT_OPEN', 'the account has no open request of this id');
  }
  return {
    cover,
    order: { tag: 'cancel', listingId },
    summary: {
      cover: openUsd,
      premium: 0n,
      fee: 0n,
      cost: 0n,
      returned: premiumOf(openUsd, terms.pricePer1k),
    },
  };
}
