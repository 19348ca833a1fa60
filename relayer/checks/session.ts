/** What one aggregated read says of an action's session: everything that the checks before the simulation need. */
import type { Address } from 'viem';

type Grant = {
  owner: Address;
  /** Unix seconds. */
  validUntil: number;
  maxSlippageBps: number;
  active: boolean;
  epoch: number;
  /** USDG base units. */
  dailyLimit: bigint;
  coverEnabled: boolean;
  coverDailyLimit: bigint;
};

export type Session = {
  /** Timestamp of the block that was read, unix seconds: the clock of every time check. */
  blockTime: number;
  grant: Grant;
  /** Today's USDG turnover and network fees of the key. */
  turnover: bigint;
  fees: bigint;
  /** Today's USDG that the key locked in cover. */
  coverSpent: bigint;
  nonceUsed: boolean;
  /** What `nonce >> 160` must be now. */
  nonceSpace: bigint;
  accountPaused: boolean;
  servicePaused: boolean;
  /** The account's USDG. */
  usdg: bigint;
  /** The account's shares of the trade's vault; null when the address is no token, and of cover. */
  shares: bigint | null;
};
