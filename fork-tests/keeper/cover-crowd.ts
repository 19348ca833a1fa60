/**
 * A crowd that bought cover for one weekend, and what the weekend owes each of them: worked out here from the sales and
 * the two snapshots, by the formula of protocol.md, and held against where the market's money went.
 */
import {
  type Address,
  encodeAbiParameters,
  erc20Abi,
  getAbiItem,
  keccak256,
  type LocalAccount,
  type Log,
  numberToHex,
  parseEventLogs,
  stringToHex,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { USD } from '../../contracts-abi/constants.ts';
import { coverMarketAbi, localTokenAbi } from '../../contracts-abi/generated/index.ts';
import { type ChainClient, reasonOf, write } from '../chain/client.ts';
import { submitInBlocks } from '../chain/submitter.ts';
import { devAccount } from '../chain/seed/accounts.ts';
import { type Manifest, vaultOf } from '../chain/seed/manifest.ts';

type Place = { client: ChainClient; manifest: Manifest };

/** A position as it was sold; money in USDG base units. */
export type Sold = {
  positionId: bigint;
  buyer: Address;
  underwriter: Address;
  coverUsd: bigint;
  premium: bigint;
  fee: bigint;
};

export type Crowd = {
  ticker: string;
  vault: Address;
  week: number;
  close: number;
  settle: number;
  sold: readonly Sold[];
  /** One buyer and one underwriter to whom no USDG can be sent any more. */
  blocked: readonly LocalAccount[];
  /** Block from which on everything of it is. */
  fromBlock: bigint;
};

/** Grids that a drop of 8% goes below, into and beyond. */
const RANGES = [
  { fromBps: 300, toBps: 700, cents: 1_210n },
  { fromBps: 300, toBps: 1_000, cents: 640n },
  { fromBps: 400, toBps: 1_500, cents: 433n },
  { fromBps: 900, toBps: 1_500, cents: 210n },
] as const;
const BUYERS = 36;
const MOST_USD = 800;
/** Sales of one transaction. */
const SALES = 40;
const ETHER = 10n ** 18n;
const GAS = 20_000_000n;

const person = (name: string) =>
  privateKeyToAccount(keccak256(stringToHex(`cover crowd, local chain only/${name}`)));
const UNDERWRITERS = RANGES.map((_, index) => person(`underwriter ${index}`));

const marketOf = ({ manifest }: Place) =>
  ({ address: manifest.deployment.coverMarket, abi: coverMarketAbi }) as const;

/** $50 to $849 of cover, the sizes of a weekend's book; shares of a payout do not come out even. */
const coverOf = (sale: number): bigint => 50n + BigInt((sale * 337) % MOST_USD);

/**
 * Sells so many positions of the week trading now, then blocks a buyer and an underwriter. The Anvil must be ours alone
 * until it is done. The basket's cap of the week is raised in storage: pools deep enough for it are not what is tested.
 */
export async function sellToCrowd(
  place: Place,
  ticker: string,
  positions: number,
  say: (line: string) => void = () => undefined,
): Promise<Crowd> {
  const { client, manifest } = place;
  const { usdg, coverMarket } = manifest.deployment;
  const market = marketOf(place);
  const issuer = devAccount('deployer').account;
  const vault = vaultOf(manifest, ticker);
  const locked = BigInt(positions * (50 + MOST_USD));
  await raiseCap(place, vault, locked);
  const [, week] = await client.readContract({ ...market, functionName: 'currentWeek' });
  const times = await client.readContract({ ...market, functionName: 'weekOf', args: [week] });
  const fromBlock = (await client.getBlockNumber()) + 1n;
  const buyers = Array.from({ length: BUYERS }, (_, index) => person(`buyer ${index}`));

  const submitter = await submitInBlocks(client);
  for (const account of [...buyers, ...UNDERWRITERS]) {
    await client.setBalance({ address: account.address, value: ETHER });
    await submitter.write(issuer, {
      address: usdg,
      abi: localTokenAbi,
      functionName: 'mint',
      args: [account.address, locked * USD],
    });
    await submitter.write(account, {
      address: usdg,
      abi: erc20Abi,
      functionName: 'approve',
      args: [coverMarket, locked * USD],
    });
  }
  await submitter.flush();
  for (const [index, { cents, ...range }] of RANGES.entries()) {
    await submitter.write(UNDERWRITERS[index] ?? issuer, {
      ...market,
      functionName: 'offer',
      args: [{ week, vault, ...range, coverUsd: locked, pricePer1k: (cents * USD) / 100n }, false],
    });
  }
  await submitter.flush();
  const listed = (await eventsOf(place, 'Listed', fromBlock)).map(({ args }) => args);
  const ids = UNDERWRITERS.map(
    ({ address }) => listed.find(({ owner }) => owner === address)?.id ?? 0n,
  );
  for (let sale = 0, turn = 0; sale < positions; sale += SALES, turn += 1) {
    const count = Math.min(SALES, positions - sale);
    const sales = Array.from({ length: count }, (_, at) => sale + at);
    await submitter.write(buyers[turn % BUYERS] ?? issuer, {
      ...market,
      functionName: 'take',
      args: [sales.map((at) => ids[at % ids.length] ?? 0n), sales.map(coverOf), 0n, 10n ** 12n],
      gas: GAS,
    });
    if (turn % 10 === 9) {
      await submitter.flush();
      if (turn % 50 === 49) say(`${sale + count} positions sold`);
    }
  }
  await submitter.flush();
  await client.setAutomine(true);

  const sold = (await eventsOf(place, 'CoverSold', fromBlock)).map(({ args }) => args);
  if (sold.length !== positions) throw new Error(`${sold.length} of ${positions} positions`);
  const blocked = [...buyers.slice(0, 1), ...UNDERWRITERS.slice(0, 1)];
  for (const { address } of blocked) await setBlocked(place, address, true);
  return { ticker, vault, week, ...times, sold, blocked, fromBlock };
}

async function setBlocked({ client, manifest }: Place, who: Address, on: boolean): Promise<void> {
  await write(client, devAccount('deployer').account, {
    address: manifest.deployment.usdg,
    abi: localTokenAbi,
    functionName: 'setBlocked',
    args: [who, on],
  });
}

/** Lets the blocked receive again; each takes what he is owed. @returns what did not work. */
export async function claimCredits(place: Place, { blocked }: Crowd): Promise<string[]> {
  const { client } = place;
  const market = marketOf(place);
  const faults: string[] = [];
  for (const account of blocked) {
    const { address } = account;
    await setBlocked(place, address, false);
    const owed = await client.readContract({ ...market, functionName: 'credits', args: [address] });
    const claim = { ...market, functionName: 'claim', args: [address] } as const;
    const { logs } = await write(client, account, claim);
    const [claimed] = parseEventLogs({ abi: coverMarketAbi, eventName: 'Claimed', logs });
    if (owed === 0n || claimed?.args.amount !== owed) {
      faults.push(`${address} was owed ${owed}, got ${claimed?.args.amount}`);
    }
  }
  return faults;
}

/** Finds the cap's place in storage by trying, so that it needs no layout. */
async function raiseCap(place: Place, vault: Address, capUsd: bigint): Promise<void> {
  const { client } = place;
  const market = marketOf(place);
  const cap = () => client.readContract({ ...market, functionName: 'capOf', args: [vault] });
  for (let slot = 0n; slot < 32n; slot += 1n) {
    const index = keccak256(
      encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [vault, slot]),
    );
    const before = await client.getStorageAt({ address: market.address, slot: index });
    if (before === undefined || BigInt(before) !== (await cap())) continue;
    const value = numberToHex(capUsd, { size: 32 });
    await client.setStorageAt({ address: market.address, index, value });
    if ((await cap()) === capUsd) return;
    await client.setStorageAt({ address: market.address, index, value: before });
  }
  throw new Error('the cap of a week is not where a mapping of addresses would have it');
}

