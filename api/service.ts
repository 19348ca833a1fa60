/** What routes and builds work with; made once in main.ts. */
import type { PublicClient } from 'viem';
import type { Deployment } from '../contracts-abi/deployment.ts';
import { ApiError, type StatusOverride } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import type { AccountBooks } from './accounting/account-books.ts';
import type { Ledger } from './accounting/ledger.ts';
import type { LedgerTail } from './accounting/ledger-tail.ts';
import type { RecentBalances } from './builds/recent-balances.ts';
import type { Basket } from './catalog/catalog.ts';
import type { NewestBlock } from './chain/newest-block.ts';
import type { CoverIndex } from './cover/cover-index.ts';
import type { UnpaidPositions } from './cover/payouts-unpaid.ts';
import type { WeekendHistory } from './cover/weekends.ts';
import type { CoverCalendar } from './cover/weeks.ts';
import type { Indexer } from './indexer/indexer.ts';
import type { DueIndex } from './jobs/due-index.ts';
import type { News } from './jobs/news.ts';
import type { Marks } from './marks/marks.ts';
import type { NavHistory } from './nav/nav-history.ts';
import type { OrderIndex } from './orders/order-index.ts';
import type { AccountAddresses } from './session/accounts.ts';
import type { NonceLanes } from './session/nonces.ts';
import type { ApiTables } from './tables.ts';

export type PublicUrls = {
  /** This service's own base address. */
  base: string;
  /** Full URL of the relayer's execute route. */
  relayer: string;
  /** Full URL of the relayer's cover route. */
  relayerCover: string;
  approval: string;
  /** Shown to clients in the root document. */
  rpc: string;
  explorer: string;
};

export type Service = {
  client: PublicClient;
  deployment: Deployment;
  marks: Marks;
  navs: NavHistory;
  orders: OrderIndex;
  due: DueIndex;
  unpaid: UnpaidPositions;
  coverIndex: CoverIndex;
  coverCalendar: CoverCalendar;
  weekends: WeekendHistory;
  ledger: Ledger;
  accountBooks: AccountBooks;
  tail: LedgerTail;
  indexer: Indexer<ApiTables>;
  /** Told whenever marks or rows were read anew. */
  news: News;
  newest: NewestBlock;
  accounts: AccountAddresses;
  nonces: NonceLanes;
  balances: RecentBalances;
  urls: PublicUrls;
  logger: Logger;
};

/** @throws ApiError UNKNOWN_BASKET: 404 where the ticker is part of the path, 400 in a body (wire.md, Errors). */
export function basketOf(service: Service, ticker: string, status: StatusOverride): Basket {
  const basket = service.marks.catalog().byTicker(ticker);
  if (basket === null)
    throw new ApiError('UNKNOWN_BASKET', 'no basket has this ticker', { status });
  return basket;
}

/** @throws ApiError UPSTREAM until the index has reached the head: half of it would be taken for the whole. */
export function requireIndex({ indexer }: Service): void {
  if (!indexer.caughtUp) {
    throw new ApiError('UPSTREAM', 'the index is still reading the chain: retry');
  }
}
