/**
 * Reads back from the chain what a deployment claims. Every difference is collected, so that one run shows them all.
 */
import { type Abi, type Address, erc20Abi, isAddressEqual, keccak256 } from 'viem';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import {
  accountFactoryAbi,
  basketRegistryAbi,
  basketVaultAbi,
  basketZapperAbi,
  navOracleAbi,
  protocolPauseAbi,
  quoterV2Abi,
  sessionModuleAbi,
  swapRouter02Abi,
  uniswapV3FactoryAbi,
} from '../../../contracts-abi/generated/index.ts';
import type { ChainClient } from '../client.ts';
import { genuine } from './artifacts.ts';
import type { Externals } from './externals.ts';
import type { ProtocolPlan } from './plan.ts';

const ZERO: Address = '0x0000000000000000000000000000000000000000';

type Check = { what: string; actual: Promise<unknown>; expected: unknown };

/** Throws an Error that lists every external which is not what it should be. */
export async function verifyExternals(client: ChainClient, externals: Externals): Promise<void> {
  const read = reader(client);
  const { usdg, weth, uniswapV3Factory, swapRouter02, quoterV2, safeSingleton } = externals;
  const codeHash = async (address: Address) => {
    const code = await client.getCode({ address });
    return code === undefined ? null : keccak256(code);
  };
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
    {
      what: 'factory of QuoterV2',
      actual: read(quoterV2, quoterV2Abi, 'factory'),
      expected: uniswapV3Factory,
    },
    {
      what: 'chain id by Multicall3',
      actual: read(externals.multicall3, MULTICALL3_VIEW, 'getChainId'),
      expected: BigInt(await client.getChainId()),
    },
    ...(
      [
        ['Safe', safeSingleton],
        ['SafeProxyFactory', externals.safeProxyFactory],
        ['CompatibilityFallbackHandler', externals.safeFallbackHandler],
      ] as const
    ).map(([name, address]) => ({
      what: `code of ${name}`,
      actual: codeHash(address),
      expected: keccak256(genuine(name).deployedBytecode),
    })),
  ]);
}

/** Throws an Error that lists every difference between the deployment, its plan and the chain. */
export async function verifyDeployment(
  client: ChainClient,
  deployment: Deployment,
  against: { plan: ProtocolPlan; owner: Address; externals: Externals },
): Promise<void> {
  const { plan, owner, externals } = against;
  const read = reader(client);
  const { registry, pause, oracle, zapper, sessionModule, accountFactory } = deployment;
  const checks: Check[] = [
    { what: 'pause owner', actual: read(pause, protocolPauseAbi, 'owner'), expected: owner },
    {
      what: 'guardian',
      actual: read(pause, protocolPauseAbi, 'guardian'),
      expected: plan.guardian,
    },
    { what: 'paused', actual: read(pause, protocolPauseAbi, 'paused'), expected: false },
    { what: 'registry owner', actual: read(registry, basketRegistryAbi, 'owner'), expected: owner },
    {
      what: 'registry sealed',
      actual: read(registry, basketRegistryAbi, 'isSealed'),
      expected: true,
    },
    {
      what: 'treasury',
      actual: read(registry, basketRegistryAbi, 'treasury'),
      expected: plan.treasury,
    },
    {
      what: 'oracle WETH pool',
      actual: read(oracle, navOracleAbi, 'wethUsdgPool'),
      expected: plan.wethUsdgPool,
    },
    {
      what: 'zapper router',
      actual: read(zapper, basketZapperAbi, 'router'),
      expected: externals.swapRouter02,
    },
    {
      what: 'zapper USDG',
      actual: read(zapper, basketZapperAbi, 'usdg'),
      expected: externals.usdg,
    },
    ...[deployment.exitEscrow, deployment.limitEscrow].flatMap((escrow) =>
      (
        [
          ['usdg', externals.usdg],
          ['registry', registry],
          ['oracle', oracle],
          ['zapper', zapper],
          ['pause', pause],
        ] as const
      ).map(([name, expected]) => ({
        what: `escrow ${escrow} ${name}`,
        actual: read(escrow, ESCROW_VIEW, name),
        expected,
      })),
    ),
    {
      what: 'session module factory',
      actual: read(sessionModule, sessionModuleAbi, 'factory'),
      expected: accountFactory,
    },
    {
      what: 'factory Safe singleton',
      actual: read(accountFactory, accountFactoryAbi, 'safeSingleton'),
      expected: externals.safeSingleton,
    },
  ];
  for (const basket of plan.baskets) {
    const vault = deployment.baskets.find(({ ticker }) => ticker === basket.ticker)?.vault ?? ZERO;
    const of = (what: string) => `${basket.ticker} ${what}`;
    const record = read(registry, basketRegistryAbi, 'basketOf', [basket.ticker]) as Promise<
      Record<string, unknown>
    >;
    checks.push(
      { what: of('vault'), actual: record.then((row) => row['vault']), expected: vault },
      {
        what: of('ordersEnabled'),
        actual: record.then((row) => row['ordersEnabled']),
        expected: basket.ordersEnabled,
      },
      {
        what: of('supply'),
        actual: read(vault, erc20Abi, 'totalSupply'),
        expected: basket.seedShares,
      },
      { what: of('symbol'), actual: read(vault, erc20Abi, 'symbol'), expected: basket.ticker },
      {
        what: of('constituents'),
        actual: read(vault, basketVaultAbi, 'constituents'),
        expected: basket.constituents.map((part) => ({
          token: part.token,
          genesisUnits: part.genesisUnits,
          pool: part.pool ?? ZERO,
          viaWeth: part.viaWeth,
          minLiquidity: part.minLiquidity,
        })),
      },
    );
  }
  await compare('deployment', checks);
}

const MULTICALL3_VIEW = [
  {
    type: 'function',
    name: 'getChainId',
    stateMutability: 'view',
    inputs: [],
    outputs: [{ type: 'uint256' }],
  },
] as const;

/** Public immutables of the escrows' common base. */
const ESCROW_VIEW = ['usdg', 'registry', 'oracle', 'zapper', 'pause'].map((name) => ({
  type: 'function',
  name,
  stateMutability: 'view',
  inputs: [],
  outputs: [{ type: 'address' }],
})) as Abi;

function reader(client: ChainClient) {
  return (address: Address, abi: Abi, functionName: string, args: readonly unknown[] = []) =>
    client.readContract<Abi, string, readonly unknown[]>({ address, abi, functionName, args });
}

async function compare(subject: string, checks: readonly Check[]): Promise<void> {
  const results = await Promise.all(
    checks.map(async ({ what, actual, expected }) => {
      try {
        const value = await actual;
        return same(value, expected) ? null : `${what}: ${show(value)}, expected ${show(expected)}`;
      } catch (error) {
        const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
        return `${what}: cannot be read (${reason})`;
      }
    }),
  );
  const wrong = results.filter((line) => line !== null);
  if (wrong.length > 0) throw new Error(`the ${subject} on chain differ:\n  ${wrong.join('\n  ')}`);
}

function same(actual: unknown, expected: unknown): boolean {
  if (isAddressText(actual) && isAddressText(expected)) return isAddressEqual(actual, expected);
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return actual.length === expected.length && actual.every((item, i) => same(item, expected[i]));
  }
  if (isRecord(actual) && isRecord(expected)) {
    return Object.keys(expected).every((name) => same(actual[name], expected[name]));
  }
  return actual === expected;
}

function isAddressText(value: unknown): value is Address {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? `${item}` : item));
}
