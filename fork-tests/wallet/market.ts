import { basketVaultAbi } from '../../contracts-abi/generated/index.ts';
import { readManifest } from '../chain/files.ts';
import { pushPrice } from '../chain/market/push.ts';
import { devAccount } from '../chain/seed/accounts.ts';
import { vaultOf } from '../chain/seed/manifest.ts';
import type { DevWallet } from './open.ts';
import { chainTime, passTime } from './pass-time.ts';
import { missedBy } from './sold-cover.ts';

/** @throws Error in one line where `push` would do nothing. */
export function checkPush({ deployment }: DevWallet, ticker: string, percent: number): void {
  if (!deployment.baskets.some((basket) => basket.ticker === ticker)) {
    throw new Error(`no basket ${ticker === '' ? 'named' : ticker}`);
  }
  if (percent <= -50 || percent >= 100) throw new Error('percent must lie between -50 and 100');
}

/** Moves the pools of every constituent of the basket by `percent`, for good. A push beyond ±6% leaves the basket
 * without a reference until ten minutes have passed (rule 1). */
export async function push(wallet: DevWallet, ticker: string, percent: number) {
  checkPush(wallet, ticker, percent);
  const manifest = readManifest(wallet.deploymentFile);
  const { client } = wallet;
  const constituents = await client.readContract({
    address: vaultOf(manifest, ticker),
    abi: basketVaultAbi,
    functionName: 'constituents',
  });
  const addresses = new Set(constituents.map(({ token }) => token));
  const symbols = manifest.tokens
    .filter(({ address, pools }) => addresses.has(address) && pools.length > 0)
    .map(({ symbol }) => symbol);
  for (const symbol of symbols) {
    await pushPrice(client, devAccount('maker').account, manifest, symbol, 1 + percent / 100);
  }
  return { ticker, percent, moved: symbols };
}

/**
 * Lets so many seconds pass on the chain: averages follow, deadlines come nearer. The answer says so where that is past
 * the snapshot of cover that somebody bought.
 */
export async function warp(wallet: DevWallet, seconds: number) {
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 30 * 86_400) {
    throw new Error('seconds must be a whole number from 1 to 30 days');
  }
  const warning = await missedBy(wallet, seconds);
  await passTime(wallet, (await chainTime(wallet)) + seconds);
  const time = new Date((await chainTime(wallet)) * 1_000).toISOString();
  return { seconds, chainTime: time, ...(warning === null ? {} : { warning }) };
}
