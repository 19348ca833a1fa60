/** The live permission of one key on one owner's account, by one aggregated read (ISessionModule, IAccountFactory). */
import { type Address, erc20Abi, isAddressEqual } from 'viem';
import { CHAIN_ID } from '../../contracts-abi/constants.ts';
import {
  protocolPauseAbi,
  safeAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import { dailyFeeCap } from '../../contracts-abi/network-fees.ts';
import { planBlockTime } from '../../runtime/chain/block-time.ts';
import { optional, type ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { Service } from '../service.ts';

/** Amounts in USDG base units. */
export type Session = {
  owner: Address;
  account: Address;
  key: Address;
  /** The block's time, unix seconds. */
  chainTime: number;
  deployed: boolean;
  moduleEnabled: boolean;
  coverEnabled: boolean;
  active: boolean;
  paused: boolean;
  /** The owner's own pause, apart from the protocol's. */
  accountPaused: boolean;
  usdg: bigint;
  dailyLimit: bigint;
  coverDailyLimit: bigint;
  usedToday: bigint;
  feesToday: bigint;
  feeCap: bigint;
  maxSlippageBps: number;
  validUntil: number;
  epoch: number;
};

/** Adds the session's reads to a batch; the returned function gives the session once it was sent. */
export function planSession(
  batch: ReadBatch,
  service: Service,
  owner: Address,
  key: Address,
  account: Address,
): () => Session {
  const { deployment } = service;
  const safe = { to: account, abi: safeAbi } as const;
  const module = { to: deployment.sessionModule, abi: sessionModuleAbi } as const;
  const now = planBlockTime(batch, deployment);
  const owners = batch.add({ ...safe, functionName: 'getOwners', args: [] });
  const enabled = batch.add({
    ...safe,
    functionName: 'isModuleEnabled',
    args: [deployment.sessionModule],
  });
  const grant = batch.add({ ...module, functionName: 'grantOf', args: [account, key] });
  const usage = batch.add({ ...module, functionName: 'usageOf', args: [account, key] });
  const accountPaused = batch.add({ ...module, functionName: 'accountPaused', args: [account] });
  const protocolPaused = batch.add({
    to: deployment.pause,
    abi: protocolPauseAbi,
    functionName: 'paused',
    args: [],
  });
  const balance = batch.add({
    to: deployment.usdg,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [account],
  });
  return () => {
    const chainTime = now();
    // An account that does not exist answers nothing to either.
    const safeOwners = optional(owners);
    const deployed = safeOwners !== null && safeOwners.length > 0;
    const moduleEnabled = optional(enabled) ?? false;
    const given = required(grant, 'the grant');
    const [usedToday, feesToday] = required(usage, 'the usage of the key');
    const granterOwns = safeOwners?.some((each) => isAddressEqual(each, given.owner)) ?? false;
    const pausedByOwner = required(accountPaused, 'the pause');
    const live = given.active && granterOwns && chainTime <= given.validUntil;
    return {
      owner,
      account,
      key,
      chainTime,
      deployed,
      moduleEnabled,
      coverEnabled: live && moduleEnabled && given.coverEnabled,
      active: deployed && moduleEnabled && live,
      paused: required(protocolPaused, 'the pause') || pausedByOwner,
      accountPaused: pausedByOwner,
      usdg: required(balance, 'the USDG balance'),
      dailyLimit: given.dailyLimit,
      coverDailyLimit: given.coverDailyLimit,
      usedToday,
      feesToday,
      feeCap: dailyFeeCap(given.dailyLimit),
      maxSlippageBps: given.maxSlippageBps,
      validUntil: given.validUntil,
      epoch: given.epoch,
    };
  };
}

const REVOKE_EFFECT =
  'Revoking stops new actions of this key at once. Open orders, schedules and cover listings stay until the owner cancels them.';

/** The Session of wire.md. */
export function sessionJson(service: Service, session: Session) {
  const left = session.dailyLimit - session.usedToday;
  return {
    owner: session.owner,
    account: session.account,
    key: session.key,
    chainId: CHAIN_ID,
    module: service.deployment.sessionModule,
    deployed: session.deployed,
    moduleEnabled: session.moduleEnabled,
    coverEnabled: session.coverEnabled,
    active: session.active,
    paused: session.paused,
    accountPaused: session.accountPaused,
    usdgWei: session.usdg.toString(),
    dailyLimitUsdg: session.dailyLimit.toString(),
    remainingTodayUsdg: (left > 0n ? left : 0n).toString(),
    coverDailyLimitUsdg: session.coverDailyLimit.toString(),
    maxSlippageBps: session.maxSlippageBps,
    validUntil: session.validUntil,
    approvalUrl: approvalUrl(service.urls.approval, session.owner, session.key),
    relayerUrl: service.urls.relayer,
    revokeEffect: REVOKE_EFFECT,
  };
}

/** The owner's approval page, told which key asks. */
function approvalUrl(base: string, owner: Address, key: Address): string {
  const url = new URL(base);
  url.searchParams.set('owner', owner);
  url.searchParams.set('key', key);
  return url.toString();
}
