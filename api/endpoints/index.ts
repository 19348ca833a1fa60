/** Every endpoint of the api, in the order in which the documentation lists them. */
import type { Endpoint } from '../http/endpoint.ts';
import { agentCover } from './agent-cover.ts';
import { agentSession } from './agent-session.ts';
import { agentTrade } from './agent-trade.ts';
import { approve } from './approve.ts';
import { basket } from './basket.ts';
import { baskets } from './baskets.ts';
import { coverBook } from './cover-book.ts';
import { coverPayouts } from './cover-payouts.ts';
import { coverPositions } from './cover-positions.ts';
import { coverWeeks } from './cover-weeks.ts';
import { docs } from './docs.ts';
import { health } from './health.ts';
import { jobs } from './jobs.ts';
import { jobsChanges } from './jobs-changes.ts';
import { llms } from './llms.ts';
import { markets } from './markets.ts';
import { mcp } from './mcp.ts';
import { navHistory } from './nav-history.ts';
import { openapi } from './openapi.ts';
import { orders } from './orders.ts';
import { positions } from './positions.ts';
import { ready } from './ready.ts';
import { root } from './root.ts';
import { sellRoutes } from './sell-routes.ts';
import { stats } from './stats.ts';
import { strategies } from './strategies.ts';
import { txBuy } from './tx-buy.ts';
import { txCancel } from './tx-cancel.ts';
import { txExit } from './tx-exit.ts';
import { txLimit } from './tx-limit.ts';
import { txRedeem } from './tx-redeem.ts';
import { txSchedule } from './tx-schedule.ts';
import { txSell } from './tx-sell.ts';
import { wallet } from './wallet.ts';

export const ENDPOINTS = [
  root,
  health,
  ready,
  openapi,
  llms,
  docs,
  mcp,
  baskets,
  basket,
  markets,
  navHistory,
  stats,
  wallet,
  positions,
  orders,
  strategies,
  txBuy,
  txSell,
  txExit,
  txLimit,
  txRedeem,
  txSchedule,
  txCancel,
  sellRoutes,
  jobs,
  jobsChanges,
  coverWeeks,
  coverBook,
  coverPositions,
  coverPayouts,
  agentSession,
  agentTrade,
  agentCover,
  approve,
] as const satisfies readonly Endpoint[];

/** Any one of them with its own types. */
export type ApiEndpoint = (typeof ENDPOINTS)[number];
