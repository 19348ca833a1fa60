/** A real owner, account, key and grant on a fork, and the actions such a key signs. */
import { type Address, encodeAbiParameters, encodeFunctionData, erc20Abi, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { NAV_SCALE, SHARE, USD } from '../../contracts-abi/constants.ts';
import {
  accountFactoryAbi,
  basketVaultAbi,
  navOracleAbi,
  sessionModuleAbi,
  swapRouter02Abi,
} from '../../contracts-abi/generated/index.ts';
import {
  ACTION_KIND,
  ACTION_TYPES,
  type Action,
  actionToJson,
  COVER_ACTION_TYPES,
  type CoverAction,
  coverActionToJson,
  coverDomain,
  sessionDomain,
} from '../../contracts-abi/typed-data.ts';
import type { Role } from '../chain/seed/accounts.ts';
import type { Fork } from '../harness/fork.ts';
import { mined } from '../harness/mined.ts';
import { sellSwaps } from '../harness/trade.ts';

export type Agent = {
  owner: Role;
  account: Address;
  key: ReturnType<typeof privateKeyToAccount>;
  privateKey: Hex;
  /** `keccak(key, epoch)` in the upper bits, a counter below. */
  nextNonce(): bigint;
};

export type GrantTerms = {
  dailyLimit?: bigint;
  maxSlippageBps?: number;
  validFor?: number;
  /** Absent: cover is off. */
  coverDailyLimit?: bigint;
};

/** The owner opens the account, grants a fresh key and funds the account, as a person would. */
export async function openAgent(
  fork: Fork,
  owner: Role,
  funds = 1_000n * USD,
  terms: GrantTerms = {},
): Promise<Agent> {
  const { client, deployment } = fork;
  const ownerAccount = fork.accounts[owner].account;
  const privateKey = generatePrivateKey();
  const key = privateKeyToAccount(privateKey);
  const account = await client.readContract({
    address: deployment.accountFactory,
    abi: accountFactoryAbi,
    functionName: 'accountOf',
    args: [ownerAccount.address],
  });
  const wallet = fork.userClient(owner);
  const grant = {
    key: key.address,
    validUntil: (await fork.now()) + (terms.validFor ?? 7 * 86_400),
    maxSlippageBps: terms.maxSlippageBps ?? 300,
    coverEnabled: terms.coverDailyLimit !== undefined,
    dailyLimit: terms.dailyLimit ?? 500n * USD,
    coverDailyLimit: terms.coverDailyLimit ?? 0n,
  };
  const calls: { to: Address; data: Hex }[] = [
    {
      to: deployment.accountFactory,
      data: encodeFunctionData({
        abi: accountFactoryAbi,
        functionName: 'openAndGrant',
        args: [grant],
      }),
    },
  ];
  if (funds > 0n) {
    calls.push({
      to: deployment.usdg,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [account, funds] }),
    });
  }
  for (const call of calls) await mine(fork, await wallet.sendTransaction({ ...call, ...PLAIN }));
  const space = await client.readContract({
    address: deployment.sessionModule,
    abi: sessionModuleAbi,
    functionName: 'nonceSpaceOf',
    args: [account, key.address],
  });
  let counter = 0n;
  return {
    owner,
    account,
    key,
    privateKey,
    nextNonce: () => {
      counter += 1n;
      return (space << 160n) | counter;
    },
  };
}

/** Fees are named: Anvil suggests a tip above its own fee cap, which viem refuses. */
const PLAIN = { chain: null, maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 0n } as const;

/** Waits until it is mined, within a minute; throws unless it succeeded. */
export async function mine(fork: Fork, hash: Hex): Promise<void> {
  await mined(fork, hash, 60_000);
}

/** The owner acts as the account through the Safe: here a grant, a revoke or a pause of the session module. */
export async function asAccount(fork: Fork, agent: Agent, data: Hex): Promise<void> {
  const { client, deployment } = fork;
  await client.impersonateAccount({ address: agent.account });
  await client.setBalance({ address: agent.account, value: 10n ** 18n });
  const hash = await client.sendTransaction({
    account: agent.account,
    to: deployment.sessionModule,
    data,
    ...PLAIN,
  });
  await client.stopImpersonatingAccount({ address: agent.account });
  await mine(fork, hash);
}

export type TradeChanges = Partial<Action>;

