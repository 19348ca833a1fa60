/**
 * The host's policy: whether a plan is what was asked, within what the host allows. Pure. A service that was taken over
 * can then refuse to serve, and nothing more: what is signed is rebuilt here, under the host's own pins and caps.
 */
import { type Address, isAddressEqual } from 'viem';
import { MAX_ACTION_LIFETIME, MAX_NETWORK_FEE, SHARE } from '../../contracts-abi/constants.ts';
import type { Action } from '../../contracts-abi/typed-data.ts';
import { checkCover } from './cover-policy.ts';
import { type Violation, violation } from './outcome.ts';
import { vaultOf } from './pins.ts';
import type { Plan } from './plan.ts';
import { kindName, routeOf, type Signable } from './signable.ts';
import type { Policy, Terms, TradeTerms } from './terms.ts';
import { typedDataDifference } from './typed-data-difference.ts';

export type PolicyContext = {
  policy: Policy;
  /** Address of the signer. */
  key: Address;
  /** Base URL of the relayer, without a slash at its end. */
  relayerUrl: string;
  /** Unix seconds: of the chain where it is read, else of this machine. */
  now: number;
};

/** The first thing in the plan that the host does not sign, or null. */
export function checkPlan(plan: Plan, terms: Terms, context: PolicyContext): Violation | null {
  const { signable } = plan;
  return (
    checkCommon(signable, terms, context) ??
    (terms.type === 'trade'
      ? signable.type === 'trade'
        ? checkTrade(signable.action, terms, context.policy)
        : violation('action', 'is no trade')
      : signable.type === 'cover'
        ? checkCover(signable.action, terms, context.policy)
        : violation('action', 'is no cover action')) ??
    typedDataDifference(signable, plan.typedData) ??
    checkRelayerUrl(plan, context.relayerUrl)
  );
}

function checkCommon(
  { type, action }: Signable,
  terms: Terms,
  { policy, key, now }: PolicyContext,
): Violation | null {
  if (!isAddressEqual(action.account, policy.account)) {
    return violation('account', 'is not the account of this host');
  }
  if (!isAddressEqual(action.key, key)) return violation('key', 'is not the key of this signer');
  if (kindName(type, action.kind) !== terms.kind) {
    return violation('kind', `is not ${terms.kind}`);
  }
  if (!policy.kinds.includes(terms.kind)) {
    return violation('kind', `${terms.kind} is not among the kinds that this host allows`);
  }
  if (action.deadline <= now) return violation('deadline', 'is past');
  const longest = policy.maxLifetimeSeconds ?? Number(MAX_ACTION_LIFETIME);
  if (action.deadline > now + longest) {
    return violation('deadline', `is more than ${longest} s ahead`);
  }
  return checkFee(action.fee, policy);
}

/** Also of a fee that a relayer asks for. */
export function checkFee(fee: bigint, policy: Policy): Violation | null {
  const most = policy.maxFee < MAX_NETWORK_FEE ? policy.maxFee : MAX_NETWORK_FEE;
  return fee <= most
    ? null
    : violation('fee', `${fee} is above the ${most} USDG base units that this host pays`);
}

function checkTrade(action: Action, terms: TradeTerms, policy: Policy): Violation | null {
  const vault = vaultOf(policy.pins, terms.ticker);
  if (vault === null) return violation('ticker', `${terms.ticker} is not pinned`);
  if (!isAddressEqual(action.vault, vault)) {
    return violation('vault', `is not the vault that is pinned for ${terms.ticker}`);
  }
  const slippage = terms.slippageBps ?? policy.maxSlippageBps;
  if (action.slippageBps > Math.min(slippage, policy.maxSlippageBps)) {
    return violation('slippageBps', 'is above what was asked or what this host allows');
  }
  if (action.amount === 0n) return violation('amount', 'is zero');
  return terms.kind === 'buy' ? checkBuy(action, terms, policy) : checkSell(action, terms, policy);
}

function checkBuy(
  { amount, limit }: Action,
  terms: Extract<TradeTerms, { kind: 'buy' }>,
  policy: Policy,
): Violation | null {
  if (limit > terms.budget) return violation('limit', 'is above the budget');
  if (limit > policy.maxSpend) return violation('limit', 'is above what this host spends at once');
  if (terms.worstPrice !== undefined && limit * SHARE > amount * terms.worstPrice) {
    return violation('limit', 'would pay more than the worst price');
  }
  return null;
}

function checkSell(
  { amount, limit }: Action,
  terms: Extract<TradeTerms, { kind: 'sell' }>,
  policy: Policy,
): Violation | null {
  if (amount !== terms.shares) return violation('amount', 'is not the number of shares asked');
  if (policy.maxShares !== undefined && amount > policy.maxShares) {
    return violation('amount', 'is above what this host sells at once');
  }
  if (terms.worstPrice !== undefined && limit * SHARE < amount * terms.worstPrice) {
    return violation('limit', 'would take less than the worst price');
  }
  return null;
}

/** A stranger who is handed a signature can execute it, no more; but he would answer what he likes. */
function checkRelayerUrl({ signable, relayerUrl }: Plan, base: string): Violation | null {
  if (relayerUrl === undefined) return null;
  const expected = new URL(`${base}${routeOf(signable.type)}`).href;
  if (URL.canParse(relayerUrl) && new URL(relayerUrl).href === expected) return null;
  // wire.md: the execute route takes cover actions too.
  const also = new URL(`${base}${routeOf('trade')}`).href;
  if (URL.canParse(relayerUrl) && new URL(relayerUrl).href === also) return null;
  return violation('relayerUrl', 'is not the relayer of this host');
}
