/** What an underwriter does at the cover market by his own wallet: session keys buy cover and never sell it. */
import {
  type Address,
  encodeFunctionData,
  erc20Abi,
  isAddressEqual,
  type Log,
  parseEventLogs,
} from 'viem';
import {
  COVER_PRICE_STEP,
  COVER_RANGE_STEP_BPS,
  MAX_COVER_PRICE,
  MAX_COVER_TO_BPS,
  MIN_COVER_FROM_BPS,
  MIN_COVER_USD,
  MIN_COVER_WIDTH_BPS,
  USD,
} from '../../contracts-abi/constants.ts';
import type { CoverRequest } from '../../contracts-abi/cover-data.ts';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { formatDecimal } from '../../contracts-abi/rounding.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import type { DevWallet } from './open.ts';
import { type Sent, sendCall } from './send.ts';
import { coverMarket, currentWeek, tickerOf } from './sold-cover.ts';

/** ICoverMarket.Side. */
const REQUEST = 2;

/** Whole dollars of cover, USDG base units per $1,000 of it; `week` absent: the one that trades now. */
export type OfferTerms = {
  ticker: string;
  fromBps: bigint;
  toBps: bigint;
  coverUsd: bigint;
  pricePer1k: bigint;
  week?: bigint;
  repeats: boolean;
};

/** ICoverMarket.Terms. */
type Terms = Omit<CoverRequest, 'tag'>;

/** The market's own bounds, said before anything is approved. @throws Error in one line. */
function checkTerms({ fromBps, toBps, coverUsd, pricePer1k }: OfferTerms): void {
  if (fromBps % COVER_RANGE_STEP_BPS !== 0n || toBps % COVER_RANGE_STEP_BPS !== 0n) {
    throw new Error(`--from and --to must be multiples of ${COVER_RANGE_STEP_BPS} bps`);
  }
  if (
    fromBps < MIN_COVER_FROM_BPS ||
    toBps < fromBps + MIN_COVER_WIDTH_BPS ||
    toBps > MAX_COVER_TO_BPS
  ) {
    throw new Error(
      `a range lies within ${MIN_COVER_FROM_BPS} to ${MAX_COVER_TO_BPS} bps and is at least ${MIN_COVER_WIDTH_BPS} wide`,
    );
  }
  if (coverUsd < MIN_COVER_USD) throw new Error(`--cover must be at least $${MIN_COVER_USD}`);
  if (pricePer1k === 0n || pricePer1k % COVER_PRICE_STEP !== 0n || pricePer1k > MAX_COVER_PRICE) {
    throw new Error(`--price must be whole cents, up to $${MAX_COVER_PRICE / USD} per $1,000`);
  }
}

/** @throws Error in one line: no such cover basket, a week that does not trade, terms out of bounds, too little USDG. */
export async function offer(wallet: DevWallet, role: Role, terms: OfferTerms) {
  const { client, deployment } = wallet;
  const market = coverMarket(wallet);
  checkTerms(terms);
  const vaults = await client.readContract({ ...market, functionName: 'coverVaults' });
  const tickers = vaults.map((address) => tickerOf(wallet, address));
  const vault = deployment.baskets.find(({ ticker }) => ticker === terms.ticker)?.vault;
  if (vault === undefined || !vaults.includes(vault)) {
    throw new Error(`${terms.ticker} has no cover market: ${tickers.join(', ')} have`);
  }
  const week = terms.week === undefined ? await currentWeek(wallet) : Number(terms.week);
  await requireTrading(wallet, week);
  const { fromBps, toBps, coverUsd, pricePer1k, repeats } = terms;
  const approval = await approve(wallet, role, coverUsd * USD);
  const tx = await onMarket(wallet, role, {
    functionName: 'offer',
    args: [
      { week, vault, fromBps: Number(fromBps), toBps: Number(toBps), coverUsd, pricePer1k },
      repeats,
    ],
  });
  return { approval, tx, ...(await listed(wallet, tx)) };
}

