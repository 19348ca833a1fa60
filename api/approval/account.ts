/** The owner's account as the chain has it, read through his own wallet. */
import { type Address, type Client, isAddressEqual } from 'viem';
import { getBalance, getBlock, getCode, readContract } from 'viem/actions';
import { accountFactoryAbi } from '../../contracts-abi/generated/accountFactory.ts';
import { safeAbi } from '../../contracts-abi/generated/safe.ts';

/** The contracts that the page speaks to. */
export type Addresses = {
  accountFactory: Address;
  sessionModule: Address;
  coverModule: Address;
};

export type AccountState = {
  owner: Address;
  account: Address;
  deployed: boolean;
  sessionModuleEnabled: boolean;
  coverModuleEnabled: boolean;
  /** Wei that the owner has for gas. */
  ownerEth: bigint;
  /** Unix seconds of the newest block. */
  now: number;
};

export type ReadAccount =
  | { tag: 'ok'; state: AccountState }
  /** The page cannot act on this account; `why` is for the owner. */
  | { tag: 'foreign'; why: string };

/** @throws what the wallet or its node answers. */
export async function readAccount(
  client: Client,
  addresses: Addresses,
  owner: Address,
): Promise<ReadAccount> {
  const [account, ownerEth, block] = await Promise.all([
    readContract(client, {
      address: addresses.accountFactory,
      abi: accountFactoryAbi,
      functionName: 'accountOf',
      args: [owner],
    }),
    getBalance(client, { address: owner }),
    getBlock(client),
  ]);
  const now = Number(block.timestamp);
  const code = await getCode(client, { address: account });
  if (code === undefined || code === '0x') {
    const state: AccountState = {
      owner,
      account,
      deployed: false,
      sessionModuleEnabled: false,
      coverModuleEnabled: false,
      ownerEth,
      now,
    };
    return { tag: 'ok', state };
  }
  const safe = { address: account, abi: safeAbi } as const;
  const enabled = (module: Address) =>
    readContract(client, { ...safe, functionName: 'isModuleEnabled', args: [module] });
  const [owners, threshold, sessionModuleEnabled, coverModuleEnabled] = await Promise.all([
    readContract(client, { ...safe, functionName: 'getOwners' }),
    readContract(client, { ...safe, functionName: 'getThreshold' }),
    enabled(addresses.sessionModule),
    enabled(addresses.coverModule),
  ]);
  const [first] = owners;
  if (owners.length !== 1 || first === undefined || threshold !== 1n) {
    return {
      tag: 'foreign',
      why: 'This account is a Safe with several owners now. Agent keys can be approved by a sole owner only.',
    };
  }
  if (!isAddressEqual(first, owner)) {
    return { tag: 'foreign', why: 'This account has another owner now.' };
  }
  return {
    tag: 'ok',
    state: {
      owner,
      account,
      deployed: true,
      sessionModuleEnabled,
      coverModuleEnabled,
      ownerEth,
      now,
    },
  };
}
