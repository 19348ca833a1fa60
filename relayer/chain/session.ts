/** One aggregated read of everything that the checks of an action need, all of one block. */
import { erc20Abi, multicall3Abi, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  coverModuleAbi,
  protocolPauseAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import { optional, ReadBatch, required } from '../../runtime/chain/read-batch.ts';
import type { Session } from '../checks/session.ts';
import { isTrade, moduleOf, type SignedAction } from '../signed-action.ts';

export type SessionReader = (action: SignedAction) => Promise<Session>;

/** The reader throws ApiError UPSTREAM when the chain cannot be asked. */
export function createSessionReader(client: PublicClient, deployment: Deployment): SessionReader {
  const { multicall3, sessionModule, coverModule, usdg } = deployment;
  return async (action) => {
    const { account, key, nonce } = action;
    // Far below what one call may ask for: all of one block.
    const batch = new ReadBatch();
    const ofKey = { args: [account, key] } as const;
    const ofAccount = { args: [account] } as const;
    const trades = { to: sessionModule, abi: sessionModuleAbi } as const;
    const time = batch.add({
      to: multicall3,
      abi: multicall3Abi,
      functionName: 'getCurrentBlockTimestamp',
      args: [],
    });
    const grant = batch.add({ ...trades, functionName: 'grantOf', ...ofKey });
    const usage = batch.add({ ...trades, functionName: 'usageOf', ...ofKey });
    const coverUsage = batch.add({
      to: coverModule,
      abi: coverModuleAbi,
      functionName: 'usageOf',
      ...ofKey,
    });
    // Both modules have it, each for its own nonces.
    const used = batch.add({
      to: moduleOf(action, deployment),
      abi: sessionModuleAbi,
      functionName: 'nonceUsed',
      args: [account, nonce],
    });
    const space = batch.add({ ...trades, functionName: 'nonceSpaceOf', ...ofKey });
    const accountPaused = batch.add({ ...trades, functionName: 'accountPaused', ...ofAccount });
    const servicePaused = batch.add({
      to: deployment.pause,
      abi: protocolPauseAbi,
      functionName: 'paused',
      args: [],
    });
    const balance = { abi: erc20Abi, functionName: 'balanceOf', ...ofAccount } as const;
    const dollars = batch.add({ to: usdg, ...balance });
    // A cover action has no vault of its own.
    const shares = isTrade(action) ? batch.add({ to: action.vault, ...balance }) : null;
    await batch.send(client, multicall3);

    const given = required(grant, 'the grant');
    const [turnover, fees] = required(usage, "the key's usage");
    return {
      blockTime: Number(required(time, "the block's time")),
      grant: {
        owner: given.owner,
        validUntil: given.validUntil,
        maxSlippageBps: given.maxSlippageBps,
        active: given.active,
        epoch: given.epoch,
        dailyLimit: given.dailyLimit,
        coverEnabled: given.coverEnabled,
        coverDailyLimit: given.coverDailyLimit,
      },
      turnover,
      fees,
      coverSpent: required(coverUsage, "the key's usage of cover"),
      nonceUsed: required(used, 'whether the nonce is used'),
      nonceSpace: required(space, 'the nonce space'),
      accountPaused: required(accountPaused, 'whether the account is paused'),
      servicePaused: required(servicePaused, 'whether the protocol is paused'),
      usdg: required(dollars, "the account's USDG"),
      // Expected to fail for an address that is no token; the module refuses such a vault.
      shares: shares === null ? null : optional(shares),
    };
  };
}
