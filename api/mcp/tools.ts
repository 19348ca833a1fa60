/**
 * The tools of wire.md, MCP tools. Each takes what its HTTP route takes and answers the route's JSON. Descriptions are read by a model that may see nothing else: units, order of steps, and
 * what an answer means stand there.
 */
import { z } from 'zod';
import { ApiError } from '../../runtime/errors.ts';
import { agentCover } from '../endpoints/agent-cover.ts';
import { agentSession } from '../endpoints/agent-session.ts';
import { agentTrade } from '../endpoints/agent-trade.ts';
import { basket } from '../endpoints/basket.ts';
import { coverBook } from '../endpoints/cover-book.ts';
import { coverPositions } from '../endpoints/cover-positions.ts';
import { coverWeeks } from '../endpoints/cover-weeks.ts';
import { markets } from '../endpoints/markets.ts';
import { navHistory } from '../endpoints/nav-history.ts';
import { orders } from '../endpoints/orders.ts';
import { positions } from '../endpoints/positions.ts';
import { txBuy } from '../endpoints/tx-buy.ts';
import { txCancel } from '../endpoints/tx-cancel.ts';
import { txExit } from '../endpoints/tx-exit.ts';
import { txLimit } from '../endpoints/tx-limit.ts';
import { txSell } from '../endpoints/tx-sell.ts';
import { wallet } from '../endpoints/wallet.ts';
import type { RouteContext } from '../http/context.ts';
import { type Endpoint, invoke, type RawInput } from '../http/endpoint.ts';
import { coverBookQuery } from '../schemas/cover.ts';
import { addressPath, navHistoryQuery, tickerPath } from '../schemas/reads.ts';
import { navSummaryBody } from '../schemas/responses/nav-history.ts';
import { inputSchemaByKind, inputSchemaOf, outputSchemaOf } from './schemas.ts';
import type { JsonObject, Tool } from './tool.ts';

const WALLET = 'Public address of the wallet that signs and pays.';
const OWNER = "Public address of the account's owner.";
const KEY = "Public address of the agent's key; never the key itself.";

const marketsTool: Tool = {
  name: 'markets',
  title: 'Basket markets',
  description:
    'All baskets with live marks: nav in dollars per share, change24h as a fraction (0.012 = +1.2%), buyCostBps (pool fees and price impact of a $1,000 buy, in basis points, on top of the mint fee), group, risk; and constituent prices in dollars. live false: the chain is out of reach and these are the last marks.',
  inputSchema: inputSchemaOf(markets.query, {
    fields:
      'Comma-separated keys kept per market: ticker, nav, change24h, buyCostBps, group, risk.',
    prices: '"0" leaves constituent prices out.',
  }),
  outputSchema: outputSchemaOf(markets.response),
  openWorld: true,
  run: (context, input) => invoke(markets, context, { query: input }),
};

/** The body of an endpoint with its own type. */
async function bodyOf<R extends z.ZodType>(
  endpoint: Endpoint & { response: R },
  context: RouteContext,
  raw: RawInput,
): Promise<z.output<R>> {
  return (await invoke(endpoint, context, raw)) as z.output<R>;
}

const basketTool: Tool = {
  name: 'basket',
  title: 'One basket',
  description:
    'One basket: marks as in the markets tool, thesis, fee, risk note, constituents with token address, target weight (fraction) and price in dollars; and navSummary over the last days: change, maxDrawdown and volatility as fractions, high and low in dollars. navSummary is null while the history is still being read.',
  inputSchema: inputSchemaOf(
    z.object({ ticker: tickerPath.shape.ticker, days: navHistoryQuery.shape.days }),
    { days: 'Days of NAV history to sum up, 1 to 365.' },
  ),
  outputSchema: outputSchemaOf(basket.response.extend({ navSummary: navSummaryBody.nullable() })),
  openWorld: true,
  run: async (context, { ticker, days }) => {
    const params = { ticker };
    const detail = await bodyOf(basket, context, { params });
    // A query holds text.
    const query = { format: 'summary', ...(days === undefined ? {} : { days: textOf(days) }) };
    const navSummary = await bodyOf(navHistory, context, { params, query }).catch(nullIfUnread);
    return { ...detail, navSummary };
  },
};

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Marks are worth having while the history is not there yet. */
function nullIfUnread(error: unknown): null {
  if (error instanceof ApiError && error.code === 'UPSTREAM') return null;
  throw error;
}

