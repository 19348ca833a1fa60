/** The session of an agent's key and the unsigned actions for it (wire.md, Agent session, trade, cover). */
import { hashTypedData } from 'viem';
import { addr, flag, hex, int, unixSeconds, url, wei, words } from './formats.ts';
import { chainId, ticker } from './marks.ts';
import { tuple } from './collections.ts';
import { type Infer, literal, object, type Rule } from './shape.ts';
import { domain, EIP712_DOMAIN, member, unsimulated } from './unsigned.ts';

const sessionFields = {
  owner: addr,
  account: addr,
  key: addr,
  chainId,
  module: addr,
  deployed: flag,
  moduleEnabled: flag,
  coverEnabled: flag,
  active: flag,
  paused: flag,
  usdgWei: wei,
  dailyLimitUsdg: wei,
  remainingTodayUsdg: wei,
  maxSlippageBps: int({ min: 0, max: 1_000 }),
  /** 0 where there is no grant. */
  validUntil: int({ min: 0, max: 10_000_000_000 }),
  approvalUrl: url,
  relayerUrl: url,
  revokeEffect: words,
};

export const session = object(sessionFields, {
  ours: { accountPaused: flag, coverDailyLimitUsdg: wei },
  rules: [
    ({ active, deployed, moduleEnabled }) =>
      active && !(deployed && moduleEnabled) ? 'active without an enabled account' : undefined,
    ({ active, validUntil }) => (active && validUntil === 0 ? 'active without an end' : undefined),
    ({ coverEnabled, active }) => (coverEnabled && !active ? 'cover of no session' : undefined),
    ({ remainingTodayUsdg, dailyLimitUsdg }) =>
      BigInt(remainingTodayUsdg) <= BigInt(dailyLimitUsdg) ? undefined : 'more left than allowed',
    ({ relayerUrl }) =>
      new URL(relayerUrl).pathname.endsWith('/relay/v1/account/execute')
        ? undefined
        : 'relayerUrl is not the route to post to',
  ],
});
export type Session = Infer<typeof session>;

const action = object({
  account: addr,
  key: addr,
  kind: literal(0, 1),
  vault: addr,
  amount: wei,
  limit: wei,
  slippageBps: int({ min: 1, max: 1_000 }),
  data: hex(),
  nonce: wei,
  deadline: unixSeconds,
  fee: wei,
});
export type SignedAction = Infer<typeof action>;

const ACTION = tuple(
  member('account', 'address'),
  member('key', 'address'),
  member('kind', 'uint8'),
  member('vault', 'address'),
  member('amount', 'uint256'),
  member('limit', 'uint256'),
  member('slippageBps', 'uint16'),
  member('data', 'bytes'),
  member('nonce', 'uint256'),
  member('deadline', 'uint48'),
  member('fee', 'uint256'),
);
const typedData = object({
  domain: domain('basket account'),
  types: object({ Action: ACTION }, { ours: { EIP712Domain: EIP712_DOMAIN } }),
  primaryType: literal('Action'),
  message: action,
});

/** The digest that the key signs, from the typed data alone. */
export function digestOf(data: Infer<typeof typedData>): `0x${string}` {
  const { message } = data;
  return hashTypedData({
    domain: data.domain,
    types: { Action: data.types.Action },
    primaryType: 'Action',
    message: {
      ...message,
      amount: BigInt(message.amount),
      limit: BigInt(message.limit),
      nonce: BigInt(message.nonce),
      fee: BigInt(message.fee),
    },
  });
}

type TradePlan = {
  status: Session;
  action: SignedAction;
  typedData: Infer<typeof typedData>;
  relayerUrl: string;
};

const tradeRules: readonly Rule<TradePlan>[] = [
  ({ action: planned, typedData: { message } }) =>
    Object.entries(planned).every(([key, value]) => message[key as keyof SignedAction] === value)
      ? undefined
      : 'the message is not the action',
  ({ typedData: data, status }) =>
    data.domain.verifyingContract === status.module ? undefined : 'another verifying contract',
  ({ action: { account, key }, status }) =>
    account === status.account && key === status.key ? undefined : 'an action of another account',
  ({ action: { deadline }, status }) =>
    deadline <= status.validUntil ? undefined : 'a deadline past the grant',
  ({ status }) => (status.active && !status.paused ? undefined : 'a plan of no live session'),
  ({ relayerUrl, status }) =>
    relayerUrl === status.relayerUrl ? undefined : 'another relayer than that of the session',
  ({ typedData: data }) =>
    /^0x[0-9a-f]{64}$/.test(digestOf(data)) ? undefined : 'no digest can be computed',
];

export const trade = object(
  {
    ticker,
    status: session,
    action,
    typedData,
    relayerUrl: url,
    simulation: unsimulated,
  },
  { rules: tradeRules },
);
export type Trade = Infer<typeof trade>;
