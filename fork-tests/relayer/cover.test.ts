/** Cover actions of a session key: the same slots, quotes and answers as trades, under the cover module's own domain. */
import { encodeAbiParameters, erc20Abi } from 'viem';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { COVER_KIND, type CoverOrder, encodeCoverData } from '../../contracts-abi/cover-data.ts';
import { coverMarketAbi, coverModuleAbi } from '../../contracts-abi/generated/index.ts';
import {
  type CoverAction,
  coverActionDigest,
  sessionDomain,
} from '../../contracts-abi/typed-data.ts';
import { verifyReceipt } from '../../relayer/receipt.ts';
import { write } from '../chain/client.ts';
import { useFork } from '../harness/fork.ts';
import { buy } from '../keeper/chain-orders.ts';
import { type Agent, buyAction, openAgent, signedBody, signedCover, usdgOf } from './agent.ts';
import {
  type DataFolder,
  dataFolder,
  type Reply,
  startTestRelayer,
  type TestRelayer,
} from './relayer.ts';

const fork = useFork();
const FEE = 400_000n;
const COVER_USD = 100n;
/** $10 per $1,000. */
const PRICE = 10n * USD;
const PREMIUM = (COVER_USD * PRICE) / 1_000n;
let data: DataFolder;
let agent: Agent;
let relayer: TestRelayer;

beforeEach(async () => {
  data = dataFolder();
  agent = await openAgent(fork, 'alice', 1_000n * USD, { coverDailyLimit: 20n * USD });
  relayer = await startTestRelayer(fork, data, {
    RELAY_FEE_STEP_USDG: '0.4',
    RELAY_FREE_CANCELS_PER_DAY: '2',
  });
});
afterEach(async () => {
  await relayer?.stop();
  data.remove();
});

/** The account holds a basket that has a cover market. */
async function hold(): Promise<void> {
  const vault = fork.vault('MAG7');
  const shares = await buy(fork, vault, 50n);
  await write(fork.client, fork.accounts.alice.account, {
    address: vault,
    abi: erc20Abi,
    functionName: 'transfer',
    args: [agent.account, shares],
  });
}

async function coverAction(
  order: CoverOrder,
  changes: Partial<CoverAction> = {},
): Promise<CoverAction> {
  return {
    account: agent.account,
    key: agent.key.address,
    kind: COVER_KIND[order.tag],
    data: encodeCoverData(order),
    nonce: changes.nonce ?? agent.nextNonce(),
    deadline: (await fork.now()) + 300,
    fee: 0n,
    ...changes,
  };
}

async function request(changes: Partial<CoverAction> = {}, coverUsd = COVER_USD) {
  const [, week] = await fork.client.readContract({
    address: fork.deployment.coverMarket,
    abi: coverMarketAbi,
    functionName: 'currentWeek',
  });
  const vault = fork.vault('MAG7');
  const terms = { week, vault, fromBps: 300, toBps: 1_000, coverUsd, pricePer1k: PRICE };
  return await coverAction({ tag: 'request', ...terms }, changes);
}

const post = async (action: CoverAction): Promise<Reply> =>
  await relayer.postCover(await signedCover(fork, agent, action));

async function executed() {
  return await fork.client.getContractEvents({
    address: fork.deployment.coverModule,
    abi: coverModuleAbi,
    eventName: 'CoverExecuted',
    args: { account: agent.account },
    fromBlock: 0n,
    strict: true,
  });
}

/** Ids of the account's requests, the oldest first. */
async function requests(): Promise<bigint[]> {
  const logs = await fork.client.getContractEvents({
    address: fork.deployment.coverMarket,
    abi: coverMarketAbi,
    eventName: 'Listed',
    args: { owner: agent.account },
    fromBlock: 0n,
    strict: true,
  });
  return logs.map(({ args }) => args.id);
}

