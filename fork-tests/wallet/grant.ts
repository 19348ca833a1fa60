import { encodeFunctionData, erc20Abi } from 'viem';
import { readAccount } from '../../api/approval/account.ts';
import { readTerms } from '../../api/approval/terms.ts';
import { approvalSteps, grantTerms } from '../../api/approval/transactions.ts';
import { USD } from '../../contracts-abi/constants.ts';
import { devAccount, type Role } from '../chain/seed/accounts.ts';
import type { DevWallet } from './open.ts';
import { type Sent, sendCall } from './send.ts';

const ACCOUNT_FUNDS = 1_000n * USD;

/** Dollars a day as typed; without `cover` the grant has cover off. */
export type Limits = { trades: string; cover?: string };

/**
 * The owner's part, as the approval page does it: opens the account and grants the key, or, where the account is open,
 * grants from it, which replaces what the key had. Then lifts the account's USDG to $1,000.
 * Grant: slippage 1%, seven days.
 * @throws Error in one line: the limits, or whom the account belongs to by now.
 */
export async function grant(wallet: DevWallet, owner: Role, key: Role, limits: Limits) {
  const { client, deployment } = wallet;
  const form = readTerms({
    dailyLimit: limits.trades,
    slippage: '1',
    days: '7',
    coverEnabled: limits.cover !== undefined,
    coverLimit: limits.cover ?? '',
  });
  if (form.tag === 'bad') {
    const { dailyLimit, coverLimit } = form.errors;
    throw new Error(
      dailyLimit === undefined ? `--cover: ${coverLimit}` : `dollars a day: ${dailyLimit}`,
    );
  }
  const ownerAddress = devAccount(owner).account.address;
  const keyAddress = devAccount(key).account.address;
  const read = await readAccount(client, deployment, ownerAddress);
  if (read.tag === 'foreign') throw new Error(read.why);
  const { state } = read;
  const granted: (Sent & { what: string })[] = [];
  const terms = grantTerms(keyAddress, form.terms, state.now);
  for (const { what, to, data } of approvalSteps(deployment, state, terms)) {
    granted.push({ what, ...(await sendCall(wallet, owner, to, data)) });
  }
  return {
    owner: ownerAddress,
    account: state.account,
    key: keyAddress,
    coverEnabled: terms.coverEnabled,
    granted,
    funded: await fund(wallet, owner, state.account),
  };
}

async function fund(wallet: DevWallet, owner: Role, account: `0x${string}`): Promise<Sent | null> {
  const token = { address: wallet.deployment.usdg, abi: erc20Abi } as const;
  const holds = await wallet.client.readContract({
    ...token,
    functionName: 'balanceOf',
    args: [account],
  });
  if (holds >= ACCOUNT_FUNDS) return null;
  const data = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transfer',
    args: [account, ACCOUNT_FUNDS - holds],
  });
  return await sendCall(wallet, owner, token.address, data);
}
