/** One aggregated read of everything that the checks of an action need, all of one block. */
import { erc20Abi, multicall3Abi, type PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import {
  coverModuleAbi,
  protocolPauseAbi,
  sessionModuleAbi,
} from '../../contracts-abi/generated/index.ts';
import type { Session } from '../checks/session.ts';
import { isTrade, moduleOf, type SignedAction } from '../signed-action.ts';

export type SessionReader = (action: SignedAction) => Promise<Session>;

/** The reader throws when the chain cannot be asked. */
export function createSessionReader(client: PublicClient, deployment: Deployment): SessionReader {
  const module = { address: deployment.sessionModule, abi: sessionModuleAbi } as const;
  return async (action) => {
    const { account, key, nonce } = action;
    // A cover action has no vault of its own: the answer for this one is not used.
    const vault = isTrade(action) ? action.vault : deployment.usdg;
    const [
      time,
      grant,
      usage,
      coverUsage,
      used,
      space,
      accountPaused,
      servicePaused,
      usdg,
      shares,
    ] = await client.multicall({
      multicallAddress: deployment.multicall3,
      batchSize: 0, // one call, hence one block
      contracts: [
        {
          address: deployment.multicall3,
          abi: multicall3Abi,
          functionName: 'getCurrentBlockTimestamp',
        },
        { ...module, functionName: 'grantOf', args: [account, key] },
        { ...module, functionName: 'usageOf', args: [account, key] },
        {
          address: deployment.coverModule,
          abi: coverModuleAbi,
          functionName: 'usageOf',
          args: [account, key],
        },
        // Both modules have it, each for its own nonces.
        {
          address: moduleOf(action, deployment),
          abi: sessionModuleAbi,
          functionName: 'nonceUsed',
          args: [account, nonce],
        },
        { ...module, functionName: 'nonceSpaceOf', args: [account, key] },
        { ...module, functionName: 'accountPaused', args: [account] },
        { address: deployment.pause, abi: protocolPauseAbi, functionName: 'paused' },
        {
          address: deployment.usdg,
          abi: erc20Abi,
          functionName: 'balanceOf',
          args: [account],
        },
        { address: vault, abi: erc20Abi, functionName: 'balanceOf', args: [account] },
      ],
    });
    const given = must(grant);
    const [turnover, fees] = must(usage);
    return {
      blockTime: Number(must(time)),
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
      coverSpent: must(coverUsage),
      nonceUsed: must(used),
      nonceSpace: must(space),
      accountPaused: must(accountPaused),
      servicePaused: must(servicePaused),
      usdg: must(usdg),
      // Expected to fail for an address that is no token; the module refuses such a vault.
      shares: isTrade(action) && shares.status === 'success' ? shares.result : null,
    };
  };
}

type Result<T> =
  | { status: 'success'; result: T; error?: undefined }
  | { status: 'failure'; error: Error; result?: undefined };

/** viem answers every call with the same failure when the request itself failed: that is a fault, not an answer. */
function must<T>(answer: Result<T>): T {
  if (answer.status === 'failure') throw answer.error;
  return answer.result;
}
