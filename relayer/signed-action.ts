/** The two things that a session key signs (wire.md), as slots hold them: told apart by shape, run by two modules. */
import { type Address, getAbiItem, type Hex } from 'viem';
import { COVER_KIND, decodeCoverData } from '../contracts-abi/cover-data.ts';
import { premiumOf } from '../contracts-abi/cover-pricing.ts';
import { coverModuleAbi, sessionModuleAbi } from '../contracts-abi/generated/index.ts';
import {
  ACTION_KIND,
  type Action,
  type ActionJson,
  actionDigest,
  actionFromJson,
  actionToJson,
  type CoverAction,
  type CoverActionJson,
  coverActionDigest,
  coverActionFromJson,
  coverActionToJson,
  coverDomain,
  sessionDomain,
} from '../contracts-abi/typed-data.ts';
import { functionSet } from '../runtime/chain/function-set.ts';
import { keccak256 } from '../runtime/keys/keccak.ts';

export type SignedAction = Action | CoverAction;

/** A trade; otherwise a cover action. */
export function isTrade(action: SignedAction): action is Action {
  return 'vault' in action;
}

/** Takes a request back: carries no fee, and is relayed for nothing within a quota. */
export function isCancel(action: SignedAction): boolean {
  return !isTrade(action) && action.kind === COVER_KIND.cancel;
}

type Modules = { sessionModule: Address; coverModule: Address };

export function moduleOf(action: SignedAction, modules: Modules): Address {
  return isTrade(action) ? modules.sessionModule : modules.coverModule;
}

/** The EIP-712 digest under the domain of the action's module. */
export function digestOf(action: SignedAction, module: Address): Hex {
  return isTrade(action)
    ? actionDigest(action, module, keccak256)
    : coverActionDigest(action, module, keccak256);
}

/** Names an action whatever fee it carries: what a quote is given for. */
export function termsOf(action: SignedAction, module: Address): Hex {
  return digestOf({ ...action, fee: 0n }, module);
}

/** The domain that the action is signed under. */
export function domainOf(action: SignedAction, module: Address) {
  return isTrade(action) ? sessionDomain(module) : coverDomain(module);
}

const executeOf = {
  trade: functionSet([getAbiItem({ abi: sessionModuleAbi, name: 'execute' })]),
  cover: functionSet([getAbiItem({ abi: coverModuleAbi, name: 'execute' })]),
};

/** Calldata of the module's `execute`. */
export function executeCalldata(action: SignedAction, signature: Hex): Hex {
  return isTrade(action)
    ? executeOf.trade.encode('execute', [action, signature])
    : executeOf.cover.encode('execute', [action, signature]);
}

export function signedActionToJson(action: SignedAction): ActionJson | CoverActionJson {
  return isTrade(action) ? actionToJson(action) : coverActionToJson(action);
}

export function signedActionFromJson(json: ActionJson | CoverActionJson): SignedAction {
  return 'vault' in json ? actionFromJson(json) : coverActionFromJson(json);
}

/** The most USDG that an action may take from its account without its fee; of a sale and a cancel nothing. */
export function mostSpent(action: SignedAction): bigint {
  if (isTrade(action)) return action.kind === ACTION_KIND.buy ? action.limit : 0n;
  const order = decodeCoverData(action.kind, action.data);
  if (order?.tag === 'take') return order.limit;
  if (order?.tag === 'request') return premiumOf(order.coverUsd, order.pricePer1k);
  return 0n;
}
