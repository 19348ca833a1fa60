/** Whether the baskets of the file are those of the registry, begun where the file says, on pools of Uniswap's. */
import { type Address, erc20Abi, isAddressEqual, zeroAddress } from 'viem';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import { basketRegistryAbi, basketVaultAbi } from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { type Check, oneOf, type Read } from './checks.ts';
import { GENUINE_POOL, isPublished, judgePool } from './published.ts';
import { isNoAnswer } from './settle.ts';

type ListedBasket = Deployment['baskets'][number];

/** The registry may have grown since the file was written: then the file is behind, and says so by its difference. */
export async function registryChecks(read: Read, deployment: Deployment): Promise<Check[]> {
  const { registry, baskets } = deployment;
  const rows = read(registry, basketRegistryAbi, 'baskets') as Promise<{ ticker: string }[]>;
  return [
    {
      what: 'registry sealed',
      actual: read(registry, basketRegistryAbi, 'isSealed'),
      expected: true,
    },
    {
      what: 'baskets of the registry',
      actual: rows.then((list) => list.map(({ ticker }) => ticker)),
      expected: baskets.map(({ ticker }) => ticker),
    },
    ...baskets.flatMap(({ ticker, vault }): Check[] => [
      {
        what: `${ticker} vault`,
        actual: rows.then(
          (list) => (list.find((row) => row.ticker === ticker) as { vault?: Address })?.vault,
        ),
        expected: vault,
      },
      {
        what: `${ticker} registry`,
        actual: read(vault, basketVaultAbi, 'registry'),
        expected: registry,
      },
    ]),
  ];
}

export const UNKNOWN = 'unknown';

/** Whether our first contract stood before `startBlock`; unknown where the node keeps no state that old. */
export async function codeBeforeStart(
  client: ReadClient,
  { startBlock, pause }: Deployment,
): Promise<'nothing' | 'our contract' | typeof UNKNOWN> {
  if (startBlock === 0) return 'nothing';
  try {
    const code = await client.getCode({ address: pause, blockNumber: BigInt(startBlock - 1) });
    return code === undefined || code === '0x' ? 'nothing' : 'our contract';
  } catch (error) {
    if (isNoAnswer(error)) throw error;
    // expected: nodes say in many ways that they pruned a block's state
    return UNKNOWN;
  }
}

/**
 * A start block after the first contract, or the first basket, would lose what happened in between. One before costs
 * only time: the command takes the block after the one that it began at, and steps that leave no contract come first.
 */
export function historyChecks(
  client: ReadClient,
  read: Read,
  { startBlock, baskets, pause }: Deployment,
  before: string,
): Check[] {
  const bounds = Promise.all([
    client.getBlock({ blockNumber: BigInt(startBlock) }),
    client.getBlock(),
  ]);
  return [
    {
      what: `startBlock ${startBlock}, at the block before it at pause ${pause}`,
      actual: Promise.resolve(before),
      expected: oneOf('nothing', UNKNOWN),
    },
    ...baskets.map(({ ticker, vault }) => ({
      what: `startBlock ${startBlock}, against the beginning of ${ticker}`,
      actual: Promise.all([bounds, read(vault, basketVaultAbi, 'genesisAt')]).then(
        ([[start, newest], value]) => {
          const genesisAt = BigInt(String(value));
          if (genesisAt > newest.timestamp) return 'before, and the basket begins in the future';
          return start.timestamp <= genesisAt ? 'before' : 'after';
        },
      ),
      expected: 'before',
    })),
  ];
}

/** The tokens of a vault, which only the chain knows. */
export function tokensOf(read: Read, vault: Address): () => Promise<Address[]> {
  return async () => {
    const parts = (await read(vault, basketVaultAbi, 'constituents')) as { token: Address }[];
    return parts.map(({ token }) => token);
  };
}

/** Of opening weights what the chain knows: whose they are, and that they are a whole. */
export function weightChecks(
  read: Read,
  { ticker, targetWeights }: Pick<ListedBasket, 'ticker' | 'targetWeights'>,
  tokens: () => Promise<readonly Address[]>,
): Check[] {
  if (targetWeights === undefined) return [];
  const symbolsOf = async (): Promise<unknown[]> =>
    await Promise.all((await tokens()).map((token) => read(token, erc20Abi, 'symbol')));
  const total = Object.values(targetWeights).reduce((sum, weight) => sum + weight, 0);
  return [
    {
      what: `targetWeights of ${ticker}`,
      actual: symbolsOf().then((symbols) => symbols.map(String).toSorted()),
      expected: Object.keys(targetWeights).toSorted(),
    },
    {
      what: `sum of the targetWeights of ${ticker}`,
      actual: Promise.resolve(Math.abs(total - 1) < 0.001 ? 1 : total),
      expected: 1,
    },
  ];
}

/** Reference pools are pools of the factory's for the token and what it is quoted in, of code that Uniswap publishes. */
export async function poolChecks(
  client: ReadClient,
  read: Read,
  deployment: Deployment,
): Promise<Check[]> {
  const pairs: Pair[] = [];
  for (const { ticker, vault } of deployment.baskets) {
    const parts = (await read(vault, basketVaultAbi, 'constituents')) as Omit<Pair, 'ticker'>[];
    pairs.push(
      ...parts
        .filter(({ pool }) => !isAddressEqual(pool, zeroAddress))
        .map(({ token, pool, viaWeth }) => ({ ticker, token, pool, viaWeth })),
    );
  }
  return await pairChecks(client, read, deployment, pairs);
}

/** A token of a basket and its reference pool. */
export type Pair = { ticker: string; token: Address; pool: Address; viaWeth: boolean };

/** The same of pools that somebody names, and of the WETH pool. */
export async function pairChecks(
  client: ReadClient,
  read: Read,
  { usdg, weth, wethUsdgPool, uniswapV3Factory: factory }: Omit<Deployment, 'baskets'>,
  pairs: readonly Pair[],
): Promise<Check[]> {
  const pools = new Map<string, { what: string; pool: Address; tokens: [Address, Address] }>();
  pools.set(wethUsdgPool, { what: 'WETH', pool: wethUsdgPool, tokens: [weth, usdg] });
  for (const { ticker, token, pool, viaWeth } of pairs) {
    const tokens: [Address, Address] = [token, viaWeth ? weth : usdg];
    pools.set(`${pool} ${tokens.join()}`, { what: `${token} in ${ticker}`, pool, tokens });
  }
  const published = await isPublished(client, factory, 'UniswapV3Factory', { self: factory });
  const checks: Check[] = [];
  for (const { what, pool, tokens } of pools.values()) {
    const actual = judgePool(client, read, pool, { factory, published, tokens });
    // One at a time. What cannot be read is named where the checks are compared.
    await actual.catch(() => undefined);
    checks.push({ what: `pool ${pool} of ${what}`, actual, expected: GENUINE_POOL });
  }
  return checks;
}
