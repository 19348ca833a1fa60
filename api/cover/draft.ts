/** What the plans of an agent's cover actions share: the session and the holding that they read, and what they come to. */
import { type Address, erc20Abi } from 'viem';
import type { CoverOrder } from '../../contracts-abi/cover-data.ts';
import {
  coverModuleAbi,
  exitEscrowAbi,
  navOracleAbi,
} from '../../contracts-abi/generated/index.ts';
import { optional, type ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import { ApiError } from '../../runtime/errors.ts';
import type { Basket } from '../catalog/catalog.ts';
import type { CoverBody } from '../schemas/cover.ts';
import type { Service } from '../service.ts';
import { planSession } from '../session/read-session.ts';
import type { Refused } from '../session/trade-policy.ts';
import type { CoverSession, Holder } from './cover-policy.ts';
import type { Filled } from './fill-offers.ts';

/** Money in USDG base units; cover in whole dollars. */
export type Summary = {
  cover: bigint;
  premium: bigint;
  fee: bigint;
  cost: bigint;
  returned?: bigint;
};
export type Draft = { cover: CoverSession; order: CoverOrder; summary: Summary; filled?: Filled };
export type Terms = {
  basket: Basket;
  week: number;
  fromBps: number;
  toBps: number;
  coverUsd: bigint;
};

export function refuse(...checks: (Refused | null)[]): void {
  const found = checks.find((check) => check !== null);
  if (found !== undefined) throw new ApiError(found.code, found.message);
}

export function planCoverSession(
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

export function planHolder(
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
