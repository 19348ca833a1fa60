/** Cover through the relayer's client, by a real api and relayer: what was asked runs, and nothing else is signed. */
import { beforeEach, describe, expect, it } from 'vitest';
import { USD } from '../../contracts-abi/constants.ts';
import { encodeCoverData } from '../../contracts-abi/cover-data.ts';
import { coverMarketAbi } from '../../contracts-abi/generated/index.ts';
import {
  type CoverActionJson,
  coverActionFromJson,
  coverActionTypedData,
} from '../../contracts-abi/typed-data.ts';
import {
  type CoverTerms,
  createMemoryJournal,
  type Outcome,
  type Policy,
} from '../../relayer/client/index.ts';
import { currentWeek, hold, onMarket } from '../api/cover-agent.ts';
import { hashOf, useClientScene } from './client-scene.ts';

const scene = useClientScene({ api: 'test', grant: { coverDailyLimit: 20n * USD } });

const RANGE = { fromBps: 400, toBps: 900 };
/** $5.91: the fee is no whole number of base units, neither on $61 nor on $73 nor on both. */
const PRICE = (591n * USD) / 100n;
let week: number;
let policy: Policy;

type TakeTerms = Extract<CoverTerms, { kind: 'cover-take' }>;
const take = (change: Partial<TakeTerms> = {}): TakeTerms => ({
  type: 'cover',
  kind: 'cover-take',
  ticker: 'MAG7',
  ...RANGE,
  coverUsd: 134n,
  maxPricePer1k: PRICE,
  ...change,
});
type RequestTerms = Extract<CoverTerms, { kind: 'cover-request' }>;
const request = (change: Partial<RequestTerms> = {}): RequestTerms => ({
  type: 'cover',
  kind: 'cover-request',
  ticker: 'MAG7',
  ...RANGE,
  coverUsd: 100n,
  pricePer1k: 5n * USD,
  ...change,
});
const cancel = (listingId: bigint): CoverTerms => ({
  type: 'cover',
  kind: 'cover-cancel',
  listingId,
});

/** The account holds both baskets, and an underwriter offers $61 and $73 of this week and the next. */
beforeEach(async () => {
  const { fork, agent, api } = scene;
  policy = { ...scene.policy, kinds: ['cover-take', 'cover-request', 'cover-cancel'] };
  ({ week } = await currentWeek(fork));
  for (const ticker of ['MAG7', 'CORE']) await hold(fork, agent.account, ticker, 60n);
  for (const at of [week, week + 1]) {
    for (const coverUsd of [61n, 73n]) {
      const terms = { week: at, vault: fork.vault('MAG7'), ...RANGE, coverUsd, pricePer1k: PRICE };
      await onMarket(fork, 'frank', { functionName: 'offer', args: [terms, false] });
    }
  }
  for (const at of [week, week + 1]) await depth(api, at, 134);
});

async function depth(api: typeof scene.api, at: number, dollars: number): Promise<void> {
  await api.until(`/v1/cover/book/MAG7?week=${at}`, ({ body }) =>
    (body.ranges as unknown as { fromBps: number; depthUsd: number }[]).some(
      ({ fromBps, depthUsd }) => fromBps === RANGE.fromBps && depthUsd === dollars,
    ),
  );
}

/** Every purchase of the account: what the chain says that it covers. */
async function bought() {
  const market = { address: scene.fork.deployment.coverMarket, abi: coverMarketAbi } as const;
  const sold = await scene.fork.client.getContractEvents({
    ...market,
    eventName: 'CoverSold',
    args: { buyer: scene.agent.account },
    fromBlock: 0n,
    strict: true,
  });
  return await Promise.all(
    sold.map(async ({ args }) => {
      const { terms } = await scene.fork.client.readContract({
        ...market,
        functionName: 'listingOf',
        args: [args.listingId],
      });
      return { ...terms, coverUsd: args.coverUsd, cost: args.premium + args.fee };
    }),
  );
}

/** Ids of the account's requests, the oldest first. */
async function requests(): Promise<bigint[]> {
  const logs = await scene.fork.client.getContractEvents({
    address: scene.fork.deployment.coverMarket,
    abi: coverMarketAbi,
    eventName: 'Listed',
    args: { owner: scene.agent.account },
    fromBlock: 0n,
    strict: true,
  });
  return logs.map(({ args }) => args.id);
}

/** Asks for one thing and is given the honest plan of another. */
async function given(asked: CoverTerms, planned: CoverTerms): Promise<Outcome> {
  const { run } = await scene.client(createMemoryJournal(), { policy });
  const { plan } = scene.intent('lie', planned);
  return await run({ id: 'lie', terms: asked, plan });
}

