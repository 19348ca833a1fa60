/**
 * What the owner's wallet sends, encoded. A grant comes either with the account (the factory's openAndGrant) or from
 * the account: a Safe transaction that its sole owner sends himself, for which no signature is needed beside the
 * sender's own (Safe 1.4.1, checkNSignatures, v = 1).
 */
import { type Address, concat, encodeFunctionData, type Hex, pad, zeroAddress } from 'viem';
import { accountFactoryAbi } from '../../contracts-abi/generated/accountFactory.ts';
import { safeAbi } from '../../contracts-abi/generated/safe.ts';
import { sessionModuleAbi } from '../../contracts-abi/generated/sessionModule.ts';
import type { AccountState, Addresses } from './account.ts';
import type { Terms } from './terms.ts';

const CALL = 0;
const SECONDS_A_DAY = 86_400;

/** One transaction of the owner's wallet. `what` finishes "Your wallet asks you to …". */
export type Step = { what: string; to: Address; data: Hex };

/** ISessionModule.GrantTerms. */
type GrantTerms = {
  key: Address;
  validUntil: number;
  maxSlippageBps: number;
  coverEnabled: boolean;
  dailyLimit: bigint;
  coverDailyLimit: bigint;
};

/** The grant of these terms from `now`, unix seconds of the newest block. */
export function grantTerms(key: Address, terms: Terms, now: number): GrantTerms {
  const { maxSlippageBps, coverEnabled, dailyLimit, coverDailyLimit, days } = terms;
  const validUntil = now + days * SECONDS_A_DAY;
  return { key, validUntil, maxSlippageBps, coverEnabled, dailyLimit, coverDailyLimit };
}

/**
 * Everything that has to be sent for the grant, in order: one transaction, and one more before it for each module that
 * the owner has switched off. There is no batch helper to delegate-call in this protocol, and a plain call is what an
 * owner can read in his wallet.
 */
export function approvalSteps(
  addresses: Addresses,
  state: AccountState,
  grant: GrantTerms,
): readonly Step[] {
  if (!state.deployed) {
    const data = encodeFunctionData({
      abi: accountFactoryAbi,
      functionName: 'openAndGrant',
      args: [grant],
    });
    return [{ what: 'open your account and approve the key', to: addresses.accountFactory, data }];
  }
  const steps: Step[] = [];
  if (!state.sessionModuleEnabled) {
    steps.push(enableModule(state, addresses.sessionModule, 'trading'));
  }
  if (grant.coverEnabled && !state.coverModuleEnabled) {
    steps.push(enableModule(state, addresses.coverModule, 'cover'));
  }
  const data = encodeFunctionData({ abi: sessionModuleAbi, functionName: 'grant', args: [grant] });
  steps.push(fromAccount(state, addresses.sessionModule, data, 'approve the key'));
  return steps;
}

/** Ends the key's permission at once. */
export function revokeStep(addresses: Addresses, state: AccountState, key: Address): Step {
  const data = encodeFunctionData({ abi: sessionModuleAbi, functionName: 'revoke', args: [key] });
  return fromAccount(state, addresses.sessionModule, data, 'revoke the key');
}

/** Stops or lets go on every key of the account. */
export function pauseStep(addresses: Addresses, state: AccountState, paused: boolean): Step {
  const data = encodeFunctionData({
    abi: sessionModuleAbi,
    functionName: 'setPaused',
    args: [paused],
  });
  const what = paused ? 'pause every agent of your account' : 'let the agents go on';
  return fromAccount(state, addresses.sessionModule, data, what);
}

function enableModule(state: AccountState, module: Address, name: string): Step {
  const data = encodeFunctionData({ abi: safeAbi, functionName: 'enableModule', args: [module] });
  return fromAccount(state, state.account, data, `switch the ${name} module of your account on`);
}

function fromAccount({ account, owner }: AccountState, to: Address, data: Hex, what: string): Step {
  return {
    what,
    to: account,
    data: encodeFunctionData({
      abi: safeAbi,
      functionName: 'execTransaction',
      args: [to, 0n, data, CALL, 0n, 0n, 0n, zeroAddress, zeroAddress, senderIsOwner(owner)],
    }),
  };
}

/** The pre-validated signature: r = owner, s unused, v = 1; holds only where the owner is the sender. */
function senderIsOwner(owner: Address): Hex {
  return concat([pad(owner, { size: 32 }), pad('0x', { size: 32 }), '0x01']);
}