const accountTool: Tool = {
  name: 'account',
  title: 'Wallet, positions, orders',
  description:
    'What an address has: wallet (ETH, USDG, own shares as sharesWei in 1e18 units; gasOk false: too little ETH for a trade), positions (shares, value, cost, average entry, realized and unrealized profit, in dollars) and open orders with their ids and escrows. Send walletSharesWei back unchanged to sell.',
  inputSchema: inputSchemaOf(addressPath, { address: 'Public address of a wallet or account.' }),
  outputSchema: outputSchemaOf(
    z.object({
      address: wallet.response.shape.address,
      wallet: wallet.response,
      positions: positions.response.shape.positions,
      orders: orders.response.shape.orders,
    }),
  ),
  openWorld: true,
  run: async (context, input) => {
    const raw = { params: input };
    const [own, held, open] = await Promise.all([
      bodyOf(wallet, context, raw),
      bodyOf(positions, context, raw),
      bodyOf(orders, context, raw),
    ]);
    return {
      address: own.address,
      wallet: own,
      positions: held.positions,
      orders: open.orders,
    };
  },
};

const buyTool: Tool = {
  name: 'buy',
  title: 'Build a buy',
  description:
    'Unsigned transactions that buy a basket for USDG from a plain wallet. Nothing is sent. If approval is not null, the wallet sends it first and waits until it is mined, then sends tx. simulation.ok: true passed; false would revert, do not send; null not run. amountInUsdg is in USDG 1e6 units, minShares in 1e18 units. Never a partial buy.',
  inputSchema: inputSchemaOf(txBuy.body, { address: WALLET }),
  outputSchema: outputSchemaOf(txBuy.response),
  openWorld: true,
  run: (context, input) => invoke(txBuy, context, { body: input }),
};

const sellTool: Tool = {
  name: 'sell',
  title: 'Build a sale',
  description:
    'Unsigned transactions that sell basket shares for USDG in one transaction. Nothing is sent. Send approval first where it is not null, then tx, as for a buy. expectedUsdg and minOutUsdg are in USDG 1e6 units.',
  inputSchema: inputSchemaOf(txSell.body, {
    address: WALLET,
    shares: 'Exact shares as an integer string in 1e18 units (a sharesWei unchanged), or "max".',
  }),
  outputSchema: outputSchemaOf(txSell.response),
  openWorld: true,
  run: (context, input) => invoke(txSell, context, { body: input }),
};

const orderKinds = {
  limit: txLimit,
  exit: txExit,
  cancel: txCancel,
} as const;
type OrderKind = keyof typeof orderKinds;

const orderInputs = {
  limit: inputSchemaOf(txLimit.body, { address: WALLET }),
  exit: inputSchemaOf(txExit.body, {
    address: WALLET,
    stopNav: 'Stop-loss: sells at or below this NAV, dollars per share.',
    tpNav: 'Take-profit: sells at or above this NAV, dollars per share.',
  }),
  cancel: inputSchemaOf(txCancel.body, {
    orderId: 'Id of the open order: 0x and 64 hex characters.',
    escrow: 'Escrow that holds it; looked up when absent.',
  }),
} satisfies Record<OrderKind, unknown>;

const orderTool: Tool = {
  name: 'order',
  title: 'Build an order',
  description:
    'Unsigned transactions for a resting order, by kind. limit: USDG goes into escrow and buys when the 10-minute average NAV is at or below triggerNav (none: at once). exit: shares go into escrow and are sold at stopNav (stop-loss), tpNav (take-profit) or whichever comes first. cancel: takes an open order back out of escrow. Nothing is sent; send approval first where it is not null, then tx.',
  inputSchema: inputSchemaByKind('kind', orderInputs),
  outputSchema: outputSchemaOf(txLimit.response, txExit.response, txCancel.response),
  openWorld: true,
  run: (context, { kind, ...input }) => {
    const known = z
      .enum(Object.keys(orderKinds) as OrderKind[], { error: 'expected limit, exit or cancel' })
      .safeParse(kind);
    if (!known.success) throw new ApiError('BAD_REQUEST', 'kind: expected limit, exit or cancel');
    refuseFieldsOfOthers('an order of kind', orderInputs, known.data, input);
    return invoke(orderKinds[known.data], context, { body: input });
  },
};

type Inputs = Readonly<Record<string, { properties: JsonObject }>>;

/** A stop on a limit buy would not be placed: better refused than left out without a word. */
function refuseFieldsOfOthers(what: string, inputs: Inputs, kind: string, given: JsonObject): void {
  for (const name of Object.values(inputs).flatMap(({ properties }) => Object.keys(properties))) {
    if (name in given && !(name in (inputs[kind]?.properties ?? {}))) {
      throw new ApiError('BAD_REQUEST', `${name}: not part of ${what} ${kind}`);
    }
  }
}

