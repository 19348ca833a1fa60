import { encodeFunctionData, erc20Abi } from 'viem';
import { USD } from '../../contracts-abi/constants.ts';
import { accountFactoryAbi, sessionModuleAbi } from '../../contracts-abi/generated/index.ts';
import { describeRevert, revertDataOf } from '../../contracts-abi/revert.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import type { DevWallet } from './open.ts';
import { sendCall } from './send.ts';

const ACCOUNT_FUNDS = 1_000n * USD;

/**
 * The owner's part: opens the account, grants the key and puts $1,000 into it.
 * Grant: `dollarsADay`, slippage 1%, seven days, no cover.
 */
export async function grant(wallet: DevWallet, owner: Role, key: Role, dollarsADay: number) {
  const { client, deployment } = wallet;
  const ownerAddress = devAccount(owner).account.address;
  const account = await client.readContract({
    address: deployment.accountFactory,
    abi: accountFactoryAbi,
    functionName: 'accountOf',
    args: [ownerAddress],
  });
  const keyAddress = devAccount(key).account.address;
  const { validUntil } = await client.readContract({
    address: deployment.sessionModule,
    abi: sessionModuleAbi,
    functionName: 'grantOf',
    args: [account, keyAddress],
  });
  if (validUntil !== 0) {
    throw new Error(`${key} has a grant of ${owner} already: this wallet makes only the first one`);
  }
  const { timestamp } = await client.getBlock();
  const opening = sendCall(
    wallet,
    owner,
    deployment.accountFactory,
    encodeFunctionData({
      abi: accountFactoryAbi,
      functionName: 'openAndGrant',
      args: [
        {
          key: keyAddress,
          validUntil: Number(timestamp) + 7 * 86_400,
          maxSlippageBps: 100,
          coverEnabled: false,
          dailyLimit: BigInt(Math.floor(dollarsADay)) * USD,
          coverDailyLimit: 0n,
        },
      ],
    }),
  );
  const opened = await opening.catch((error: unknown) => {
    const revert = revertDataOf(error);
    if (revert === null || !describeRevert(revert).startsWith('GrantExists')) throw error;
    throw new Error(
      `${owner} has granted another key already: this wallet makes only the first grant of an account, further ones are made at the api's /approve`,
      { cause: error },
    );
  });
  const funded = await sendCall(
    wallet,
    owner,
    deployment.usdg,
    encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [account, ACCOUNT_FUNDS] }),
  );
  return { owner: ownerAddress, account, key: keyAddress, opened, funded };
}