/** The market's events of one kind from `fromBlock` on. */
export async function eventsOf<
  const Name extends
    | 'Listed'
    | 'CoverSold'
    | 'SnapshotTaken'
    | 'WeekSettled'
    | 'PaidOut'
    | 'RewardPaid',
>(place: Place, eventName: Name, fromBlock: bigint) {
  const toBlock = await place.client.getBlockNumber();
  const logs = await logsOf(place, eventName, fromBlock, toBlock);
  return parseEventLogs({ abi: coverMarketAbi, eventName, logs });
}

/** Halved until the answer is one that viem reads. */
async function logsOf(
  place: Place,
  name: string,
  fromBlock: bigint,
  toBlock: bigint,
): Promise<Log[]> {
  const { client, manifest } = place;
  const event = getAbiItem({ abi: coverMarketAbi, name: name as 'PaidOut' });
  try {
    const address = manifest.deployment.coverMarket;
    return await client.getLogs({ address, event, fromBlock, toBlock });
  } catch (error) {
    // Expected of thousands of logs: a body above 10 MB.
    if (!/size limit/.test(reasonOf(error)) || fromBlock === toBlock) throw error;
    const middle = (fromBlock + toBlock) / 2n;
    return [
      ...(await logsOf(place, name, fromBlock, middle)),
      ...(await logsOf(place, name, middle + 1n, toBlock)),
    ];
  }
}

/** USDG base units of everybody whom the weekend concerns, the market and its fee pool. */
export type Money = { held: ReadonlyMap<Address, bigint>; market: bigint; feePool: bigint };

export async function moneyOf(
  place: Place,
  { sold }: Crowd,
  others: readonly Address[],
): Promise<Money> {
  const { client, manifest } = place;
  const { usdg, coverMarket } = manifest.deployment;
  const balance = (address: Address) =>
    client.readContract({
      address: usdg,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [address],
    });
  const people = [
    ...new Set([...sold.flatMap(({ buyer, underwriter }) => [buyer, underwriter]), ...others]),
  ];
  const held = new Map<Address, bigint>();
  for (const who of people) held.set(who, await balance(who));
  return {
    held,
    market: await balance(coverMarket),
    feePool: await client.readContract({ ...marketOf(place), functionName: 'feePool' }),
  };
}