/** A buy of about `dollars` of a basket whose constituents all have USDG pools, at 3% tolerance. */
export async function buyAction(
  fork: Fork,
  agent: Agent,
  dollars: bigint,
  changes: TradeChanges = {},
  /** Bought beyond what a mint takes now: others' mints round, and a later one may take a unit more. */
  surplusBps = 0n,
): Promise<Action> {
  const vault = fork.vault('HEALTH');
  const nav = await fork.client.readContract({
    address: fork.deployment.oracle,
    abi: navOracleAbi,
    functionName: 'referenceNav',
    args: [vault],
  });
  const amount = changes.amount ?? (dollars * SHARE * NAV_SCALE) / (nav * USD);
  const limit = (dollars * 103n) / 100n;
  const [parts, amounts] = await Promise.all([
    fork.client.readContract({ address: vault, abi: basketVaultAbi, functionName: 'constituents' }),
    fork.client.readContract({
      address: vault,
      abi: basketVaultAbi,
      functionName: 'previewMint',
      args: [amount],
    }),
  ]);
  const swaps = parts.map(({ token }, index) => {
    const pool = poolOf(fork, token);
    return {
      router: fork.deployment.swapRouter02,
      tokenIn: fork.deployment.usdg,
      tokenOut: token,
      amountIn: limit,
      callData: encodeFunctionData({
        abi: swapRouter02Abi,
        functionName: 'exactOutputSingle',
        args: [
          {
            tokenIn: fork.deployment.usdg,
            tokenOut: token,
            fee: pool,
            recipient: fork.deployment.zapper,
            amountOut: ((amounts[index] ?? 0n) * (10_000n + surplusBps)) / 10_000n,
            amountInMaximum: limit,
            sqrtPriceLimitX96: 0n,
          },
        ],
      }),
    };
  });
  return {
    account: agent.account,
    key: agent.key.address,
    kind: ACTION_KIND.buy,
    vault,
    amount,
    limit,
    slippageBps: 300,
    data: encodeAbiParameters(SWAPS, [swaps]),
    nonce: changes.nonce ?? agent.nextNonce(),
    deadline: (await fork.now()) + 300,
    fee: 0n,
    ...changes,
  };
}

/** `data` of a trade. */
export const SWAPS = [
  {
    type: 'tuple[]',
    components: [
      { name: 'router', type: 'address' },
      { name: 'tokenIn', type: 'address' },
      { name: 'tokenOut', type: 'address' },
      { name: 'amountIn', type: 'uint256' },
      { name: 'callData', type: 'bytes' },
    ],
  },
] as const;

/** A sale of `shares` at 3% tolerance, over the reference pools. */
export async function sellAction(
  fork: Fork,
  agent: Agent,
  shares: bigint,
  changes: TradeChanges = {},
): Promise<Action> {
  const vault = fork.vault('HEALTH');
  const { swaps } = await sellSwaps(fork.client, fork.deployment, vault, shares);
  return {
    account: agent.account,
    key: agent.key.address,
    kind: ACTION_KIND.sell,
    vault,
    amount: shares,
    limit: 1n,
    slippageBps: 300,
    data: encodeAbiParameters(SWAPS, [swaps]),
    nonce: changes.nonce ?? agent.nextNonce(),
    deadline: (await fork.now()) + 300,
    fee: 0n,
    ...changes,
  };
}

function poolOf(fork: Fork, token: Address): number {
  const seeded = fork.manifest.tokens.find((candidate) => candidate.address === token);
  const pool = seeded?.pools.find(({ quote }) => quote === 'USDG');
  if (pool === undefined) throw new Error(`no USDG pool of ${token}`);
  return pool.fee;
}

/** The body that a host posts. */
export async function signedBody(fork: Fork, agent: Agent, action: Action) {
  const signature = await agent.key.signTypedData({
    domain: sessionDomain(fork.deployment.sessionModule),
    types: ACTION_TYPES,
    primaryType: 'Action',
    message: action,
  });
  return { action: actionToJson(action), signature };
}

/** The body of a cover action, signed under the domain of the cover module or another. */
export async function signedCover(
  fork: Fork,
  agent: Agent,
  action: CoverAction,
  domain: ReturnType<typeof coverDomain> | ReturnType<typeof sessionDomain> = coverDomain(
    fork.deployment.coverModule,
  ),
) {
  const signature = await agent.key.signTypedData({
    domain,
    types: COVER_ACTION_TYPES,
    primaryType: 'CoverAction',
    message: action,
  });
  return { action: coverActionToJson(action), signature };
}

export async function sharesOf(fork: Fork, account: Address): Promise<bigint> {
  return await fork.client.readContract({
    address: fork.vault('HEALTH'),
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [account],
  });
}

export async function usdgOf(fork: Fork, account: Address): Promise<bigint> {
  return await fork.client.readContract({
    address: fork.deployment.usdg,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [account],
  });
}

/** `Executed` events of the account: each is one execution. */
export async function executions(fork: Fork, account: Address) {
  return await fork.client.getContractEvents({
    address: fork.deployment.sessionModule,
    abi: sessionModuleAbi,
    eventName: 'Executed',
    args: { account },
    fromBlock: 0n,
    strict: true,
  });
}
