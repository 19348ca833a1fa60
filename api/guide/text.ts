/**
 * `/llms.txt`: what an agent needs to trade here, in about 1,200 tokens. No fact is written down twice: numbers come
 * from the protocol's constants and the requests' own schemas, routes from the endpoints, addresses and baskets from
 * the deployment, codes from the error table.
 */
import type { Address } from 'viem';
import {
  CHAIN_ID,
  COVER_FEE_BPS,
  EXECUTOR_FEE_BPS,
  MAX_EXECUTOR_FEE_BPS,
  MAX_MANAGEMENT_FEE_BPS,
  MAX_NETWORK_FEE,
  MAX_SESSION_COVER_COST_BPS,
  MAX_SESSION_SLIPPAGE_BPS,
  MIN_EXECUTOR_FEE,
  MIN_MANAGEMENT_FEE_BPS,
  MIN_ORDER,
  MIN_TRADE,
  MINT_FEE_BPS,
  REFERENCE_WINDOW,
  SELL_FEE_BPS,
} from '../../contracts-abi/constants.ts';
import { formatDecimal } from '../../contracts-abi/rounding.ts';
import { ERROR_TABLE } from '../../runtime/errors.ts';
import type { Basket } from '../catalog/catalog.ts';
import { agentCover } from '../endpoints/agent-cover.ts';
import { agentSession } from '../endpoints/agent-session.ts';
import { agentTrade } from '../endpoints/agent-trade.ts';
import { basket } from '../endpoints/basket.ts';
import { coverBook } from '../endpoints/cover-book.ts';
import { coverPositions } from '../endpoints/cover-positions.ts';
import { coverWeeks } from '../endpoints/cover-weeks.ts';
import { jobs } from '../endpoints/jobs.ts';
import { markets } from '../endpoints/markets.ts';
import { navHistory } from '../endpoints/nav-history.ts';
import { orders } from '../endpoints/orders.ts';
import { positions } from '../endpoints/positions.ts';
import { txBuy } from '../endpoints/tx-buy.ts';
import { txCancel } from '../endpoints/tx-cancel.ts';
import { txExit } from '../endpoints/tx-exit.ts';
import { txLimit } from '../endpoints/tx-limit.ts';
import { txRedeem } from '../endpoints/tx-redeem.ts';
import { txSell } from '../endpoints/tx-sell.ts';
import { wallet } from '../endpoints/wallet.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { MCP_PATH } from '../mcp/json-rpc.ts';
import { expiryDaysSchema, slippageSchema } from '../schemas/common.ts';
import type { PublicUrls } from '../service.ts';
import { ADVICE, type ApiCode } from './advice.ts';

export type GuideFacts = {
  urls: PublicUrls;
  usdg: Address;
  sessionModule: Address;
  baskets: readonly Pick<Basket, 'ticker' | 'ordersEnabled'>[];
  /** Of MCP tool names. */
  toolPrefix: string;
  /** All there are, for the statuses that a code has on one route alone. */
  endpoints: readonly Endpoint[];
};

const route = ({ method, path }: { method: string; path: string }) =>
  `${method.toUpperCase()} ${path}`;
const dollars = (amount: bigint) => {
  const text = formatDecimal(amount, 6);
  return `$${text.includes('.') ? text.replace(/\.(\d)$/, '.$10') : text}`;
};
const percent = (bps: bigint) => `${formatDecimal(bps, 2)}%`;
const minutes = (seconds: bigint) => `${seconds / 60n}-minute`;

export function guideText(facts: GuideFacts): string {
  return `${[
    about(facts),
    units(),
    walletLoop(),
    restingOrders(facts),
    agentLoop(facts),
    cover(facts),
    fees(),
    errors(facts),
  ].join('\n\n')}\n`;
}