/** protocol.md, CoverMarket: cover x clamp((drop - from) / (to - from), 0, 1), rounded down. */
function payoutOf(
  { coverUsd }: Sold,
  { fromBps, toBps }: { fromBps: number; toBps: number },
  closeNav: bigint,
  settleNav: bigint,
): bigint {
  const width = BigInt(toBps - fromBps) * closeNav;
  const above = (closeNav - settleNav) * 10_000n - BigInt(fromBps) * closeNav;
  const inside = above < 0n ? 0n : above > width ? width : above;
  return (coverUsd * USD * inside) / width;
}

export type Verdict = {
  problems: string[];
  /** Of all positions, in USDG base units. */
  toBuyers: bigint;
  toUnderwriters: bigint;
  credited: bigint;
  /** Fees of its executors, by events. */
  rewards: bigint;
  payouts: number;
  /** How many positions each range paid nothing, in part, in full. */
  shares: { nothing: number; part: number; full: number };
};

/**
 * Every position paid once, everybody's money to the base unit: what is owed arrived, or is a credit of who cannot
 * receive. `before`: as it was when all was sold and nothing settled. `executor` took all steps.
 */
export async function judgeWeekend(
  place: Place,
  crowd: Crowd,
  before: Money,
  executor: Address,
): Promise<Verdict> {
  const { client } = place;
  const problems: string[] = [];
  const events = <const Name extends Parameters<typeof eventsOf>[1]>(name: Name) =>
    eventsOf(place, name, crowd.fromBlock);
  const [closed] = (await events('SnapshotTaken')).map(({ args }) => args);
  const [settled] = (await events('WeekSettled')).map(({ args }) => args);
  if (closed === undefined || settled === undefined) throw new Error('the week is not settled');

  const owed = new Map<Address, bigint>();
  const owe = (who: Address, amount: bigint) => owed.set(who, (owed.get(who) ?? 0n) + amount);
  const shares = { nothing: 0, part: 0, full: 0 };
  let [toBuyers, toUnderwriters, fees] = [0n, 0n, 0n];
  for (const sale of crowd.sold) {
    const range = RANGES[UNDERWRITERS.findIndex(({ address }) => address === sale.underwriter)];
    if (range === undefined) throw new Error('sold by nobody of the crowd');
    const payout = payoutOf(sale, range, closed.nav, settled.nav);
    const rest = sale.coverUsd * USD - payout + sale.premium;
    const share = payout === 0n ? 'nothing' : payout === sale.coverUsd * USD ? 'full' : 'part';
    shares[share] += 1;
    toBuyers += payout;
    toUnderwriters += rest;
    fees += sale.fee;
    owe(sale.buyer, payout);
    owe(sale.underwriter, rest);
  }

  const paidOut = new Map<bigint, number>();
  for (const { args } of await events('PaidOut')) {
    paidOut.set(args.positionId, (paidOut.get(args.positionId) ?? 0) + 1);
  }
  const unpaid = crowd.sold.filter(({ positionId }) => paidOut.get(positionId) !== 1).length;
  if (unpaid > 0) problems.push(`${unpaid} positions were not paid exactly once`);

  const payouts = (await events('RewardPaid')).map(({ args }) => args);
  const rewards = [closed, settled, ...payouts].reduce((sum, { reward }) => sum + reward, 0n);
  const strangers = [closed, settled, ...payouts].filter((each) => each.executor !== executor);
  if (strangers.length > 0) problems.push(`${strangers.length} steps by somebody else`);

  const after = await moneyOf(place, crowd, [executor]);
  let credited = 0n;
  for (const [who, amount] of owed) {
    const gained = (after.held.get(who) ?? 0n) - (before.held.get(who) ?? 0n);
    const credit = await client.readContract({
      ...marketOf(place),
      functionName: 'credits',
      args: [who],
    });
    credited += credit;
    const isBlocked = crowd.blocked.some(({ address }) => address === who);
    const [arrived, kept] = isBlocked ? [0n, amount] : [amount, 0n];
    if (gained !== arrived || credit !== kept) {
      problems.push(
        `${who} is owed ${amount}${isBlocked ? ' as a credit' : ''}: got ${gained}, credit ${credit}`,
      );
    }
  }
  const held = (money: Money, who: Address) => money.held.get(who) ?? 0n;
  const equal = (what: string, is: bigint, expected: bigint) => {
    if (is !== expected) problems.push(`${what}: ${is}, expected ${expected}`);
  };
  equal('the executor earned', held(after, executor) - held(before, executor), rewards);
  equal('the fee pool grew by', after.feePool - before.feePool, fees - rewards);
  equal(
    'the market paid',
    before.market - after.market,
    toBuyers + toUnderwriters - credited + rewards,
  );
  return {
    problems,
    toBuyers,
    toUnderwriters,
    credited,
    rewards,
    payouts: payouts.length,
    shares,
  };
}
