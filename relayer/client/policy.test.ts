/** Each field of a plan that a service may tamper with is refused, with its reason. */
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, it } from 'vitest';
import { SHARE, USD } from '../../contracts-abi/constants.ts';
import { COVER_KIND, type CoverOrder, encodeCoverData } from '../../contracts-abi/cover-data.ts';
import {
  type Action,
  actionToJson,
  actionTypedData,
  type CoverAction,
  coverActionToJson,
  coverActionTypedData,
} from '../../contracts-abi/typed-data.ts';
import { pinsOf } from './pins.ts';
import { readPlan } from './plan.ts';
import { checkPlan } from './policy.ts';
import type { Policy, Terms, TradeTerms } from './terms.ts';

const key = privateKeyToAccount(`0x${'01'.repeat(32)}`).address;
const at = (digit: string) => `0x${digit.repeat(40)}` as const;
const [account, module, coverModule, vault, stranger] = ['1', '2', '3', '4', '9'].map(at) as [
  `0x${string}`,
  `0x${string}`,
  `0x${string}`,
  `0x${string}`,
  `0x${string}`,
];
const NOW = 1_800_000_000;
const pins = pinsOf({
  chainId: 4663,
  sessionModule: module,
  coverModule,
  baskets: [
    { ticker: 'CORE', vault },
    { ticker: 'ADS', vault: at('5') },
  ],
  oracle: 'fields beyond are ignored',
});
const policy: Policy = {
  pins,
  account,
  kinds: ['buy', 'sell', 'cover-take', 'cover-request', 'cover-cancel'],
  maxSpend: 100n * USD,
  maxShares: 10n * SHARE,
  maxSlippageBps: 100,
  maxFee: USD,
  maxLifetimeSeconds: 600,
};
const relayerUrl = 'https://relay.example/base';

const buy: Action = {
  account,
  key,
  kind: 0,
  vault,
  amount: SHARE,
  limit: 50n * USD,
  slippageBps: 50,
  data: '0x1234',
  nonce: 77n,
  deadline: NOW + 300,
  fee: 0n,
};
const buyTerms: TradeTerms = { type: 'trade', kind: 'buy', ticker: 'CORE', budget: 50n * USD };
const sell: Action = { ...buy, kind: 1, limit: 40n * USD };
const sellTerms: TradeTerms = { type: 'trade', kind: 'sell', ticker: 'CORE', shares: SHARE };

const tradePlan = (action: Action) => ({
  ticker: 'CORE',
  status: {},
  action: actionToJson(action),
  typedData: actionTypedData(action, module),
  relayerUrl: `${relayerUrl}/relay/v1/account/execute`,
});

function judge(plan: unknown, terms: Terms, its: Policy = policy): string | null {
  const read = readPlan(terms.type, plan, its.pins);
  if (!read.ok) return `plan ${read.problem}`;
  const found = checkPlan(read.plan, terms, { policy: its, key, relayerUrl, now: NOW });
  return found === null ? null : `${found.field} ${found.reason}`;
}

