/** Unsigned cover actions for an agent's key (wire.md, Cover rules and Cover plan). */
import {
  type AbiParameter,
  decodeAbiParameters,
  type DecodeAbiParametersReturnType,
  encodeAbiParameters,
  hashTypedData,
  parseAbiParameters,
} from 'viem';
import { type Session, session } from './agent.ts';
import { dollars, isFeeOf, ordered, type Range, rangeFields, unique, weekId } from './cover.ts';
import { addr, count, hex, int, nearly, unixSeconds, url, wei } from './formats.ts';
import { ticker } from './marks.ts';
import { array, tuple } from './collections.ts';
import { type Infer, literal, object, oneOf, type Rule } from './shape.ts';
import { domain, EIP712_DOMAIN, member, unsimulated } from './unsigned.ts';

const KIND = { take: 0, request: 1, cancel: 4 } as const;
type Intent = keyof typeof KIND;

const COVER_ACTION = tuple(
  member('account', 'address'),
  member('key', 'address'),
  member('kind', 'uint8'),
  member('data', 'bytes'),
  member('nonce', 'uint256'),
  member('deadline', 'uint48'),
  member('fee', 'uint256'),
);

const action = <const K extends number>(kind: K) =>
  object({
    account: addr,
    key: addr,
    kind: literal<K>(kind),
    data: hex(),
    nonce: wei,
    deadline: unixSeconds,
    fee: wei,
  });
export type CoverAction = Infer<ReturnType<typeof action<number>>>;

const typedData = <const K extends number>(kind: K) =>
  object({
    domain: domain('basket cover'),
    types: object({ CoverAction: COVER_ACTION }, { ours: { EIP712Domain: EIP712_DOMAIN } }),
    primaryType: literal('CoverAction'),
    message: action(kind),
  });
type TypedData = Infer<ReturnType<typeof typedData<number>>>;

/** The digest that the key signs, from the typed data alone. */
export function coverDigestOf({ domain: signed, types, message }: TypedData): `0x${string}` {
  return hashTypedData({
    domain: signed,
    types: { CoverAction: types.CoverAction },
    primaryType: 'CoverAction',
    message: { ...message, nonce: BigInt(message.nonce), fee: BigInt(message.fee) },
  });
}

const TUPLES = {
  take: parseAbiParameters('uint256[] ids, uint64[] coverUsd, uint256 minCoverUsd, uint256 limit'),
  request: parseAbiParameters(
    'uint32 week, address vault, uint16 fromBps, uint16 toBps, uint64 coverUsd, uint128 pricePer1k',
  ),
  cancel: parseAbiParameters('uint256 listingId'),
};

/** Null for what does not decode and for what is not the one encoding of what it holds: one order, one digest. */
function readExactly<const P extends readonly AbiParameter[]>(
  types: P,
  data: `0x${string}`,
): DecodeAbiParametersReturnType<P> | null {
  try {
    const values = decodeAbiParameters(types, data);
    const again = encodeAbiParameters(
      types as readonly AbiParameter[],
      values as readonly unknown[],
    );
    return again === data.toLowerCase() ? values : null;
  } catch {
    // expected: the bytes are what is being checked
    return null;
  }
}

const dataOf = {
  take: (data: `0x${string}`) => readExactly(TUPLES.take, data),
  request: (data: `0x${string}`) => readExactly(TUPLES.request, data),
  cancel: (data: `0x${string}`) => readExactly(TUPLES.cancel, data),
};

/** Dollars. */
const summaryFields = { cover: count, premium: dollars, fee: dollars, cost: dollars };
const summary = object(summaryFields);

/** Ours: what comes back. */
const cancelled = object(summaryFields, { ours: { returned: dollars } });

/** What every plan has, whatever it is for. */
const common = <const I extends Intent>(intent: I) => ({
  intent: literal<I>(intent),
  summary,
  status: session,
  coverRemainingTodayUsdg: wei,
  module: addr,
  action: action(KIND[intent]),
  typedData: typedData(KIND[intent]),
  relayerUrl: url,
  simulation: unsimulated,
});

export type CoverPlan = {
  summary: Infer<typeof summary>;
  status: Session;
  coverRemainingTodayUsdg: string;
  module: string;
  action: CoverAction;
  typedData: TypedData;
  relayerUrl: string;
};

const planRules: readonly Rule<CoverPlan>[] = [
  ({ action: planned, typedData: { message } }) =>
    Object.entries(planned).every(([key, value]) => message[key as keyof CoverAction] === value)
      ? undefined
      : 'the message is not the action',
  ({ module, typedData: { domain: signed } }) =>
    signed.verifyingContract === module ? undefined : 'another verifying contract',
  ({ module, status }) => (module === status.module ? 'cover has a module of its own' : undefined),
  ({ action: { account, key }, status }) =>
    account === status.account && key === status.key ? undefined : 'an action of another account',
  ({ action: { deadline }, status }) =>
    deadline <= status.validUntil ? undefined : 'a deadline past the grant',
  ({ status }) =>
    status.active && status.coverEnabled ? undefined : 'a plan of a session without cover',
  ({ action: { fee } }) => (BigInt(fee) <= 10_000_000n ? undefined : 'a fee above $10'),
  ({ relayerUrl }) =>
    new URL(relayerUrl).pathname.endsWith('/relay/v1/account/cover')
      ? undefined
      : 'relayerUrl is not the route of cover',
  ({ relayerUrl, status }) =>
    relayerUrl === status.relayerUrl.replace(/execute$/, 'cover')
      ? undefined
      : 'another relayer than that of the session',
  ({ typedData: signed }) =>
    /^0x[0-9a-f]{64}$/.test(coverDigestOf(signed)) ? undefined : 'no digest can be computed',
];