const coverInputs = {
  weeks: inputSchemaOf(z.object({})),
  book: inputSchemaOf(tickerPath.extend(coverBookQuery.shape), {
    account: 'The buyer, whose own offers are left out of quotes; of positions, whose they are.',
    coverUsd: 'Whole dollars of cover to quote.',
  }),
  positions: inputSchemaOf(coverPositions.params),
};
type CoverView = keyof typeof coverInputs;

const coverTool: Tool = {
  name: 'cover',
  title: 'Weekend cover',
  description:
    "Cover pays the drop of a basket's 10-minute average NAV over a weekend between fromBps and toBps (300 to 1000: from -3%, in full at -10%). Prices: dollars per $1,000 of cover, plus 1% of the premium. weeks: what trades now, terms, baskets. book: offers by range; history.fairPer1k is what past weekends paid; with coverUsd each range has a quote. positions: bought, underwritten, open; payouts come by themselves.",
  inputSchema: inputSchemaByKind('view', coverInputs),
  outputSchema: outputSchemaOf(coverWeeks.response, coverBook.response, coverPositions.response),
  openWorld: true,
  run: (context, { view, ...input }) => {
    const known = z.enum(Object.keys(coverInputs) as CoverView[]).safeParse(view);
    if (!known.success) {
      throw new ApiError('BAD_REQUEST', 'view: expected weeks, book or positions');
    }
    refuseFieldsOfOthers('the view', coverInputs, known.data, input);
    if (known.data === 'weeks') return invoke(coverWeeks, context, {});
    if (known.data === 'positions') return invoke(coverPositions, context, { params: input });
    const { ticker, ...query } = input;
    return invoke(coverBook, context, { params: { ticker }, query });
  },
};

const guideTool: Tool = {
  name: 'guide',
  title: 'Trading guide',
  description:
    'The guide to trading here, as text: units, the loop of a plain wallet, the loop of an agent key, fees, limits, and what to do about each error code. Read it first.',
  inputSchema: inputSchemaOf(z.object({})),
  openWorld: false,
  run: ({ guide }) => Promise.resolve(guide.current().text),
};

const agentSessionTool: Tool = {
  name: 'agent_session',
  title: 'Agent session',
  description:
    "The live permission of an agent's key on its owner's account: active, paused, USDG balance, turnover left today and its limit (USDG 1e6 units, resets 00:00 UTC), maxSlippageBps, validUntil (unix seconds), approvalUrl and relayerUrl. When active is false, the owner approves at approvalUrl; nothing here can.",
  inputSchema: inputSchemaOf(agentSession.query, { owner: OWNER, key: KEY }),
  outputSchema: outputSchemaOf(agentSession.response),
  openWorld: true,
  run: (context, input) => invoke(agentSession, context, { query: input }),
};

const agentTradeTool: Tool = {
  name: 'agent_trade',
  title: 'Build an agent trade',
  description:
    "An unsigned action of an agent's key. Nothing is signed or sent, no permission is granted or widened. The host signer signs typedData and POSTs {action, signature} to relayerUrl. On 402 sign again with only fee changed to requiredFee. After an unclear answer read nonceUsed(account, nonce) on the session module before building anew.",
  inputSchema: inputSchemaOf(agentTrade.body, {
    owner: OWNER,
    key: KEY,
    amountUsdg: 'Buy budget in dollars, at least 5. Required to buy, forbidden to sell.',
    shares: 'Exact shares, integer string in 1e18 units. Required to sell, forbidden to buy.',
    slippageBps: 'All-in tolerance in basis points; absent: 50, or the lower cap of the grant.',
    feeUsdg: 'Network fee to sign, USDG 1e6 units: "0" first, then what the relayer asks.',
  }),
  outputSchema: outputSchemaOf(agentTrade.response),
  openWorld: true,
  run: (context, input) => invoke(agentTrade, context, { body: input }),
};

const agentCoverTool: Tool = {
  name: 'agent_cover',
  title: 'Build an agent cover action',
  description:
    "An unsigned cover action of an agent's key for a basket that the account holds. take buys from the book, request waits for an underwriter, cancel takes a request back. Sign and POST as for agent_trade; nonceUsed is on the cover module. Costs count against coverRemainingTodayUsdg (USDG 1e6 units).",
  inputSchema: inputSchemaOf(agentCover.body, { owner: OWNER, key: KEY }),
  outputSchema: outputSchemaOf(agentCover.response),
  openWorld: true,
  run: (context, input) => invoke(agentCover, context, { body: input }),
};

export const TOOLS: readonly Tool[] = [
  marketsTool,
  basketTool,
  accountTool,
  buyTool,
  sellTool,
  orderTool,
  guideTool,
  agentSessionTool,
  agentTradeTool,
  coverTool,
  agentCoverTool,
];