describe('a cover request', () => {
  it('is quoted, runs once, and is answered the same again, by either route', async () => {
    await hold();
    const action = await request();
    const unpaid = await post(action);
    expect(unpaid).toMatchObject({ status: 402, body: { code: 'FEE_REQUIRED', check: 'fee' } });
    const paid = { ...action, fee: BigInt(String(unpaid.body.requiredFee)) };
    const before = await usdgOf(fork, agent.account);
    const mined = await post(paid);
    expect(mined).toMatchObject({ status: 200, body: { ok: true } });
    expect(await usdgOf(fork, agent.account)).toBe(before - PREMIUM - paid.fee);

    const digest = coverActionDigest(paid, fork.deployment.coverModule);
    const [run, ...more] = await executed();
    expect(more).toEqual([]);
    expect(run?.args.digest).toBe(digest);
    expect(await verifyReceipt(mined.body.receipt, { digest })).toMatchObject({
      ok: true,
      receipt: { slot: { module: fork.deployment.coverModule } },
    });
    const again = await relayer.post(await signedCover(fork, agent, paid));
    expect(again).toMatchObject({ status: 200, body: mined.body });
    expect(await executed()).toHaveLength(1);

    const nonce = `/relay/v1/account/${agent.account}/nonce/${action.nonce}`;
    const inCover = await relayer.get(`${nonce}?module=${fork.deployment.coverModule}`);
    expect(inCover.body).toMatchObject({ status: 'used', hash: mined.body.hash });
    // The session module's nonce of the same number is another slot.
    expect((await relayer.get(nonce)).body).toMatchObject({ status: 'free', action: null });
    const trade = await buyAction(fork, agent, 20n * USD, { nonce: action.nonce, fee: FEE });
    expect((await relayer.post(await signedBody(fork, agent, trade))).status).toBe(200);
  });

  it('is taken back for nothing, within a quota of the day, and only once', async () => {
    await hold();
    for (let count = 0; count < 3; count += 1) {
      expect((await post(await request({ fee: FEE }))).status).toBe(200);
    }
    const [first = 0n, second = 0n, third = 0n] = await requests();
    const before = await usdgOf(fork, agent.account);
    const cancelled = await post(await coverAction({ tag: 'cancel', listingId: first }));
    expect(cancelled).toMatchObject({ status: 200, body: { ok: true } });
    expect(cancelled.body.requiredFee).toBeUndefined();
    expect(await usdgOf(fork, agent.account)).toBe(before + PREMIUM);

    const again = await post(await coverAction({ tag: 'cancel', listingId: first }));
    expect(again).toMatchObject({ status: 422, body: { code: 'ORDER_NOT_OPEN' } });
    expect((await post(await coverAction({ tag: 'cancel', listingId: second }))).status).toBe(200);
    const beyond = await post(await coverAction({ tag: 'cancel', listingId: third }));
    expect(beyond).toMatchObject({
      status: 429,
      body: { code: 'RATE_LIMITED', check: 'quota', next: 'wait' },
    });
    expect(Number(beyond.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('a cover take', () => {
  it('of an offer in the book runs; of one that is none finds no cover', async () => {
    await hold();
    const week = await fork.client.readContract({
      address: fork.deployment.coverMarket,
      abi: coverMarketAbi,
      functionName: 'currentWeek',
    });
    const offers = await fork.client.getContractEvents({
      address: fork.deployment.coverMarket,
      abi: coverMarketAbi,
      eventName: 'Listed',
      fromBlock: BigInt(fork.deployment.startBlock),
      strict: true,
    });
    const offer = offers.find(
      ({ args: { terms } }) =>
        terms.week === week[1] &&
        terms.vault === fork.vault('MAG7') &&
        terms.pricePer1k < 29n * USD,
    );
    const take = (id: bigint, coverUsd: bigint): CoverOrder => ({
      tag: 'take',
      ids: [id],
      coverUsd: [coverUsd],
      minCoverUsd: coverUsd,
      limit: (coverUsd * USD * 3n) / 100n,
    });
    const taken = await post(await coverAction(take(offer?.args.id ?? 0n, 100n), { fee: FEE }));
    expect(taken).toMatchObject({ status: 200, body: { ok: true } });
    const none = await post(await coverAction(take(123_456n, 100n), { fee: FEE }));
    expect(none).toMatchObject({ status: 422, body: { code: 'NO_COVER', next: 'rebuild' } });
  });
});

describe('a cover action is refused, before anything is sent,', () => {
  it('of a kind that belongs to the owner, or with terms that are none', async () => {
    const nothing = encodeAbiParameters([{ type: 'uint256' }], [1n]);
    for (const kind of [COVER_KIND.offer, COVER_KIND.fill, COVER_KIND.stopRepeating]) {
      expect(await post(await request({ kind }))).toMatchObject({
        status: 400,
        body: { code: 'BAD_REQUEST', check: 'schema', next: 'rebuild' },
      });
    }
    expect((await post(await request({ data: nothing }))).status).toBe(400);
    const cancel = await coverAction({ tag: 'cancel', listingId: 1n }, { fee: FEE });
    expect((await post(cancel)).body.error).toMatch(/a cancel carries no fee/);
  });

  it('signed under the domain of trades; and a trade on the route of cover', async () => {
    const action = await request({ fee: FEE });
    const foreign = sessionDomain(fork.deployment.sessionModule);
    const forged = await signedCover(fork, agent, action, foreign);
    expect(await relayer.postCover(forged)).toMatchObject({
      status: 401,
      body: { code: 'BAD_SIGNATURE', error: expect.stringContaining('basket cover') },
    });
    const trade = await signedBody(fork, agent, await buyAction(fork, agent, 20n * USD));
    expect((await relayer.postCover(trade)).status).toBe(400);
  });

  it('of a key without cover, of an account without the basket, and above the limit of the day', async () => {
    expect(await post(await request({ fee: FEE }))).toMatchObject({
      status: 422,
      body: { code: 'NOT_A_HOLDER', check: 'simulation', next: 'rebuild' },
    });
    await hold();
    // $30 of premium; the grant allows $20 a day.
    expect(await post(await request({ fee: FEE }, 3_000n))).toMatchObject({
      status: 403,
      body: { code: 'SESSION_LIMIT', check: 'limits', next: 'ask_owner' },
    });
    agent = await openAgent(fork, 'bob');
    expect(await post(await request({ fee: FEE }))).toMatchObject({
      status: 403,
      body: { code: 'SESSION_INACTIVE', check: 'grant', next: 'ask_owner' },
    });
  });
});
