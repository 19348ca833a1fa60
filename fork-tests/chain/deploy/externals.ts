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
import { type ChainClient, MULTICALL3 } from '../client.ts';
import type { Submitter } from '../submitter.ts';
import { type GenuineContract, genuine, multicall3Creation } from './artifacts.ts';

export type Externals = {
  usdg: Address;
  weth: Address;
  multicall3: Address;
  uniswapV3Factory: Address;
  swapRouter02: Address;
  quoterV2: Address;
  safeSingleton: Address;
  safeProxyFactory: Address;
  safeFallbackHandler: Address;
};

const ZERO: Address = '0x0000000000000000000000000000000000000000';

/** Safe 1.4.1's deployments, the same on every chain that has them (safe-deployments). */
const CANONICAL_SAFE = {
  Safe: '0x41675C099F32341bf84BFc5382aF534df5C7461a',
  SafeProxyFactory: '0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67',
  CompatibilityFallbackHandler: '0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99',
} as const satisfies Partial<Record<GenuineContract, Address>>;

/** Deploys all of them on a bare Anvil. `account` becomes the issuer of USDG and the owner of the factory. */
export async function deployExternals(
  client: ChainClient,
  submitter: Submitter,
  account: LocalAccount,
): Promise<Externals> {
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
    ...(await findOrDeploySafe(client, submitter, account)),
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

/** Uses Safe 1.4.1 at its canonical addresses where its published code stands there, and deploys it otherwise. */
export async function findOrDeploySafe(
  client: ChainClient,
  submitter: Submitter,
  account: LocalAccount,
): Promise<Pick<Externals, 'safeSingleton' | 'safeProxyFactory' | 'safeFallbackHandler'>> {
  const place = async (name: keyof typeof CANONICAL_SAFE): Promise<Address> => {
    const artifact = genuine(name);
    const address = CANONICAL_SAFE[name];
    const code = await client.getCode({ address });
    if (code !== undefined && keccak256(code) === keccak256(artifact.deployedBytecode)) {
      return address;
    }
    return submitter.deploy(account, artifact);
  };
  return {
    safeSingleton: await place('Safe'),
    safeProxyFactory: await place('SafeProxyFactory'),
    safeFallbackHandler: await place('CompatibilityFallbackHandler'),
  };
}