describe('a trade plan', () => {
  it('passes as it was asked, addresses in any case, with derived domain types or without', () => {
    expect(judge(tradePlan(buy), buyTerms)).toBeNull();
    expect(judge(tradePlan(sell), sellTerms)).toBeNull();
    const plan = tradePlan({ ...buy, vault: vault.toUpperCase().replace('0X', '0x') as never });
    const { EIP712Domain: _, ...types } = plan.typedData.types;
    expect(judge({ ...plan, typedData: { ...plan.typedData, types } }, buyTerms)).toBeNull();
    const { relayerUrl: __, ...without } = plan;
    expect(judge(without, buyTerms)).toBeNull();
  });

  it.each<[string, Partial<Action>, RegExp]>([
    ['another account', { account: stranger }, /^account /],
    ['another key', { key: stranger }, /^key /],
    ['the other side', { kind: 1 }, /^kind is not buy/],
    ['a kind nobody knows', { kind: 7 }, /^kind /],
    ['the vault of another basket', { vault: at('5') }, /^vault is not the vault/],
    ['an unknown vault', { vault: stranger }, /^vault /],
    ['no shares', { amount: 0n }, /^amount /],
    ['more than the budget', { limit: 50n * USD + 1n }, /^limit is above the budget/],
    ['more slippage', { slippageBps: 101 }, /^slippageBps /],
    ['a past deadline', { deadline: NOW }, /^deadline is past/],
    ['a far deadline', { deadline: NOW + 601 }, /^deadline is more than 600 s/],
    ['a fee above the cap', { fee: USD + 1n }, /^fee /],
  ])('with %s is refused', (_, change, reason) => {
    expect(judge(tradePlan({ ...buy, ...change }), buyTerms)).toMatch(reason);
  });

  it.each<[string, Partial<Action>, RegExp]>([
    ['fewer shares', { amount: SHARE - 1n }, /^amount is not the number/],
    ['more shares', { amount: SHARE + 1n }, /^amount is not the number/],
    ['the other side', { kind: 0 }, /^kind is not sell/],
  ])('of a sale with %s is refused', (_, change, reason) => {
    expect(judge(tradePlan({ ...sell, ...change }), sellTerms)).toMatch(reason);
  });

  it('is held to the caps of the host beside the terms', () => {
    const large = { ...buy, limit: 100n * USD + 1n };
    expect(judge(tradePlan(large), { ...buyTerms, budget: 1_000n * USD })).toMatch(/^limit /);
    const many = { ...sell, amount: 10n * SHARE + 1n };
    expect(judge(tradePlan(many), { ...sellTerms, shares: many.amount })).toMatch(/^amount /);
    expect(judge(tradePlan(buy), { ...buyTerms, slippageBps: 49 })).toMatch(/^slippageBps /);
    expect(judge(tradePlan(buy), buyTerms, { ...policy, kinds: ['sell'] })).toMatch(/^kind buy/);
    expect(judge(tradePlan(buy), { ...buyTerms, ticker: 'NONE' })).toMatch(/^ticker NONE/);
    const eleven = { ...buy, fee: 11n * USD };
    expect(judge(tradePlan(eleven), buyTerms, { ...policy, maxFee: 50n * USD })).toMatch(/^fee /);
  });

  it('is held to the worst price, to the base unit', () => {
    expect(judge(tradePlan(buy), { ...buyTerms, worstPrice: 50n * USD })).toBeNull();
    expect(judge(tradePlan(buy), { ...buyTerms, worstPrice: 50n * USD - 1n })).toMatch(/^limit /);
    expect(judge(tradePlan(sell), { ...sellTerms, worstPrice: 40n * USD })).toBeNull();
    expect(judge(tradePlan(sell), { ...sellTerms, worstPrice: 40n * USD + 1n })).toMatch(/^limit /);
  });

  it.each<[string, (plan: ReturnType<typeof tradePlan>) => unknown, RegExp]>([
    ['domain name', domain({ name: 'basket cover' }), /^typedData\.domain\.name /],
    ['domain version', domain({ version: '2' }), /^typedData\.domain\.version /],
    ['chain', domain({ chainId: 1 }), /^typedData\.domain\.chainId /],
    ['module', domain({ verifyingContract: stranger }), /^typedData\.domain\.verifyingContract /],
    ['salt', domain({ salt: '0x00' }), /^typedData\.domain\.salt /],
    ['primary type', typed({ primaryType: 'Permit' }), /^typedData\.primaryType /],
    ['types', typed({ types: { Action: [] } }), /^typedData\.types/],
    ['message', (plan) => withMessage(plan, { amount: '2' }), /^typedData\.message\.amount /],
    ['nonce', (plan) => withMessage(plan, { nonce: '78' }), /^typedData\.message\.nonce /],
    ['everything', typed(undefined), /^typedData/],
  ])('whose typed data have another %s is refused', (_, tamper, reason) => {
    expect(judge(tamper(tradePlan(buy)), buyTerms)).toMatch(reason);
  });

  it.each<[string, unknown]>([
    ['of a stranger', 'https://thief.example/base/relay/v1/account/execute'],
    ['without its path', 'https://relay.example/relay/v1/account/execute'],
    ['that is none', 'relay'],
  ])('with a relayer %s is refused', (_, url) => {
    expect(judge({ ...tradePlan(buy), relayerUrl: url }, buyTerms)).toMatch(/^relayerUrl /);
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['a number for an amount', { amount: 5 }, /^plan action\.amount/],
    ['an unknown field', { referrer: stranger }, /^plan action: unknown field/],
    ['no data', { data: undefined }, /^plan action\.data/],
    ['a short address', { account: '0x12' }, /^plan action\.account/],
    ['a negative fee', { fee: '-1' }, /^plan action\.fee/],
  ])('with %s is not read', (_, change, reason) => {
    const plan = tradePlan(buy);
    expect(judge({ ...plan, action: { ...plan.action, ...change } }, buyTerms)).toMatch(reason);
    expect(judge(null, buyTerms)).toMatch(/^plan /);
  });
});

function typed(change: object | undefined) {
  return (plan: ReturnType<typeof tradePlan>) => ({
    ...plan,
    typedData: change === undefined ? undefined : { ...plan.typedData, ...change },
  });
}
function domain(change: object) {
  return (plan: ReturnType<typeof tradePlan>) =>
    typed({ domain: { ...plan.typedData.domain, ...change } })(plan);
}
function withMessage(plan: ReturnType<typeof tradePlan>, change: object) {
  return typed({ message: { ...plan.typedData.message, ...change } })(plan);
}