/** Of what spends money. */
const spendRules: readonly Rule<CoverPlan>[] = [
  ({ status }) => (status.paused ? 'new cover while it is paused' : undefined),
  ({ summary: { cost }, coverRemainingTodayUsdg }) =>
    within(cost, coverRemainingTodayUsdg) ? undefined : 'more than cover may cost today',
  ({ summary: { cost }, status }) =>
    within(cost, status.usdgWei) ? undefined : 'more than the account has',
];

function within(cost: number, most: string): boolean {
  const dollarsAtMost = Number(most) / 1e6;
  return cost <= dollarsAtMost || nearly(cost, dollarsAtMost);
}

const place = { ticker, week: weekId, ...rangeFields };

/** Ours: what is taken of which offer. */
const offers = array(object({ id: wei, coverUsd: int({ min: 1 }), pricePer1k: dollars }));

const takeRules: readonly Rule<CoverPlan & Range>[] = [
  ordered,
  ({ action: { data } }) => (dataOf.take(data) === null ? 'data is no take' : undefined),
  ({ action: { data } }) => {
    const [ids = [], parts = []] = dataOf.take(data) ?? [];
    return ids.length > 0 && ids.length === parts.length && unique(ids, String)
      ? undefined
      : 'not one part of each offer';
  },
  ({ action: { data } }) => {
    const [, parts = [], least] = dataOf.take(data) ?? [];
    return parts.every((part) => part > 0n) && total(parts) === least
      ? undefined
      : 'minCoverUsd is not the sum of coverUsd';
  },
  ({ action: { data } }) => {
    const [, parts = [], , limit = 0n] = dataOf.take(data) ?? [];
    return limit * 100n <= total(parts) * 3n * 1_000_000n ? undefined : 'limit above 3%';
  },
  ({ action: { data }, summary: { cost } }) => {
    const [, , , limit = 0n] = dataOf.take(data) ?? [];
    return within(cost, limit.toString()) ? undefined : 'cost above limit';
  },
  ({ action: { data }, summary: { cover } }) =>
    total(dataOf.take(data)?.[1] ?? []) === BigInt(cover) ? undefined : 'summary of other cover',
  ({ summary: { premium, fee, cost } }) =>
    nearly(cost, premium + fee) ? undefined : 'cost is not premium and fee',
  ({ action: { data }, summary: { premium, fee } }) =>
    isFeeOf(fee, premium, dataOf.take(data)?.[0].length ?? 0)
      ? undefined
      : 'the fee is not 1% of the premium',
  (plan) => {
    const { offers: taken } = plan as { offers?: Infer<typeof offers> };
    const [ids = [], parts = []] = dataOf.take(plan.action.data) ?? [];
    const same = (rows: Infer<typeof offers>) =>
      rows.map(({ id, coverUsd }) => `${id} ${coverUsd}`).join() ===
      ids.map((id, index) => `${id} ${parts[index]}`).join();
    return taken === undefined || same(taken) ? undefined : 'offers are not those of data';
  },
];

const total = (parts: readonly bigint[]): bigint => parts.reduce((sum, part) => sum + part, 0n);

const requestRules: readonly Rule<CoverPlan & Range & { week: number }>[] = [
  ordered,
  ({ action: { data } }) => (dataOf.request(data) === null ? 'data is no request' : undefined),
  ({ action: { data }, week, fromBps, toBps, summary: { cover } }) => {
    const [id, , from, to, coverUsd] = dataOf.request(data) ?? [];
    return id === week && from === fromBps && to === toBps && coverUsd === BigInt(cover)
      ? undefined
      : 'data is of another week, range or cover';
  },
  // Whole cents, at most $30.
  ({ action: { data } }) => {
    const price = dataOf.request(data)?.[5] ?? 0n;
    return price > 0n && price <= 30_000_000n && price % 10_000n === 0n
      ? undefined
      : 'no price that a session may ask';
  },
  ({ action: { data }, summary: { cover, premium } }) =>
    nearly(premium, (cover * Number(dataOf.request(data)?.[5] ?? 0n)) / 1e9)
      ? undefined
      : 'premium is not cover at the price',
  // The 1% is inside of what is locked.
  ({ summary: { premium, cost } }) => (cost === premium ? undefined : 'cost is not the premium'),
  ({ summary: { premium, fee } }) =>
    isFeeOf(fee, premium, 1) ? undefined : 'the fee is not 1% of the premium',
];

const cancelRules: readonly Rule<CoverPlan>[] = [
  ({ action: { data } }) => (dataOf.cancel(data) === null ? 'data is no cancel' : undefined),
  ({ action: { fee } }) => (fee === '0' ? undefined : 'a cancel carries no fee'),
];

/** `POST /v1/agent/cover`. */
export const coverPlan = oneOf('intent', [
  [
    'take',
    object(
      { ...common('take'), ...place },
      { ours: { offers }, rules: [...planRules, ...spendRules, ...takeRules] },
    ),
  ],
  [
    'request',
    object(
      { ...common('request'), ...place },
      { rules: [...planRules, ...spendRules, ...requestRules] },
    ),
  ],
  [
    'cancel',
    object(
      { ...common('cancel'), summary: cancelled },
      {
        optional: place,
        rules: [...planRules, ...cancelRules],
      },
    ),
  ],
]);
