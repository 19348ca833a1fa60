/** Whether what the protocol stands on is what it should be, before anything is built on it. */
import {
  type Abi,
  type Address,
  erc20Abi,
  type Hex,
  isAddressEqual,
  keccak256,
  toFunctionSelector,
} from 'viem';
import {
  quoterV2Abi,
  swapRouter02Abi,
  uniswapV3FactoryAbi,
} from '../../../contracts-abi/generated/index.ts';
import { LIVE } from '../../../contracts-abi/live-addresses.ts';
import type { ReadClient } from '../client.ts';
import { genuine, multicall3Hashes } from './artifacts.ts';
import { addressViews, type Check, compare, oneOf, Rule, reader } from './checks.ts';
import { AS_BUILT, readOwn } from './code.ts';
import type { PlannedExternals } from './plan.ts';
import { isPublished } from './published.ts';

const PUBLISHED = 'the build that Uniswap publishes';

/**
 * Throws a DifferenceError that lists every external which is not what it should be. Router and factory of another build
 * than the published one pass at the addresses of the specification alone, where `otherBuilds` tells of them, and where
 * the operator trusts the hash of their code.
 */
export async function verifyExternals(
  client: ReadClient,
  externals: PlannedExternals,
  trusted: ReadonlySet<Hex> = new Set(),
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
  // Before any other read is under way: one that fails while nobody waits for it would end the process.
  const strange = await strangeUniswap(client, externals, trusted);
  const multicall3 = await multicall3Hashes();
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
    ...strange
      .filter(({ name, address }) => name !== 'quoterV2' && !isAddressEqual(address, LIVE[name]))
      .map(({ title, address, hash }) => ({
        what: `code of ${title} ${address}`,
        actual: Promise.resolve(hash),
        expected: new Rule(
          `${PUBLISHED}; where you compared this code with a source that you trust, its hash in DEPLOY_TRUSTED_CODE lets it pass`,
          () => false,
        ),
      })),
    {
      what: 'code of Multicall3',
      actual: codeHash(client, externals.multicall3),
      expected: oneOf(...multicall3),
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

type Uniswap = Pick<
  PlannedExternals,
  'usdg' | 'weth' | 'uniswapV3Factory' | 'swapRouter02' | 'quoterV2'
>;
type Strange = {
  name: 'uniswapV3Factory' | 'swapRouter02' | 'quoterV2';
  title: string;
  address: Address;
  hash: Hex | null;
};

/** Those whose code is neither the published build, nor trusted. */
async function strangeUniswap(
  client: ReadClient,
  { weth, uniswapV3Factory: factory, swapRouter02, quoterV2 }: Omit<Uniswap, 'usdg'>,
  trusted: ReadonlySet<Hex>,
): Promise<Strange[]> {
  const listed = [
    ['uniswapV3Factory', 'UniswapV3Factory', factory, { self: factory }],
    ['swapRouter02', 'SwapRouter02', swapRouter02, { factory, weth }],
    ['quoterV2', 'QuoterV2', quoterV2, { factory, weth }],
  ] as const;
  const found: Strange[] = [];
  for (const [name, title, address, immutables] of listed) {
    if (await isPublished(client, address, title, immutables)) continue;
    const hash = await codeHash(client, address);
    if (hash === null || !trusted.has(hash)) found.push({ name, title, address, hash });
  }
  return found;
}

/**
 * What stands in other builds than those that can be compared here. It is not known of every chain that another build is
 * wrong, so this is for the operator to judge.
 * @returns a line for each.
 */
export async function otherBuilds(
  client: ReadClient,
  externals: Uniswap,
  trusted: ReadonlySet<Hex>,
): Promise<string[]> {
  const uniswap = await strangeUniswap(client, externals, trusted);
  const lines = uniswap.map(
    ({ name, title, address, hash }) =>
      `code of ${title} ${address} is not ${PUBLISHED} (hash ${hash}): whoever put it there ${HARM[name]}`,
  );
  const tokens = [
    ['USDG', externals.usdg, 'localToken'],
    ['WETH', externals.weth, 'localWeth'],
  ] as const;
  for (const [title, address, local] of tokens) {
    const { verdict } = await readOwn(client, address, local);
    const hash = await codeHash(client, address);
    if (verdict === AS_BUILT || (hash !== null && trusted.has(hash))) continue;
    lines.push(
      `code of ${title} ${address} is none that can be compared here (hash ${hash}): the token is taken for genuine by its address`,
    );
  }
  return lines;
}

const HARM = {
  uniswapV3Factory: 'may have made pools of any code, at any price',
  swapRouter02: 'may keep what swaps are paid with, down to the least that each trade accepts',
  quoterV2: 'may say any price in a quote',
} as const;

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
