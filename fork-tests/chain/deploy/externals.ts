/**
 * What the protocol stands on and does not own: USDG, WETH, Multicall3, Uniswap v3 and Safe 1.4.1.
 * Genuine bytecode everywhere except the two tokens, which are test tokens on a bare chain.
 */
import { type Address, keccak256, type LocalAccount } from 'viem';
import {
  localTokenAbi,
  localTokenBytecode,
  localWethAbi,
  localWethBytecode,
} from '../../../contracts-abi/generated/index.ts';
import { type ChainClient, MULTICALL3, type ReadClient } from '../client.ts';
import type { Submitter } from '../submitter.ts';
import { type GenuineContract, genuine, multicall3Creation } from './artifacts.ts';
import type { PlannedExternals } from './plan.ts';

export type Externals = { [Name in keyof PlannedExternals]: Address };

const ZERO: Address = '0x0000000000000000000000000000000000000000';

/** Safe 1.4.1's deployments, the same on every chain that has them (safe-deployments). */
const CANONICAL_SAFE = {
  Safe: '0x41675C099F32341bf84BFc5382aF534df5C7461a',
  SafeProxyFactory: '0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67',
  CompatibilityFallbackHandler: '0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99',
} as const satisfies Partial<Record<GenuineContract, Address>>;

/** Deploys them on a bare Anvil, but Safe. `account` becomes the issuer of USDG and the owner of the factory. */
export async function deployExternals(
  client: ChainClient,
  submitter: Submitter,
  account: LocalAccount,
): Promise<PlannedExternals> {
  const usdg = await submitter.deploy(account, {
    name: 'USDG',
    abi: localTokenAbi,
    bytecode: localTokenBytecode,
    args: ['Global Dollar', 'USDG', 6],
  });
  const weth = await submitter.deploy(account, {
    name: 'WETH',
    abi: localWethAbi,
    bytecode: localWethBytecode,
  });
  const uniswapV3Factory = await submitter.deploy(account, genuine('UniswapV3Factory'));
  // No v2 factory and no position manager here: the zapper uses four v3 selectors and nothing else (rule 5).
  const swapRouter02 = await submitter.deploy(account, {
    ...genuine('SwapRouter02'),
    args: [ZERO, uniswapV3Factory, ZERO, weth],
  });
  const quoterV2 = await submitter.deploy(account, {
    ...genuine('QuoterV2'),
    args: [uniswapV3Factory, weth],
  });
  return {
    usdg,
    weth,
    multicall3: await placeMulticall3(client, submitter, account),
    uniswapV3Factory,
    swapRouter02,
    quoterV2,
    ...(await findSafe(client)),
  };
}

/** Puts Multicall3 at its canonical address unless it stands there. */
export async function placeMulticall3(
  client: ChainClient,
  submitter: Submitter,
  account: LocalAccount,
): Promise<Address> {
  const present = await client.getCode({ address: MULTICALL3 });
  if (present !== undefined && present !== '0x') return MULTICALL3;
  const address = await submitter.deploy(account, {
    name: 'Multicall3',
    abi: [],
    bytecode: await multicall3Creation(),
  });
  await submitter.flush();
  const code = await client.getCode({ address });
  if (code === undefined) throw new Error('Multicall3 left no code');
  await client.setCode({ address: MULTICALL3, bytecode: code });
  return MULTICALL3;
}

type SafeParts = 'safeSingleton' | 'safeProxyFactory' | 'safeFallbackHandler';

/** Safe 1.4.1 at its canonical addresses, where its published code stands there; null where it does not. */
export async function findSafe(client: ReadClient): Promise<Pick<PlannedExternals, SafeParts>> {
  const find = async (name: keyof typeof CANONICAL_SAFE): Promise<Address | null> => {
    const address = CANONICAL_SAFE[name];
    const code = await client.getCode({ address });
    const published = keccak256(genuine(name).deployedBytecode);
    return code !== undefined && keccak256(code) === published ? address : null;
  };
  return {
    safeSingleton: await find('Safe'),
    safeProxyFactory: await find('SafeProxyFactory'),
    safeFallbackHandler: await find('CompatibilityFallbackHandler'),
  };
}

/** Deploys what the plan has no address for. */
export async function completeExternals(
  submitter: Submitter,
  account: LocalAccount,
  planned: PlannedExternals,
): Promise<Externals> {
  const place = async (known: Address | null, name: keyof typeof CANONICAL_SAFE) =>
    known ?? submitter.deploy(account, genuine(name));
  return {
    ...planned,
    safeSingleton: await place(planned.safeSingleton, 'Safe'),
    safeProxyFactory: await place(planned.safeProxyFactory, 'SafeProxyFactory'),
    safeFallbackHandler: await place(planned.safeFallbackHandler, 'CompatibilityFallbackHandler'),
  };
}
