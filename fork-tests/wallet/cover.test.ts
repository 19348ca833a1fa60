/** The dev wallet as an underwriter, what a warp says, and the local chain's book from one week to the next. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Address, erc20Abi } from 'viem';
import { beforeEach, expect, test } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { coverMarketAbi, protocolPauseAbi } from '../../contracts-abi/generated/index.ts';
import { currentWeek, onMarket, usdgOf } from '../api/cover-agent.ts';
import { write } from '../chain/client.ts';
import { writeChainFiles } from '../chain/files.ts';
import { type RollsOutcome, startCoverRolls } from '../chain/market/cover-rolls.ts';
import type { Role } from '../chain/seed/accounts.ts';
import { useFork } from '../harness/fork.ts';
import { warp } from './market.ts';
import type { DevWallet } from './open.ts';
import { cancelListing, fill, offer, type OfferTerms, roll, sendBack } from './underwrite.ts';
import { weekend } from './weekend.ts';

const fork = useFork();
const HOUR = 3_600;
const TERMS: OfferTerms = {
  ticker: 'MAG7',
  fromBps: 400n,
  toBps: 1_200n,
  coverUsd: 200n,
  pricePer1k: 6_400_000n,
  repeats: true,
};

let wallet: DevWallet;
let week = 0;
let close = 0;

beforeEach(async () => {
  const { url: rpcUrl, client, deployment } = fork;
  wallet = { rpcUrl, deploymentFile: '', client, deployment };
  ({ week, close } = await currentWeek(fork));
});

const market = () => ({ address: fork.deployment.coverMarket, abi: coverMarketAbi }) as const;
const address = (role: Role): Address => fork.accounts[role].account.address;
const warpTo = async (time: number) => fork.warp(time - (await fork.now()));
const listingOf = (id: bigint) =>
  fork.client.readContract({ ...market(), functionName: 'listingOf', args: [id] });
const allowanceOf = (role: Role) =>
  fork.client.readContract({
    address: fork.deployment.usdg,
    abi: erc20Abi,
    functionName: 'allowance',
    args: [address(role), fork.deployment.coverMarket],
  });

/** Alice asks for $100 of cover of MAG7; the listing's id. */
async function request(): Promise<bigint> {
  const terms = { week, vault: fork.vault('MAG7'), fromBps: 400, toBps: 1_200 };
  await onMarket(fork, 'alice', {
    functionName: 'request',
    args: [{ ...terms, coverUsd: 100n, pricePer1k: 8n * USD }],
  });
  const events = await fork.client.getContractEvents({
    ...market(),
    eventName: 'Listed',
    args: { owner: address('alice') },
    fromBlock: BigInt(fork.deployment.startBlock),
    strict: true,
  });
  return events.at(-1)?.args.id ?? 0n;
}

test('offers with an approval of exactly what is locked, and takes it back', async () => {
  const before = await usdgOf(fork, address('bob'));
  const offered = await offer(wallet, 'bob', TERMS);
  expect(offered).toMatchObject({ ticker: 'MAG7', week, openUsd: '200', pricePer1k: '6.4' });
  expect(await allowanceOf('bob')).toBe(0n);
  expect(before - (await usdgOf(fork, address('bob')))).toBe(200n * USD);
  const id = BigInt(offered.listing);
  expect(await listingOf(id)).toMatchObject({ owner: address('bob'), repeats: true });
  await cancelListing(wallet, 'bob', id);
  expect(await usdgOf(fork, address('bob'))).toBe(before);
  const ahead = await offer(wallet, 'bob', { ...TERMS, week: BigInt(week + 2), repeats: false });
  expect(ahead).toMatchObject({ week: week + 2, repeats: false });
});

test.for<[string, Partial<OfferTerms>, RegExp]>([
  ['a basket without cover', { ticker: 'HARD' }, /^HARD has no cover market: .*MAG7.* have$/],
  ['a range off the grid', { fromBps: 310n }, /multiples of 50 bps/],
  ['a range turned round', { toBps: 400n }, /at least 100 wide/],
  ['too little cover', { coverUsd: 49n }, /at least \$50/],
  ['parts of a cent', { pricePer1k: 6_405_000n }, /whole cents/],
  ['a week far off', { week: 10n ** 20n }, /does not trade: \d+ does/],
  [
    'more than there is',
    { coverUsd: 10_000_000n },
    /^bob has \$\d+ of USDG; this locks \$10000000$/,
  ],
])('refuses %s in words, and approves nothing', async ([, change, words]) => {
  await expect(offer(wallet, 'bob', { ...TERMS, ...change })).rejects.toThrow(words);
  expect(await allowanceOf('bob')).toBe(0n);
});