describe('a cover plan', () => {
  const coverAction = (kind: number, order: CoverOrder): CoverAction => ({
    account,
    key,
    kind,
    data: encodeCoverData(order),
    nonce: 77n,
    deadline: NOW + 300,
    fee: 0n,
  });
  const coverPlan = (action: CoverAction) => ({
    intent: 'take',
    action: coverActionToJson(action),
    typedData: coverActionTypedData(action, coverModule),
    relayerUrl: `${relayerUrl}/relay/v1/account/cover`,
  });
  const take = {
    tag: 'take',
    ids: [3n, 4n],
    coverUsd: [600n, 400n],
    minCoverUsd: 1_000n,
    limit: 25n * USD,
  } as const;
  const takeTerms = {
    type: 'cover',
    kind: 'cover-take',
    ticker: 'CORE',
    fromBps: 300,
    toBps: 1_000,
    coverUsd: 1_000n,
  } as const;
  const judgeTake = (change: object, terms: object = {}) =>
    judge(coverPlan(coverAction(COVER_KIND.take, { ...take, ...change })), {
      ...takeTerms,
      ...terms,
    });

  it('passes as it was asked', () => {
    expect(judgeTake({})).toBeNull();
    expect(judgeTake({}, { maxPricePer1k: 25n * USD })).toBeNull();
    const part = { ids: [3n], coverUsd: [600n], minCoverUsd: 600n, limit: 15n * USD };
    expect(judgeTake(part, { allowPartial: true })).toBeNull();
  });

  it.each<[string, object, object, RegExp]>([
    ['less than asked', { coverUsd: [600n, 399n], minCoverUsd: 999n }, {}, /^coverUsd is below/],
    ['more than asked', { coverUsd: [600n, 401n], minCoverUsd: 1_001n }, {}, /^coverUsd is above/],
    ['nothing', { ids: [], coverUsd: [], minCoverUsd: 0n }, {}, /^coverUsd /],
    ['a smaller least cover', { minCoverUsd: 999n }, {}, /^minCoverUsd /],
    ['more than 3%', { limit: 30n * USD + 1n }, {}, /^limit is above 3%/],
    ['a dearer price', {}, { maxPricePer1k: 24n * USD }, /^limit is above the dearest/],
  ])('to take with %s is refused', (_, change, terms, reason) => {
    expect(judgeTake(change, terms)).toMatch(reason);
  });

  const request = {
    tag: 'request',
    week: 2_900,
    vault,
    fromBps: 300,
    toBps: 1_000,
    coverUsd: 1_000n,
    pricePer1k: 20n * USD,
  } as const;
  const requestTerms = {
    type: 'cover',
    kind: 'cover-request',
    ticker: 'CORE',
    week: 2_900,
    fromBps: 300,
    toBps: 1_000,
    coverUsd: 1_000n,
    pricePer1k: 20n * USD,
  } as const;
  it.each<[string, object, RegExp | null]>([
    ['as asked', {}, null],
    ['of another vault', { vault: at('5') }, /^vault /],
    ['from elsewhere', { fromBps: 350 }, /^fromBps /],
    ['to elsewhere', { toBps: 950 }, /^toBps /],
    ['of more', { coverUsd: 1_001n }, /^coverUsd /],
    ['at another price', { pricePer1k: 21n * USD }, /^pricePer1k /],
    ['of another week', { week: 2_901 }, /^week /],
  ])('to request %s', (_, change, reason) => {
    const plan = coverPlan(coverAction(COVER_KIND.request, { ...request, ...change }));
    const found = judge(plan, requestTerms);
    if (reason === null) expect(found).toBeNull();
    else expect(found).toMatch(reason);
  });

  it('to cancel names its listing, carries no fee, and is of its kind', () => {
    const terms = { type: 'cover', kind: 'cover-cancel', listingId: 9n } as const;
    const cancel = coverAction(COVER_KIND.cancel, { tag: 'cancel', listingId: 9n });
    expect(judge(coverPlan(cancel), terms)).toBeNull();
    expect(judge(coverPlan(cancel), { ...terms, listingId: 8n })).toMatch(/^listingId /);
    expect(judge(coverPlan({ ...cancel, fee: 1n }), terms)).toMatch(/^fee /);
    expect(judge(coverPlan({ ...cancel, data: '0x' }), terms)).toMatch(/^data /);
    expect(judge(coverPlan({ ...cancel, kind: COVER_KIND.offer }), terms)).toMatch(/^kind /);
    const { coverModule: _, ...without } = pins;
    expect(judge(coverPlan(cancel), terms, { ...policy, pins: without })).toMatch(
      /no cover module/,
    );
  });
});
