/** Whether what the protocol stands on is what it should be, before anything is built on it. */
import {
  type Abi,
  type Address,
  erc20Abi,
  type Hex,
  hexToBytes,
  keccak256,
  toFunctionSelector,
} from 'viem';
import {
  quoterV2Abi,
  swapRouter02Abi,
  uniswapV3FactoryAbi,
} from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { genuine, multicall3Hashes } from './artifacts.ts';
import { addressViews, type Check, compare, oneOf, reader } from './checks.ts';
import type { PlannedExternals } from './plan.ts';

/** Throws a DifferenceError that lists every external which is not what it should be. */
export async function verifyExternals(
  client: ReadClient,
  externals: PlannedExternals,
): Promise<void> {
  const missing = await emptyAddresses(client, externals);
  if (missing.length > 0) {
    await compare(
      'externals',
      missing.map(({ name, address }) => ({
        what: `${name} ${address}`,
        actual: Promise.resolve('no contract'),
        expected: 'a contract',
      })),
    );
  }
  const read = reader(client);
  const { usdg, weth, uniswapV3Factory, swapRouter02, quoterV2 } = externals;
  const safes = [
    ['Safe', externals.safeSingleton],
    ['SafeProxyFactory', externals.safeProxyFactory],
    ['CompatibilityFallbackHandler', externals.safeFallbackHandler],
  ] as const;
  await compare('externals', [
    { what: 'USDG decimals', actual: read(usdg, erc20Abi, 'decimals'), expected: 6 },
    { what: 'WETH decimals', actual: read(weth, erc20Abi, 'decimals'), expected: 18 },
    ...[
      [500, 10],
      [3000, 60],
      [10000, 200],
    ].map(([fee, spacing]) => ({
      what: `tick spacing of tier ${fee}`,
      actual: read(uniswapV3Factory, uniswapV3FactoryAbi, 'feeAmountTickSpacing', [fee]),
      expected: spacing,
    })),
    {
      what: 'factory of SwapRouter02',
      actual: read(swapRouter02, swapRouter02Abi, 'factory'),
      expected: uniswapV3Factory,
    },
    {
      what: 'WETH of SwapRouter02',
      actual: read(swapRouter02, swapRouter02Abi, 'WETH9'),
      expected: weth,
    },
    // Both tell factory and WETH alike: only what they can do tells one from the other.
    {
      what: 'functions that SwapRouter02 lacks',
      actual: lackingIn(client, swapRouter02, swapRouter02Abi, ROUTER_FUNCTIONS),
      expected: [],
    },
    {
      what: 'functions that QuoterV2 lacks',
      actual: lackingIn(client, quoterV2, quoterV2Abi, QUOTER_FUNCTIONS),
      expected: [],
    },
    {
      what: 'factory of QuoterV2',
      actual: read(quoterV2, quoterV2Abi, 'factory'),
      expected: uniswapV3Factory,
    },
    {
      what: 'WETH of QuoterV2',
      actual: read(quoterV2, addressViews('WETH9'), 'WETH9'),
      expected: weth,
    },
    {
      what: 'code of Multicall3',
      actual: codeHash(client, externals.multicall3),
      expected: oneOf(...(await multicall3Hashes())),
    },
    ...safes.flatMap(([name, address]): Check[] =>
      address === null
        ? []
        : [
            {
              what: `code of ${name}`,
              actual: codeHash(client, address),
              expected: keccak256(genuine(name).deployedBytecode),
            },
          ],
    ),
  ]);
}

async function codeHash(client: ReadClient, address: Address): Promise<Hex | null> {
  const code = await client.getCode({ address });
  return code === undefined ? null : keccak256(code);
}

/**
 * Whether QuoterV2 is the published build, its two immutables aside (their getters are checked above). It is not known of
 * every chain that another build is wrong, so this is for the operator to judge.
 * @returns what to say of it; null: nothing.
 */
export async function otherQuoter(client: ReadClient, address: Address): Promise<string | null> {
  const standing = hexToBytes((await client.getCode({ address })) ?? '0x');
  const published = hexToBytes(genuine('QuoterV2').deployedBytecode);
  const isPublished =
    standing.length === published.length &&
    standing.every((byte, index) => byte === published[index] || inWord(published, index));
  return isPublished
    ? null
    : `code of QuoterV2 ${address} is not the build that Uniswap publishes: whoever put it there may say any price in a quote`;
}

/** Where an immutable goes: the operand of a PUSH32 of nothing. */
function inWord(code: Uint8Array, index: number): boolean {
  for (let start = Math.max(1, index - 31); start <= index; start += 1) {
    const isPush32 = code[start - 1] === 0x7f;
    if (isPush32 && code.subarray(start, start + 32).every((byte) => byte === 0)) return true;
  }
  return false;
}

/** Those at whose address nothing stands. */
export async function emptyAddresses(
  client: ReadClient,
  externals: Readonly<Record<string, Address | null>>,
): Promise<{ name: string; address: Address }[]> {
  const found: { name: string; address: Address }[] = [];
  for (const [name, address] of Object.entries(externals)) {
    if (address === null) continue;
    const code = await client.getCode({ address });
    if (code === undefined || code === '0x') found.push({ name, address });
  }
  return found;
}

/** The four that the zapper encodes (rule 5), and what quotes are asked with. */
const ROUTER_FUNCTIONS = ['exactInputSingle', 'exactInput', 'exactOutputSingle', 'exactOutput'];
const QUOTER_FUNCTIONS = ['quoteExactInput', 'quoteExactOutput'];

/** Names of the functions whose selector is nowhere in the code. */
async function lackingIn(
  client: ReadClient,
  address: Address,
  abi: Abi,
  names: readonly string[],
): Promise<string[]> {
  const code = (await client.getCode({ address })) ?? '0x';
  return names.filter((name) => {
    const item = abi.find((entry) => entry.type === 'function' && entry.name === name);
    return item?.type !== 'function' || !code.includes(toFunctionSelector(item).slice(2));
  });
}