test('fills a request with an approval of exactly its cover, and says why not', async () => {
  const id = await request();
  await expect(fill(wallet, 'alice', id, 100n)).rejects.toThrow(/alice's own/);
  await expect(fill(wallet, 'erin', id, 101n)).rejects.toThrow('the request has $100 open');
  await expect(fill(wallet, 'erin', id, 20n)).rejects.toThrow(/at least \$50/i);
  await expect(fill(wallet, 'erin', 1n, 100n)).rejects.toThrow(/no request of this id/);
  const before = await usdgOf(fork, address('erin'));
  const filled = await fill(wallet, 'erin', id, 100n);
  expect(filled).toMatchObject({ ticker: 'MAG7', week, coverUsd: '100', premium: '0.792' });
  expect(before - (await usdgOf(fork, address('erin')))).toBe(100n * USD);
  expect(await allowanceOf('erin')).toBe(0n);
  await expect(fill(wallet, 'erin', id, 100n)).rejects.toThrow(/not open any more/);
});

test('rolls an offer on and sends the rest back once the week is cut off, not before', async () => {
  const repeating = BigInt((await offer(wallet, 'bob', TERMS)).listing);
  const single = BigInt((await offer(wallet, 'bob', { ...TERMS, repeats: false })).listing);
  await expect(roll(wallet, 'carol', repeating)).rejects.toThrow();
  await warpTo(close - HOUR);
  const rolled = await roll(wallet, 'carol', repeating);
  expect(rolled).toMatchObject({ week: week + 1, openUsd: '200', repeats: true });
  await sendBack(wallet, 'carol', single);
  expect((await listingOf(single)).openUsd).toBe(0n);
});

test('a warp past the snapshot of sold cover says so, and no other does', async () => {
  const past = close + HOUR - (await fork.now());
  const snapshot = await fork.client.snapshot();
  expect(await warp(wallet, past)).not.toHaveProperty('warning');
  await fork.client.revert({ id: snapshot });
  await fill(wallet, 'erin', await request(), 100n);
  expect(await warp(wallet, 600)).not.toHaveProperty('warning');
  const warned = await warp(wallet, past);
  expect(warned.warning).toMatch(new RegExp(`MAG7 of week ${week}.*only be voided`));
  expect(await warp(wallet, 600)).not.toHaveProperty('warning');
});

test('a weekend moves the price after the close, also where no cover of it was sold', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wallet-'));
  const deploymentFile = join(folder, 'deployment.json');
  writeChainFiles(deploymentFile, fork.manifest);
  const times: [string, number][] = [];
  const move = { ticker: 'MAG7', percent: -5 };
  for await (const { step, chainTime } of weekend({ ...wallet, deploymentFile }, move)) {
    times.push([step, Date.parse(chainTime) / 1_000]);
  }
  rmSync(folder, { recursive: true });
  expect(times.map(([step]) => step)).toEqual(['push', 'settle']);
  expect(times[0]?.[1]).toBeGreaterThanOrEqual(close);
});

test('the local chain moves every listing on when a week is cut off, and once more in the next', async () => {
  const repeating = BigInt((await offer(wallet, 'bob', TERMS)).listing);
  const asked = await request();
  const outcomes: RollsOutcome[] = [];
  let heard: () => void = () => undefined;
  const rolls = startCoverRolls({
    client: fork.client,
    account: fork.accounts.deployer.account,
    coverMarket: fork.deployment.coverMarket,
    fromBlock: BigInt(fork.deployment.startBlock),
    everyMs: 100,
    onRound: (outcome) => {
      outcomes.push(outcome);
      heard();
    },
  });
  const next = () =>
    new Promise<RollsOutcome | undefined>((resolve) => {
      heard = () => resolve(outcomes.at(-1));
    });
  try {
    const first = next();
    await warpTo(close - HOUR);
    expect(await first).toMatchObject({ tag: 'rolled', week: week + 1 });
    expect((await listingOf(repeating)).openUsd).toBe(0n);
    expect((await listingOf(asked)).openUsd).toBe(0n);
    const second = next();
    await warpTo(close + 7 * 24 * HOUR);
    expect(await second).toMatchObject({ tag: 'rolled', week: week + 2 });
  } finally {
    await rolls.stop();
  }
  expect(outcomes.filter(({ tag }) => tag === 'failed')).toEqual([]);
  const listed = await fork.client.getContractEvents({
    ...market(),
    eventName: 'Listed',
    fromBlock: BigInt(fork.deployment.startBlock),
    strict: true,
  });
  const open = await Promise.all(listed.map(({ args }) => listingOf(args.id)));
  const weeks = new Set(open.filter(({ openUsd }) => openUsd > 0n).map(({ terms }) => terms.week));
  expect([...weeks]).toEqual([week + 2]);
  const own = open.filter(({ owner, openUsd }) => owner === address('bob') && openUsd > 0n);
  expect(own).toMatchObject([{ repeats: true, openUsd: 200n }]);
});

test('a listing that cannot be moved on is told once, and the others go on', async () => {
  await offer(wallet, 'bob', TERMS);
  const asked = await request();
  await write(fork.client, fork.accounts.guardian.account, {
    address: await fork.client.readContract({ ...market(), functionName: 'pause' }),
    abi: protocolPauseAbi,
    functionName: 'pause',
    args: [],
  });
  await warpTo(close - HOUR);
  const outcomes: RollsOutcome[] = [];
  let rounds = 0;
  await new Promise<void>((resolve) => {
    const rolls = startCoverRolls({
      client: fork.client,
      account: fork.accounts.deployer.account,
      coverMarket: fork.deployment.coverMarket,
      fromBlock: BigInt(fork.deployment.startBlock),
      everyMs: 100,
      onRound: (outcome) => {
        outcomes.push(outcome);
        rounds += 1;
        if (rounds === 2) void rolls.stop().then(resolve);
      },
    });
  });
  expect(outcomes).toMatchObject([{ tag: 'failed' }, { tag: 'rolled', week: week + 1, rolled: 0 }]);
  expect((await listingOf(asked)).openUsd).toBe(0n);
});