function about({ urls, usdg, baskets, toolPrefix }: GuideFacts): string {
  return `# Basket Index Trading Service

Tokenized index baskets on chain ${CHAIN_ID}, bought and sold for USDG. Non-custodial: answers are unsigned transactions, or unsigned typed data for an agent key. NEVER send a private key to this API, a tool or a URL: one that was sent is leaked, move the funds.

- Base URL: ${urls.base}; description: ${urls.base}/openapi.json
- MCP: ${urls.base}${MCP_PATH}, tools named ${toolPrefix}…
- RPC: ${urls.rpc}; explorer: ${urls.explorer}
- USDG: ${usdg}, 6 decimals. Use no token address from elsewhere: impostors carry the same symbols.
- Baskets: ${baskets.map(({ ticker }) => ticker).join(', ')}`;
}

function units(): string {
  return `## Units

- Dollars are plain numbers: amountUsdg, nav, triggerNav, stopNav, tpNav, value, PnL.
- Base units are integer strings: every *Wei, shares, minShares (1e18 a share); amountInUsdg, expectedUsdg, minOutUsdg, feeUsdg (USDG, 1e6 a dollar). Send sharesWei back unchanged; through floating point it becomes another amount: above the balance it reverts, below it some shares stay unsold.
- change24h, maxDrawdown, volatility are fractions: 0.012 is +1.2%. *Bps: 100 is 1%.`;
}

function walletLoop(): string {
  return `## Trade with a plain wallet

1. ${route(markets)}?prices=0&fields=ticker,nav,buyCostBps: pick a basket. live false: marks are stale, do not trade on them. Detail: ${route(basket)}; history: ${route(navHistory)}?format=summary&days=7.
2. ${route(wallet)}: usdg to spend; gasOk false: send ETH for gas first.
3. ${route(txBuy)} {"ticker","amountUsdg":50,"address"}. Optional slippageBps, default ${slippageSchema.parse(undefined)}. Never a partial buy.
4. approval not null: sign and send it, wait until it is mined. Then tx. simulation.ok false: do not send, reason says why. null with an approval: afterApproval is the dry run of both. Heed warnings.
5. ${route(positions)}: value, average entry, profit, walletSharesWei.
6. ${route(txSell)} {"ticker","address","shares":"max"}, or exact sharesWei, or "max" with "fraction":0.5. Approval first, then tx; USDG arrives in the same transaction. ${route(txRedeem)} gives the tokens instead.

Plans age: build, sign and send at once. A mined transaction that reverted (price moved past minShares or minOutUsdg) cost gas alone: rebuild.`;
}

function restingOrders({ baskets }: GuideFacts): string {
  const without = baskets.filter(({ ordersEnabled }) => !ordersEnabled);
  const except =
    without.length === 0
      ? ''
      : ` Not for ${without.map(({ ticker }) => ticker).join(', ')} (NO_REFERENCE).`;
  return `## Resting orders

- ${route(txLimit)} {"ticker","amountUsdg","address","triggerNav"}: buys when the ${minutes(REFERENCE_WINDOW)} average NAV is at or below triggerNav.
- ${route(txExit)} {"ticker","address","shares","stopNav","tpNav"}: either or both; stopNav below tpNav.
- ${route(orders)} lists open ones; ${route(txCancel)} {"orderId","address"} takes one back.

Funds wait in escrow. Default expiryDays ${expiryDaysSchema.parse(undefined)}; at least ${dollars(MIN_ORDER)}.${except} Anyone may execute what is due for a fee: ${route(jobs)}.`;
}

