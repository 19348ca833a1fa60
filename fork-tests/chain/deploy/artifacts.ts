/** Bytecode of genuine contracts, read from the npm packages that publish it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Abi, Hex } from 'viem';

const require = createRequire(import.meta.url);

const SAFE = '@safe-global/safe-contracts/build/artifacts/contracts';

const ARTIFACTS = {
  UniswapV3Factory:
    '@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json',
  SwapRouter02:
    '@uniswap/swap-router-contracts/artifacts/contracts/SwapRouter02.sol/SwapRouter02.json',
  QuoterV2: '@uniswap/v3-periphery/artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json',
  Safe: `${SAFE}/Safe.sol/Safe.json`,
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
 * Multicall3's creation bytecode as viem carries it. viem does not export it, hence the path; the runtime code that
 * it leaves is the one at the canonical address of every chain.
 */
export async function multicall3Creation(): Promise<Hex> {
  const viem = dirname(require.resolve('viem/package.json'));
  const url = pathToFileURL(join(viem, '_esm', 'constants', 'contracts.js')).href;
  const constants = (await import(url)) as { multicall3Bytecode: Hex };
  return constants.multicall3Bytecode;
}

/** Paths of everything that is read here, for the cache key of a built state. */
export function artifactPaths(): string[] {
  const viem = dirname(require.resolve('viem/package.json'));
  return [
    ...Object.values(ARTIFACTS).map((path) => require.resolve(path)),
    join(viem, '_esm', 'constants', 'contracts.js'),
  ];
}
