/**
 * Takes a running chain through the weekend of its cover: to the close, to the settlement, to the last payout. The
 * keeper does the work; here time passes, and the chain is watched until it is done.
 */
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import { toNumber } from '../../contracts-abi/rounding.ts';
import { devAccounts } from '../chain/seed/accounts.ts';
import { checkPush, push } from './market.ts';
import type { DevWallet } from './open.ts';
import { chainTime, passTime } from './pass-time.ts';
import { coverMarket, currentWeek, type SoldMarket, soldMarkets, timesOf } from './sold-cover.ts';

/** Seconds past a snapshot's moment: well within its hour, and no block stands on the edge. */
const PAST = 5;
/** For the keeper to take the snapshots, and once more for the payouts. */
const WAIT_MS = 120_000;
const LOOK_MS = 250;
/** Positions that are looked through, the newest first. */
const MOST_POSITIONS = 1_000n;

type Move = { ticker: string; percent: number };
export type WeekendStep = { step: string; chainTime: string; [what: string]: unknown };

/**
 * The weekend of the earliest week whose sold cover waits for a snapshot; where none does, of the week that trades now.
 * `move` pushes a basket's pools after the close, by percent.
 * @throws Error in one line when the keeper did not do its part in time.
 */
export async function* weekend(wallet: DevWallet, move?: Move): AsyncGenerator<WeekendStep> {
  if (move !== undefined) checkPush(wallet, move.ticker, move.percent);
  const [waiting] = (await soldMarkets(wallet)).filter(isUnfinished);
  const week = waiting?.week ?? (await currentWeek(wallet));
  const times = await timesOf(wallet, week);
  const ofWeek = async () => (await soldMarkets(wallet)).filter((each) => each.week === week);
  const told = async (step: string, what: object) => ({
    step,
    chainTime: new Date((await chainTime(wallet)) * 1_000).toISOString(),
    ...what,
  });
  const before = (await ofWeek()).filter(isUnfinished);

  // Also where nothing was sold: what falls before the close is no fall of the weekend.
  await passTime(wallet, times.close + PAST);
  if (before.some(({ outcome }) => outcome === 'open')) {
    const markets = await until('snapshot', ofWeek, ({ outcome }) => outcome !== 'open');
    yield await told('close', { week, markets: markets.map(outcomeWords) });
  }
  if (move !== undefined) {
    yield await told('push', await push(wallet, move.ticker, move.percent));
  }
  await passTime(wallet, times.settle + PAST);
  if (before.length === 0) {
    yield await told('settle', { week, note: 'no cover of this week was sold: nothing to settle' });
    return;
  }
  const markets = await until('settlement', ofWeek, (each) => !isUnfinished(each));
  yield await told('settle', { week, markets: markets.map(outcomeWords) });
  yield await told('payouts', { week, positions: await paidPositions(wallet, week) });
}

const isUnfinished = ({ outcome }: SoldMarket): boolean =>
  outcome === 'open' || outcome === 'closed';

/** @throws Error naming what is missing, and what a keeper that does not run leaves behind. */
async function until(
  what: string,
  read: () => Promise<SoldMarket[]>,
  holds: (market: SoldMarket) => boolean,
): Promise<SoldMarket[]> {
  return await lookUntil(read, (markets) => {
    const missing = markets.filter((market) => !holds(market)).map(({ ticker }) => ticker);
    return missing.length === 0
      ? null
      : `no ${what} of ${missing.join(', ')} within ${WAIT_MS / 1_000} s: does the keeper run? An hour of chain time after it was due the week can only be voided`;
  });
}

/** Looks at the chain until `lacks` has nothing to say, or throws what it said at the deadline. */
async function lookUntil<T>(
  read: () => Promise<T>,
  lacks: (found: T) => string | null,
): Promise<T> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const found = await read();
    const lack = lacks(found);
    if (lack === null) return found;
    if (Date.now() > deadline) throw new Error(lack);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function outcomeWords({ ticker, outcome, soldUsd, closeNav, settleNav }: SoldMarket) {
  const navs = outcome === 'settled' && closeNav > 0n;
  return {
    ticker,
    outcome,
    soldUsd: soldUsd.toString(),
    ...(closeNav === 0n ? {} : { closeNav: toNumber(closeNav, 18) }),
    ...(navs ? { settleNav: toNumber(settleNav, 18) } : {}),
    ...(navs ? { move: Number(settleNav) / Number(closeNav) - 1 } : {}),
  };
}

/** Every position of the week once it is paid: to whom how much. */
async function paidPositions(wallet: DevWallet, week: number) {
  const { client, deployment } = wallet;
  const market = coverMarket(wallet);
  const count = await client.readContract({ ...market, functionName: 'positionCount' });
  const first = count > MOST_POSITIONS ? count - MOST_POSITIONS + 1n : 1n;
  const ids = Array.from(
    { length: Number(count - first + 1n) },
    (_, index) => first + BigInt(index),
  );
  const positions = await lookUntil(
    async () => {
      const found = await client.multicall({
        allowFailure: false,
        contracts: ids.map(
          (id) => ({ ...market, functionName: 'positionOf', args: [id] }) as const,
        ),
      });
      return found
        .map((position, index) => ({ id: ids[index] ?? 0n, ...position }))
        .filter((position) => position.week === week);
    },
    (found) => {
      const unpaid = found.filter(({ paid }) => !paid).map(({ id }) => id.toString());
      return unpaid.length === 0
        ? null
        : `not paid within ${WAIT_MS / 1_000} s: position ${unpaid.join(', ')}; they are listed at the api's /v1/cover/payouts`;
    },
  );
  const events = await client.getContractEvents({
    address: market.address,
    abi: coverMarketAbi,
    eventName: 'PaidOut',
    args: { positionId: positions.map(({ id }) => id) },
    fromBlock: BigInt(deployment.startBlock),
    strict: true,
  });
  const paid = new Map(events.map(({ args }) => [args.positionId, args]));
  const names = new Map(
    Object.values(devAccounts()).map(({ role, account }) => [account.address, role]),
  );
  return positions.map(({ id, buyer, underwriter, coverUsd, fromBps, toBps }) => ({
    id: id.toString(),
    buyer: names.get(buyer) ?? buyer,
    underwriter: names.get(underwriter) ?? underwriter,
    fromBps,
    toBps,
    coverUsd: Number(coverUsd),
    toBuyer: toNumber(paid.get(id)?.toBuyer ?? 0n, 6),
    toUnderwriter: toNumber(paid.get(id)?.toUnderwriter ?? 0n, 6),
  }));
}