function agentLoop({ urls, sessionModule }: GuideFacts): string {
  return `## Trade as an agent

The owner keeps the funds in an account and grants your key limits; you need no ETH. Keep the key in a host signer, share its address only.

1. ${route(agentSession)}?owner=0x…&key=0x…: active false: ask the owner to approve at approvalUrl (${urls.approval}); paused true: wait. Check usdgWei, remainingTodayUsdg, maxSlippageBps, validUntil.
2. ${route(agentTrade)} {"owner","key","ticker","side":"buy","amountUsdg":20}, or "side":"sell" with "shares". Optional slippageBps (all-in, 1 to ${MAX_SESSION_SLIPPAGE_BPS}), feeUsdg "0". At least ${dollars(MIN_TRADE)} of basket value; the whole position may always be sold.
3. Sign typedData (EIP-712) as it stands. Check domain, account, vault, limit first.
4. POST {"action","signature"} to relayerUrl: ${urls.relayer}
   - 200 mined: hash. 202 pending: poll the same relayer, do not rebuild.
   - 402 FEE_REQUIRED: set only action.fee (and typedData.message.fee) to requiredFee, same nonce and deadline, sign, POST again. Refuse above ${dollars(MAX_NETWORK_FEE)}.
   - 400, 401, 403, 410, 422: nothing was sent. Follow next: rebuild or ask_owner.
   - 429, 503: nothing was sent; wait, POST the same bytes.
   - 409, 500, 502, 504, time-out, no answer: unclear. Call nonceUsed(account, nonce) on ${sessionModule}: true: done, do not repeat. false: POST the same signed action again; build anew only when it is unused and chain time is past deadline.`;
}

function cover({ urls }: GuideFacts): string {
  return `## Weekend cover

Pays the drop of a basket's ${minutes(REFERENCE_WINDOW)} average NAV over a weekend between fromBps and toBps: 300 to 1000 pays from -3%, in full at -10%. For holders; payouts come by themselves.

1. ${route(coverWeeks)}: weeks, terms, tickers. ${route(coverBook)}?coverUsd=200: offers and a quote per range; history.fairPer1k is what past weekends paid. Prices: dollars per $1,000 of cover, plus ${percent(COVER_FEE_BPS)} of the premium.
2. Agent, where coverEnabled: ${route(agentCover)} {"owner","key","action":"take","ticker","fromBps","toBps","coverUsd"}; "request" with "pricePer1k" waits for an underwriter, "cancel" with "listingId" takes it back. Sign as above, POST to ${urls.relayerCover}; nonceUsed is on the plan's module. At most ${percent(MAX_SESSION_COVER_COST_BPS)} of the cover, within its own daily limit.
3. ${route(coverPositions)}: move, paidOut.`;
}

function fees(): string {
  return `## Fees and limits

Mint ${percent(MINT_FEE_BPS)}, sell ${percent(SELL_FEE_BPS)}, in-kind redeem free, management ${percent(MIN_MANAGEMENT_FEE_BPS)} to ${percent(MAX_MANAGEMENT_FEE_BPS)} a year inside NAV. buyCostBps comes on top of the mint fee. Order fill: the larger of ${dollars(MIN_EXECUTOR_FEE)} and ${percent(EXECUTOR_FEE_BPS)}, at most ${percent(MAX_EXECUTOR_FEE_BPS)}. Agent turnover counts buys and sells per key until 00:00 UTC, network fees (at most ${dollars(MAX_NETWORK_FEE)} each) apart.`;
}

function errors({ endpoints }: GuideFacts): string {
  const codes = Object.keys(ADVICE) as ApiCode[];
  const lines = codes.map(
    (code) => `- ${code} ${statusesOf(code, endpoints).join('/')}: ${ADVICE[code].advice}`,
  );
  return `## Errors

{"error","code","retryable"}: branch on code; retry only where retryable is true.

${lines.join('\n')}`;
}

/** The table's own status, and what some endpoint answers instead. */
function statusesOf(code: ApiCode, endpoints: readonly Endpoint[]): number[] {
  const elsewhere = endpoints
    .flatMap(({ refusals }) => refusals)
    .flatMap((refusal) =>
      typeof refusal !== 'string' && refusal.code === code ? [refusal.status] : [],
    );
  return [...new Set([ERROR_TABLE[code].status, ...elsewhere])].sort((a, b) => a - b);
}
