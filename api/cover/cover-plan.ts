/** The unsigned cover action of an agent, bounded by what the market holds now (wire.md, Cover plan). */
import { type Address, isAddressEqual } from 'viem';
import { COVER_KIND, encodeCoverData } from '../../contracts-abi/cover-data.ts';
import { coverFeeOf, premiumOf } from '../../contracts-abi/cover-pricing.ts';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { toNumber } from '../../contracts-abi/rounding.ts';
import {
  type CoverAction,
  coverActionToJson,
  coverActionTypedData,
} from '../../contracts-abi/typed-data.ts';
import { type BlockId, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { ApiError } from '../../runtime/errors.ts';
import { refuseSurely } from '../chain/newest-block.ts';
import type { CoverBody } from '../schemas/cover.ts';
import { basketOf, type Service } from '../service.ts';
import { sessionJson } from '../session/read-session.ts';
import { ACTION_LIFETIME, SKIPPED } from '../session/signed-later.ts';
import { checkCoverGrant, checkHolder, checkMeans, leftToday } from './cover-policy.ts';
import { type Draft, planCoverSession, planHolder, refuse, type Terms } from './draft.ts';
import { draftTake, offersFor } from './draft-take.ts';
import { requireCoverBasket, tradingWeek } from './weeks.ts';

/** ICoverMarket.Side. */
const SIDE = { none: 0, offer: 1, request: 2 } as const;

/** @throws ApiError with the codes of interface.md section 4, POST /v1/agent/cover. */
export async function buildCover(service: Service, body: CoverBody) {
  const terms = body.action === 'cancel' ? null : await termsOf(service, body);
  const account = await service.accounts.of(body.owner);
  const offers =
    terms !== null && body.action === 'take'
      ? await offersFor(service, terms, account, body)
      : { offers: [], leftOutUsd: 0n };
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