/** Underwrites so many dollars of a request. @throws Error in one line. */
export async function fill(wallet: DevWallet, role: Role, id: bigint, dollars: bigint) {
  const { openUsd, owner, side, terms } = await wallet.client.readContract({
    ...coverMarket(wallet),
    functionName: 'listingOf',
    args: [id],
  });
  if (side !== REQUEST) throw new Error('no request of this id: an offer is taken, not filled');
  if (openUsd === 0n) throw new Error('this request is not open any more');
  if (isAddressEqual(owner, devAccount(role).account.address)) {
    throw new Error(`this request is ${role}'s own`);
  }
  if (dollars > openUsd) throw new Error(`the request has $${openUsd} open`);
  if (dollars < MIN_COVER_USD && dollars !== openUsd) {
    throw new Error(`at least $${MIN_COVER_USD}, or all that is open: $${openUsd}`);
  }
  await requireTrading(wallet, terms.week);
  const approval = await approve(wallet, role, dollars * USD);
  const tx = await onMarket(wallet, role, { functionName: 'fill', args: [id, dollars] });
  const [sold] = parseEventLogs({
    abi: coverMarketAbi,
    eventName: 'CoverSold',
    logs: await logsOf(wallet, tx),
  });
  return {
    approval,
    tx,
    position: sold?.args.positionId.toString(),
    ticker: tickerOf(wallet, terms.vault),
    week: terms.week,
    coverUsd: dollars.toString(),
    premium: formatDecimal(sold?.args.premium ?? 0n, 6),
  };
}

/** What is open goes back: of one's own listing at any time. */
export async function cancelListing(wallet: DevWallet, role: Role, id: bigint) {
  return { tx: await onMarket(wallet, role, { functionName: 'cancel', args: [id] }) };
}

/** Anybody, once the week is cut off: a repeating offer goes on in the week that trades then. */
export async function roll(wallet: DevWallet, role: Role, id: bigint) {
  const tx = await onMarket(wallet, role, { functionName: 'roll', args: [id] });
  return { tx, ...(await listed(wallet, tx)) };
}

/** Anybody, once the week is cut off: what is open of a listing that does not repeat goes back to its owner. */
export async function sendBack(wallet: DevWallet, role: Role, id: bigint) {
  return { tx: await onMarket(wallet, role, { functionName: 'sendBack', args: [id] }) };
}

type OnMarket =
  | { functionName: 'offer'; args: readonly [Terms, boolean] }
  | { functionName: 'fill'; args: readonly [bigint, bigint] }
  | { functionName: 'cancel' | 'roll' | 'sendBack'; args: readonly [bigint] };

async function onMarket(wallet: DevWallet, role: Role, call: OnMarket): Promise<Sent> {
  const data = encodeFunctionData({ abi: coverMarketAbi, ...call });
  return await sendCall(wallet, role, wallet.deployment.coverMarket, data);
}

async function requireTrading(wallet: DevWallet, week: number): Promise<void> {
  const market = coverMarket(wallet);
  const known = week < 2 ** 32;
  const trades = { ...market, functionName: 'tradingOpen', args: [week] } as const;
  if (known && (await wallet.client.readContract(trades))) return;
  const current = await currentWeek(wallet);
  throw new Error(`week ${week} does not trade: ${current} does, and the next two`);
}

/** An allowance of exactly what the market pulls. Null when it stands. @throws Error where the USDG is not there. */
async function approve(wallet: DevWallet, role: Role, amount: bigint): Promise<Sent | null> {
  const { client, deployment } = wallet;
  const holder: Address = devAccount(role).account.address;
  const token = { address: deployment.usdg, abi: erc20Abi } as const;
  const [balance, allowance] = await Promise.all([
    client.readContract({ ...token, functionName: 'balanceOf', args: [holder] }),
    client.readContract({
      ...token,
      functionName: 'allowance',
      args: [holder, deployment.coverMarket],
    }),
  ]);
  if (balance < amount) {
    throw new Error(
      `${role} has $${formatDecimal(balance, 6)} of USDG; this locks $${formatDecimal(amount, 6)}`,
    );
  }
  if (allowance === amount) return null;
  const data = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'approve',
    args: [deployment.coverMarket, amount],
  });
  return await sendCall(wallet, role, token.address, data);
}

async function logsOf(wallet: DevWallet, { hash }: Sent): Promise<Log[]> {
  return (await wallet.client.getTransactionReceipt({ hash })).logs;
}

/** The listing that a transaction made. */
async function listed(wallet: DevWallet, tx: Sent) {
  const logs = await logsOf(wallet, tx);
  const [event] = parseEventLogs({ abi: coverMarketAbi, eventName: 'Listed', logs });
  if (event === undefined) throw new Error(`transaction ${tx.hash} listed nothing`);
  const { id, repeats, terms } = event.args;
  return {
    listing: id.toString(),
    ticker: tickerOf(wallet, terms.vault),
    week: terms.week,
    openUsd: terms.coverUsd.toString(),
    pricePer1k: formatDecimal(terms.pricePer1k, 6),
    repeats,
  };
}
