/** Bytecode of genuine contracts, read from the npm packages that publish it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Abi, type Hex, keccak256, slice } from 'viem';

const require = createRequire(import.meta.url);

const SAFE = '@safe-global/safe-contracts/build/artifacts/contracts';

const ARTIFACTS = {
  UniswapV3Factory:
    '@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json',
  UniswapV3Pool: '@uniswap/v3-core/artifacts/contracts/UniswapV3Pool.sol/UniswapV3Pool.json',
  SwapRouter02:
    '@uniswap/swap-router-contracts/artifacts/contracts/SwapRouter02.sol/SwapRouter02.json',
  QuoterV2: '@uniswap/v3-periphery/artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json',
  Safe: `${SAFE}/Safe.sol/Safe.json`,
  SafeProxy: `${SAFE}/proxies/SafeProxy.sol/SafeProxy.json`,
  SafeProxyFactory: `${SAFE}/proxies/SafeProxyFactory.sol/SafeProxyFactory.json`,
  CompatibilityFallbackHandler: `${SAFE}/handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json`,
} as const;

export type GenuineContract = keyof typeof ARTIFACTS;

export type Artifact = { name: string; abi: Abi; bytecode: Hex; deployedBytecode: Hex };

/** Creation and runtime bytecode as published. Throws when the package or the file is missing. */
export function genuine(name: GenuineContract): Artifact {
  const json = JSON.parse(readFileSync(require.resolve(ARTIFACTS[name]), 'utf8')) as Artifact;
  return { name, abi: json.abi, bytecode: json.bytecode, deployedBytecode: json.deployedBytecode };
}

/**
 * Multicall3's creation bytecode as viem carries it, of the same source as what stands at the canonical address of live
 * chains and of another build. viem does not export it, hence the path.
 */
export async function multicall3Creation(): Promise<Hex> {
  const viem = dirname(require.resolve('viem/package.json'));
  const url = pathToFileURL(join(viem, '_esm', 'constants', 'contracts.js')).href;
  const constants = (await import(url)) as { multicall3Bytecode: Hex };
  return constants.multicall3Bytecode;
}

/** Code hashes of Multicall3: at the canonical address of live chains, and as viem's build leaves it on local ones. */
export async function multicall3Hashes(): Promise<Hex[]> {
  // Its constructor is one word, and all that follows is what stays.
  const built = keccak256(slice(await multicall3Creation(), 32));
  return ['0xd5c15df687b16f2ff992fc8d767b4216323184a2bbc6ee2f9c398c318e770891', built];
}

/** Paths of everything that is read here, for the cache key of a built state. */
export function artifactPaths(): string[] {
  const viem = dirname(require.resolve('viem/package.json'));
  return [
    ...Object.values(ARTIFACTS).map((path) => require.resolve(path)),
    join(viem, '_esm', 'constants', 'contracts.js'),
  ];
}