describe('cover is taken through the client', () => {
  it('at the very price asked, of the week trading now where none is named', async () => {
    const { run } = await scene.client(createMemoryJournal(), { policy });
    hashOf(await run(scene.intent('take', take())));
    const vault = scene.fork.vault('MAG7');
    const parts = await bought();
    expect(parts).toHaveLength(2);
    for (const part of parts) {
      expect(part).toMatchObject({ ...RANGE, week, vault, pricePer1k: PRICE });
    }
    // $134 in one part would cost a base unit less: 791,940 and 7,920.
    expect(parts.reduce((sum, { cost }) => sum + cost, 0n)).toBe(799_861n);
  });

  it('of a later week that is named', async () => {
    const { run } = await scene.client(createMemoryJournal(), { policy });
    hashOf(await run(scene.intent('later', take({ week: week + 1, coverUsd: 61n }))));
    expect(await bought()).toMatchObject([{ ...RANGE, week: week + 1, coverUsd: 61n }]);
  });

  it('and asked for, and taken back', async () => {
    const { run } = await scene.client(createMemoryJournal(), { policy });
    hashOf(await run(scene.intent('first', request())));
    hashOf(await run(scene.intent('second', request({ week: week + 1 }))));
    const [first = 0n, second = 0n] = await requests();
    await scene.api.until(
      `/v1/cover/positions/${scene.agent.account}`,
      ({ body }) => (body.listings as unknown as unknown[]).length === 2,
    );
    const posted = scene.proxy.posts.length;
    expect(await given(cancel(second), cancel(first))).toMatchObject({
      by: 'policy',
      message: expect.stringMatching(/^listingId: /) as string,
    });
    expect(scene.proxy.posts).toHaveLength(posted);
    hashOf(await run(scene.intent('back', cancel(second))));
  });
});

describe('of an api that plans something else nothing is signed or posted:', () => {
  it.each<[string, () => CoverTerms, () => CoverTerms, RegExp]>([
    [
      'another basket',
      () => take({ ticker: 'CORE', week, ...seeded }),
      () => take({ week, ...seeded }),
      /^vault: of listing \d+ is not the vault that is pinned for CORE/,
    ],
    ['another range', () => take({ fromBps: 350 }), () => take(), /^fromBps: of listing /],
    ['another end of the range', () => take({ toBps: 950 }), () => take(), /^toBps: of listing /],
    [
      'a later week than was named',
      () => take({ week }),
      () => take({ week: week + 1 }),
      /^week: of listing /,
    ],
    [
      'a later week where none was named',
      () => take(),
      () => take({ week: week + 1 }),
      /^week: of listing /,
    ],
    [
      'a dearer listing among cheaper ones',
      () => take({ ...seeded, coverUsd: 600n, maxPricePer1k: 6n * USD }),
      () => take({ ...seeded, coverUsd: 600n, maxPricePer1k: 7n * USD }),
      /^pricePer1k: of listing \d+ is above the dearest/,
    ],
    [
      'a request for a later week where none was named',
      () => request(),
      () => request({ week: week + 1 }),
      /^week: is not the one trading now/,
    ],
    ['a request for less', () => request(), () => request({ coverUsd: 90n }), /^coverUsd: /],
  ])('%s', async (_, asked, planned, message) => {
    const journal = createMemoryJournal();
    const { run } = await scene.client(journal, { policy });
    const { plan } = scene.intent('lie', planned());
    expect(await run({ id: 'lie', terms: asked(), plan })).toMatchObject({
      tag: 'refused',
      by: 'policy',
      code: 'POLICY',
      next: 'ask_host',
      openUntil: null,
      message: expect.stringMatching(message) as string,
    });
    expect(scene.proxy.posts).toEqual([]);
    expect(journal.records).toEqual([]);
    expect(await bought()).toEqual([]);
  });

  it('a listing that the chain does not show', async () => {
    const journal = createMemoryJournal();
    const { run } = await scene.client(journal, { policy });
    const { terms, plan } = scene.intent('unknown', take({ coverUsd: 61n }));
    const outcome = await run({
      id: 'unknown',
      terms,
      plan: async (fee) => withIds(await plan(fee), [123n]),
    });
    expect(outcome).toMatchObject({
      tag: 'refused',
      by: 'policy',
      next: 'rebuild',
      message: 'ids: 123 is no listing that the chain shows',
    });
    expect([scene.proxy.posts, journal.records]).toEqual([[], []]);
  });
});

/** Ranges that every cover basket has offers of: $500 at $5.90 and $800 at $6.40. */
const seeded = { fromBps: 300, toBps: 1_000 };

/** The plan of a take of $61, of other listings. */
function withIds(plan: unknown, ids: readonly bigint[]): unknown {
  const before = plan as { action: CoverActionJson };
  const action = {
    ...before.action,
    data: encodeCoverData({
      tag: 'take',
      ids,
      coverUsd: [61n],
      minCoverUsd: 61n,
      limit: 300_000n,
    }),
  };
  const typedData = coverActionTypedData(
    coverActionFromJson(action),
    scene.fork.deployment.coverModule,
  );
  return { ...before, action, typedData };
}

describe('without a chain reader', () => {
  it('no take is signed, unless the policy trusts the plans', async () => {
    const journal = createMemoryJournal();
    const blind = await scene.client(journal, { policy, chain: null });
    expect(await blind.run(scene.intent('blind', take()))).toMatchObject({
      tag: 'refused',
      by: 'policy',
      next: 'ask_host',
      message: expect.stringMatching(/^ids: name listings that nobody has read/) as string,
    });
    expect([scene.proxy.posts, journal.records]).toEqual([[], []]);
    const trusting = await scene.client(journal, {
      policy: { ...policy, trustCoverPlans: true },
      chain: null,
    });
    hashOf(await trusting.run(scene.intent('blind', take())));
    expect(await bought()).toHaveLength(2);
  });
});
