/** What a test or a bench holds of a chain: its node, its contracts, its people. */
import type { LocalAccount } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import type { Anvil } from '../anvil.ts';
import { type ChainClient, connect, devWallet } from '../chain/client.ts';
import { pushPrice } from '../chain/market/push.ts';
import { type DevAccount, devAccounts, type Role } from '../chain/seed/accounts.ts';
import { type Manifest, vaultOf } from '../chain/seed/manifest.ts';

export type Fork = {
  readonly url: string;
  readonly anvil: Anvil;
  readonly client: ChainClient;
  readonly manifest: Manifest;
  readonly deployment: Deployment;
  readonly accounts: Readonly<Record<Role, DevAccount>>;
  vault(ticker: string): `0x${string}`;
  /** Unix seconds of the newest block. */
  now(): Promise<number>;
  /**
   * Lets so many seconds pass and mines one block. Averages follow by themselves: a v3 pool extends its last
   * observation at the price it stands at.
   */
  warp(seconds: number): Promise<void>;
  /** Multiplies a token's price in all its pools; see `pushPrice`. */
  pushPrice(symbol: string, factor: number): Promise<void>;
  /** A viem wallet client of the account. */
  userClient(account: Role | LocalAccount): ReturnType<typeof devWallet>;
};

export function forkOn(anvil: Anvil, manifest: Manifest): Fork {
  const client = connect(anvil.url);
  const accounts = devAccounts();
  return {
    url: anvil.url,
    anvil,
    client,
    manifest,
    deployment: manifest.deployment,
    accounts,
    vault: (ticker) => vaultOf(manifest, ticker),
    now: async () => Number((await client.getBlock()).timestamp),
    warp: async (seconds) => {
      await client.increaseTime({ seconds });
      await client.mine({ blocks: 1 });
    },
    pushPrice: (symbol, factor) =>
      pushPrice(client, accounts.maker.account, manifest, symbol, factor),
    userClient: (account) =>
      devWallet(anvil.url, typeof account === 'string' ? accounts[account].account : account),
  };
}
