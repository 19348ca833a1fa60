/**
 * Dev accounts of test chains. Fresh keys from a seed string of ours: Anvil's well-known mnemonic is watched on every
 * chain, and its first account carries a live EIP-7702 delegation on 4663. Public, so worthless on a live chain.
 */
import { type Hex, keccak256, stringToHex } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';

const SEED = 'basket index service, local chain only, do not fund on a live chain';

export const ROLES = [
  'deployer',
  'guardian',
  'treasury',
  'maker',
  'keeper',
  'relayer',
  'alice',
  'bob',
  'carol',
  'dave',
  'erin',
  'frank',
  'agent',
] as const;

export type Role = (typeof ROLES)[number];

export type DevAccount = { role: Role; privateKey: Hex; account: PrivateKeyAccount };

function devKey(role: Role): Hex {
  return keccak256(stringToHex(`${SEED}/${role}`));
}

export function devAccount(role: Role): DevAccount {
  const privateKey = devKey(role);
  return { role, privateKey, account: privateKeyToAccount(privateKey) };
}

export function devAccounts(): Record<Role, DevAccount> {
  return Object.fromEntries(ROLES.map((role) => [role, devAccount(role)])) as Record<
    Role,
    DevAccount
  >;
}

/** Start funds: wei of ETH and base units of USDG. The agent key holds nothing, as agents do (interface.md 5). */
export const FUNDS: Readonly<Record<Role, { eth: bigint; usdg: bigint }>> = {
  deployer: funds(10_000, 1_000_000),
  guardian: funds(10, 0),
  treasury: funds(1, 0),
  maker: funds(100_000, 0),
  keeper: funds(100, 0),
  relayer: funds(100, 0),
  alice: funds(100, 100_000),
  bob: funds(100, 100_000),
  carol: funds(100, 100_000),
  dave: funds(100, 100_000),
  // Underwriters of the cover market: this much beside what their offers have locked.
  erin: funds(100, 100_000),
  frank: funds(100, 100_000),
  agent: funds(0, 0),
};

function funds(ether: number, dollars: number): { eth: bigint; usdg: bigint } {
  return { eth: BigInt(ether) * 10n ** 18n, usdg: BigInt(dollars) * 10n ** 6n };
}
