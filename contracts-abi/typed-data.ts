/**
 * EIP-712 typed data of what a session key signs (wire.md, Agent session; SessionModule.sol, CoverModule.sol).
 * Action: domain {name "basket account", version "1", chainId 4663, verifyingContract = session module}.
 * CoverAction: domain {name "basket cover", version "1", chainId 4663, verifyingContract = cover module}; what its
 * `data` holds is in cover-data.ts.
 */
import type { Address, Hex } from 'viem';
import { CHAIN_ID } from './constants.ts';
import { type FlatType, flatDigest, type Keccak256 } from './flat-digest.ts';

const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

export const ACTION_TYPES = {
  Action: [
    { name: 'account', type: 'address' },
    { name: 'key', type: 'address' },
    { name: 'kind', type: 'uint8' },
    { name: 'vault', type: 'address' },
    { name: 'amount', type: 'uint256' },
    { name: 'limit', type: 'uint256' },
    { name: 'slippageBps', type: 'uint16' },
    { name: 'data', type: 'bytes' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint48' },
    { name: 'fee', type: 'uint256' },
  ],
} as const;

const ACTION: FlatType = { name: 'Action', fields: ACTION_TYPES.Action };

export const ACTION_KIND = { buy: 0, sell: 1 } as const;

/** A session action with chain types: every uint256 a bigint. */
export type Action = {
  account: Address;
  key: Address;
  kind: number;
  vault: Address;
  amount: bigint;
  limit: bigint;
  slippageBps: number;
  data: Hex;
  nonce: bigint;
  deadline: number;
  fee: bigint;
};

/** The same action as JSON: every uint256 a decimal string; kind, slippageBps and deadline numbers (wire.md). */
export type ActionJson = {
  account: Address;
  key: Address;
  kind: number;
  vault: Address;
  amount: string;
  limit: string;
  slippageBps: number;
  data: Hex;
  nonce: string;
  deadline: number;
  fee: string;
};

export function sessionDomain(sessionModule: Address) {
  return {
    name: 'basket account',
    version: '1',
    chainId: CHAIN_ID,
    verifyingContract: sessionModule,
  } as const;
}

export function actionToJson(action: Action): ActionJson {
  return {
    ...action,
    amount: action.amount.toString(),
    limit: action.limit.toString(),
    nonce: action.nonce.toString(),
    fee: action.fee.toString(),
  };
}

/** Throws SyntaxError when a decimal string is not an integer; validate with a schema first. */
export function actionFromJson(json: ActionJson): Action {
  return {
    ...json,
    amount: BigInt(json.amount),
    limit: BigInt(json.limit),
    nonce: BigInt(json.nonce),
    fee: BigInt(json.fee),
  };
}

/** The EIP-712 digest that the key signs and that `Executed` carries. */
export function actionDigest(action: Action, sessionModule: Address, hash?: Keccak256): Hex {
  return flatDigest(sessionDomain(sessionModule), ACTION, action, hash);
}

/** The full `typedData` JSON of wire.md: signable by any EIP-712 signer as it stands. */
export function actionTypedData(action: Action, sessionModule: Address) {
  return {
    domain: sessionDomain(sessionModule),
    types: { EIP712Domain: DOMAIN_FIELDS, ...ACTION_TYPES },
    primaryType: 'Action' as const,
    message: actionToJson(action),
  };
}

export const COVER_ACTION_TYPES = {
  CoverAction: [
    { name: 'account', type: 'address' },
    { name: 'key', type: 'address' },
    { name: 'kind', type: 'uint8' },
    { name: 'data', type: 'bytes' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint48' },
    { name: 'fee', type: 'uint256' },
  ],
} as const;

const COVER_ACTION: FlatType = { name: 'CoverAction', fields: COVER_ACTION_TYPES.CoverAction };

/** A cover action with chain types: every uint256 a bigint. Its kinds are COVER_KIND. */
export type CoverAction = {
  account: Address;
  key: Address;
  kind: number;
  data: Hex;
  nonce: bigint;
  deadline: number;
  fee: bigint;
};

/** The same action as JSON: every uint256 a decimal string; kind and deadline numbers (wire.md). */
export type CoverActionJson = {
  account: Address;
  key: Address;
  kind: number;
  data: Hex;
  nonce: string;
  deadline: number;
  fee: string;
};

export function coverDomain(coverModule: Address) {
  return {
    name: 'basket cover',
    version: '1',
    chainId: CHAIN_ID,
    verifyingContract: coverModule,
  } as const;
}

export function coverActionToJson(action: CoverAction): CoverActionJson {
  return { ...action, nonce: action.nonce.toString(), fee: action.fee.toString() };
}

/** Throws SyntaxError when a decimal string is not an integer; validate with a schema first. */
export function coverActionFromJson(json: CoverActionJson): CoverAction {
  return { ...json, nonce: BigInt(json.nonce), fee: BigInt(json.fee) };
}

/** The EIP-712 digest that the key signs and that `CoverExecuted` carries. */
export function coverActionDigest(
  action: CoverAction,
  coverModule: Address,
  hash?: Keccak256,
): Hex {
  return flatDigest(coverDomain(coverModule), COVER_ACTION, action, hash);
}

/** The full `typedData` JSON of wire.md: signable by any EIP-712 signer as it stands. */
export function coverActionTypedData(action: CoverAction, coverModule: Address) {
  return {
    domain: coverDomain(coverModule),
    types: { EIP712Domain: DOMAIN_FIELDS, ...COVER_ACTION_TYPES },
    primaryType: 'CoverAction' as const,
    message: coverActionToJson(action),
  };
}
