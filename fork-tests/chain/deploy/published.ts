/**
 * Whether what stands at an address is the build that Uniswap publishes: to the byte, and in each place that its
 * constructor filled in the same as in every other place of that immutable. The packages do not tell those places, so
 * the order of the names is written down here, and a test holds it against a deployment with an argument for each name.
 */
import { type Address, bytesToHex, hexToBigInt, hexToBytes, isAddressEqual } from 'viem';
import { uniswapV3FactoryAbi, uniswapV3PoolAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { poolAddress } from '../seed/pools.ts';
import { genuine } from './artifacts.ts';
import type { Read } from './checks.ts';

/**
 * What fills each PUSH32 of nothing in the published code, in their order. Those that are not named stay nothing: the
 * factory holds the creation code of its pools.
 */
const PLACES = {
  UniswapV3Factory: 'self',
  SwapRouter02:
    'weth weth factoryV2 factoryV2 factoryV2 weth weth weth factoryV2 positionManager weth weth positionManager factory positionManager factory weth weth weth factoryV2 factoryV2 positionManager factory',
  QuoterV2: 'weth factory factory factory',
  UniswapV3Pool:
    'token0 tickSpacing fee token1 token0 fee fee token0 token1 token0 token1 maxLiquidity factory factory token0 token1 factory tickSpacing token1 fee self token0 token1 maxLiquidity maxLiquidity tickSpacing tickSpacing',
} as const;

export type PublishedContract = keyof typeof PLACES;

/** Immutables by name, or null where the code is not the published build. */
export type Published = Readonly<Record<string, bigint>> | null;

export async function readPublished(
  client: ReadClient,
  address: Address,
  contract: PublishedContract,
): Promise<Published> {
  const standing = hexToBytes((await client.getCode({ address })) ?? '0x');
  const published = hexToBytes(genuine(contract).deployedBytecode);
  if (standing.length !== published.length) return null;
  const names = PLACES[contract].split(' ');
  const immutables: Record<string, bigint> = {};
  for (const [index, at] of emptyPushes(published).entries()) {
    const value = hexToBigInt(bytesToHex(standing.subarray(at, at + 32)));
    const name = names[index];
    if (value !== (name === undefined ? 0n : (immutables[name] ?? value))) return null;
    if (name !== undefined) immutables[name] = value;
    standing.fill(0, at, at + 32);
  }
  return standing.every((byte, index) => byte === published[index]) ? immutables : null;
}

/** Whether it is that build, with these immutables; those that are not named may be anything. */
export async function isPublished(
  client: ReadClient,
  address: Address,
  contract: PublishedContract,
  expected: Readonly<Record<string, Address>>,
): Promise<boolean> {
  const found = await readPublished(client, address, contract);
  if (found === null) return false;
  return Object.entries(expected).every(([name, value]) => found[name] === hexToBigInt(value));
}

/** Where immutables go: the operands of PUSH32 that are nothing. */
function emptyPushes(code: Uint8Array): number[] {
  const text = Buffer.from(code).toString('latin1');
  const push = `\x7f${'\0'.repeat(32)}`;
  const found: number[] = [];
  for (let at = text.indexOf(push); at >= 0; at = text.indexOf(push, at + push.length)) {
    found.push(at + 1);
  }
  return found;
}

export const GENUINE_POOL = 'the pool of this pair';

/**
 * Whether it is a pool of the factory's for these two tokens. Of the published factory the address says all, and the
 * code is compared besides; a factory of another build is asked itself.
 * @returns GENUINE_POOL, or what is wrong in words.
 */
export async function judgePool(
  client: ReadClient,
  read: Read,
  pool: Address,
  {
    factory,
    published,
    tokens,
  }: { factory: Address; published: boolean; tokens: readonly [Address, Address] },
): Promise<string> {
  const [token0, token1] = tokens.toSorted((a, b) => (hexToBigInt(a) < hexToBigInt(b) ? -1 : 1));
  if (token0 === undefined || token1 === undefined) throw new Error('a pool has two tokens');
  if (!published) {
    const fee = await read(pool, uniswapV3PoolAbi, 'fee');
    const asked = [token0, token1, fee];
    const named = (await read(factory, uniswapV3FactoryAbi, 'getPool', asked)) as Address;
    return isAddressEqual(named, pool) ? GENUINE_POOL : `the factory names ${named}`;
  }
  const found = await readPublished(client, pool, 'UniswapV3Pool');
  if (found === null) return 'not the code that Uniswap publishes';
  const { fee = 0n, tickSpacing = 0n } = found;
  const expected: Record<string, bigint> = {
    factory: hexToBigInt(factory),
    self: hexToBigInt(pool),
    token0: hexToBigInt(token0),
    token1: hexToBigInt(token1),
    maxLiquidity: maxLiquidityPerTick(tickSpacing),
  };
  const wrong = Object.keys(expected).filter((name) => found[name] !== expected[name]);
  if (wrong.length > 0) return `a pool of another ${wrong.join(' and ')}`;
  const address = poolAddress(factory, token0, token1, Number(fee));
  return isAddressEqual(address, pool) ? GENUINE_POOL : `the factory's stands at ${address}`;
}

/** As Uniswap's Tick.sol has it. */
function maxLiquidityPerTick(spacing: bigint): bigint {
  if (spacing === 0n) return 0n;
  const ticks = 2n * (887_272n / spacing) + 1n;
  return (2n ** 128n - 1n) / ticks;
}
