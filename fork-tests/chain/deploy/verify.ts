/**
 * Reads back from the chain what a deployment claims. From the file alone: that each address holds our code, and that
 * the contracts name each other and the externals, and that accounts are genuine Safes. With the plan: roles, pools,
 * units, calendar and cover as well.
 */
import { type Address, erc20Abi } from 'viem';
import { MIN_COVER_USD } from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import {
  accountFactoryAbi,
  basketRegistryAbi,
  basketVaultAbi,
  coverMarketAbi,
  navOracleAbi,
  protocolPauseAbi,
} from '../../../contracts-abi/generated/index.ts';
import type { ReadClient } from '../client.ts';
import { addressViews, atLeast, type Check, compare, oneOf, type Read, reader } from './checks.ts';
import { AS_BUILT, judgeCode, type OwnContract } from './code.ts';
import { coverSharers } from './cover-steps.ts';
import type { Externals } from './externals.ts';
import type { ProtocolPlan } from './plan.ts';
import { isNoAnswer } from './settle.ts';
import { otherQuoter, verifyExternals } from './verify-externals.ts';

type ListedBasket = Deployment['baskets'][number];

const ZERO: Address = '0x0000000000000000000000000000000000000000';
/** What is compared, in words of a DifferenceError. */
const PARTS = 'parts of the deployment';

const CODE: Readonly<Partial<Record<keyof Deployment, OwnContract>>> = {
  pause: 'protocolPause',
  registry: 'basketRegistry',
  oracle: 'navOracle',
  zapper: 'basketZapper',
  exitEscrow: 'exitEscrow',
  limitEscrow: 'limitEscrow',
  scheduleEscrow: 'scheduleEscrow',
  coverMarket: 'coverMarket',
  accountFactory: 'accountFactory',
  sessionModule: 'sessionModule',
  coverModule: 'coverModule',
};

/**
 * Whether the addresses of the file are our contracts, and name each other. Throws a DifferenceError that lists every
 * difference.
 */
export async function verifyContracts(client: ReadClient, deployment: Deployment): Promise<void> {
  // First whether the contracts are ours at all: what others would answer to our questions says nothing.
  await compare('contracts', codeChecks(client, deployment));
  await compare(PARTS, wiringChecks(reader(client), deployment));
}

/**
 * Throws a DifferenceError that lists every difference between the deployment file and the chain.
 * @returns what could not be told and what the operator should judge, a line each.
 */
export async function verifyStanding(
  client: ReadClient,
  deployment: Deployment,
): Promise<string[]> {
  const read = reader(client);
  await compare('contracts', codeChecks(client, deployment));
  const { usdg, weth, multicall3, uniswapV3Factory, swapRouter02, quoterV2 } = deployment;
  await verifyExternals(client, {
    usdg,
    weth,
    multicall3,
    uniswapV3Factory,
    swapRouter02,
    quoterV2,
    ...(await safeParts(read, deployment)),
  });
  const before = await codeBeforeStart(client, deployment);
  await compare(PARTS, [
    ...wiringChecks(read, deployment),
    ...(await registryChecks(read, deployment)),
    ...historyChecks(client, read, deployment, before),
    ...deployment.baskets.flatMap((basket) => weightChecks(read, basket)),
  ]);
  const quoter = await otherQuoter(client, quoterV2);
  const told = quoter === null ? [] : [quoter];
  return before === UNKNOWN
    ? [
        ...told,
        `startBlock ${deployment.startBlock} is judged by the baskets' beginnings alone, to the second: this node keeps no state of the block before it`,
      ]
    : told;
}

/** What the account factory builds every account from. The file does not name it, and the factory's code does not tell. */
async function safeParts(
  read: Read,
  { accountFactory }: Deployment,
): Promise<Pick<Externals, 'safeSingleton' | 'safeProxyFactory' | 'safeFallbackHandler'>> {
  const part = (name: string) => read(accountFactory, SAFE_VIEWS, name) as Promise<Address>;
  const [safeSingleton, safeProxyFactory, safeFallbackHandler] = await Promise.all([
    part('safeSingleton'),
    part('safeProxyFactory'),
    part('fallbackHandler'),
  ]);
  return { safeSingleton, safeProxyFactory, safeFallbackHandler };
}

const SAFE_VIEWS = addressViews('safeSingleton', 'safeProxyFactory', 'fallbackHandler');

/** The same, and that the plan was followed. `deployer` may still hold the owner's powers, offered to the owner. */
export async function verifyDeployment(
  client: ReadClient,
  deployment: Deployment,
  against: { plan: ProtocolPlan; deployer: Address; externals: Externals },
): Promise<void> {
  await verifyStanding(client, deployment);
  const read = reader(client);
  await compare(PARTS, [
    ...roleChecks(read, deployment, against),
    ...externalChecks(read, deployment, against),
    ...against.plan.baskets.flatMap((basket) => basketChecks(read, deployment, basket)),
    ...coverChecks(read, deployment, against.plan),
  ]);
}

function codeChecks(client: ReadClient, deployment: Deployment): Check[] {
  const check = (what: string, address: Address, contract: OwnContract): Check => ({
    what: `code of ${what} ${address}`,
    actual: judgeCode(client, address, contract),
    expected: AS_BUILT,
  });
  return [
    ...Object.entries(CODE).map(([name, contract]) =>
      check(name, deployment[name as keyof Deployment] as Address, contract),
    ),
    ...deployment.baskets.map(({ ticker, vault }) =>
      check(`vault ${ticker}`, vault, 'basketVault'),
    ),
    {
      what: `code of the AccountSetup of accountFactory ${deployment.accountFactory}`,
      actual: setupCode(client, deployment),
      expected: AS_BUILT,
    },
  ];
}

/** What every new account runs as itself, whatever it is: the factory's own code does not tell. */
async function setupCode(client: ReadClient, { accountFactory }: Deployment): Promise<string> {
  const setup = await reader(client)(accountFactory, accountFactoryAbi, 'accountSetup');
  return await judgeCode(client, setup as Address, 'accountSetup');
}

/** What each contract says the others are; every one of these is immutable. */
function wiringChecks(read: Read, deployment: Deployment): Check[] {
  const { usdg, weth, registry, oracle, zapper, pause } = deployment;
  const { exitEscrow, coverMarket, sessionModule, coverModule, accountFactory } = deployment;
  const base = { usdg, registry, oracle, zapper, pause };
  const uniswapFactory = deployment.uniswapV3Factory;
  const links: Partial<Record<keyof Deployment, Record<string, Address>>> = {
    oracle: { usdg, weth, wethUsdgPool: deployment.wethUsdgPool },
    zapper: { usdg, weth, router: deployment.swapRouter02, uniswapFactory, registry, pause },
    exitEscrow: base,
    limitEscrow: base,
    scheduleEscrow: base,
    coverMarket: { usdg, registry, oracle, pause },
    sessionModule: {
      ...base,
      coverModule,
      factory: accountFactory,
    },
    coverModule: { usdg, oracle, pause, exitEscrow, session: sessionModule, market: coverMarket },
  };
  return [
    ...Object.entries(links).flatMap(([name, expected]) =>
      Object.entries(expected).map(([getter, address]) => ({
        what: `${name} ${getter}`,
        actual: read(deployment[name as keyof Deployment] as Address, addressViews(getter), getter),
        expected: address,
      })),
    ),
    {
      what: 'modules of the account factory',
      actual: read(accountFactory, accountFactoryAbi, 'modules'),
      expected: [sessionModule, coverModule],
    },
  ];
}

/** The registry may have grown since the file was written: then the file is behind, and says so by its difference. */
async function registryChecks(read: Read, deployment: Deployment): Promise<Check[]> {
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

const UNKNOWN = 'unknown';

/** Whether our first contract stood before `startBlock`; unknown where the node keeps no state that old. */
async function codeBeforeStart(
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
function historyChecks(
  client: ReadClient,
  read: Read,
  { startBlock, baskets, pause }: Deployment,
  before: string,
): Check[] {
  const start = client.getBlock({ blockNumber: BigInt(startBlock) });
  return [
    {
      what: `startBlock ${startBlock}, at the block before it at pause ${pause}`,
      actual: Promise.resolve(before),
      expected: oneOf('nothing', UNKNOWN),
    },
    ...baskets.map(({ ticker, vault }) => ({
      what: `startBlock ${startBlock}, against the beginning of ${ticker}`,
      actual: Promise.all([start, read(vault, basketVaultAbi, 'genesisAt')]).then(
        ([{ timestamp }, genesisAt]) =>
          timestamp <= BigInt(String(genesisAt)) ? 'before' : 'after',
      ),
      expected: 'before',
    })),
  ];
}

/** What the file says of the opening weights, as far as the chain knows it: whose they are, and that they are a whole. */
function weightChecks(read: Read, { ticker, vault, targetWeights }: ListedBasket): Check[] {
  if (targetWeights === undefined) return [];
  const symbolsOf = async (): Promise<unknown[]> => {
    const parts = (await read(vault, basketVaultAbi, 'constituents')) as { token: Address }[];
    return await Promise.all(parts.map(({ token }) => read(token, erc20Abi, 'symbol')));
  };
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

function roleChecks(
  read: Read,
  { pause, registry, coverMarket }: Deployment,
  { plan, deployer }: { plan: ProtocolPlan; deployer: Address },
): Check[] {
  const owned = { pause, registry, coverMarket };
  const ownable = addressViews('owner', 'pendingOwner');
  return [
    ...Object.entries(owned).flatMap(([name, address]): Check[] => {
      const owner = read(address, ownable, 'owner');
      // Once accepted nothing is pending; before, the deployer owns and the owner may take it.
      const heir = Promise.all([owner, read(address, ownable, 'pendingOwner')]).then(
        ([holder, pending]) => (pending === ZERO ? holder : pending),
      );
      return [
        { what: `${name} owner`, actual: owner, expected: oneOf(plan.owner, deployer) },
        { what: `${name} owner to come`, actual: heir, expected: plan.owner },
      ];
    }),
    {
      what: 'guardian',
      actual: read(pause, protocolPauseAbi, 'guardian'),
      expected: plan.guardian,
    },
    {
      what: 'treasury',
      actual: read(registry, basketRegistryAbi, 'treasury'),
      expected: plan.treasury,
    },
  ];
}

function externalChecks(
  read: Read,
  deployment: Deployment,
  { plan, externals }: { plan: ProtocolPlan; externals: Externals },
): Check[] {
  const named = [
    'usdg',
    'weth',
    'multicall3',
    'uniswapV3Factory',
    'swapRouter02',
    'quoterV2',
  ] as const;
  const factory = deployment.accountFactory;
  return [
    ...named.map((name) => ({
      what: `${name} of the file`,
      actual: Promise.resolve(deployment[name]),
      expected: externals[name],
    })),
    {
      what: 'oracle WETH floor',
      actual: read(deployment.oracle, navOracleAbi, 'wethMinLiquidity'),
      expected: plan.wethMinLiquidity,
    },
    {
      what: 'factory Safe singleton',
      actual: read(factory, SAFE_VIEWS, 'safeSingleton'),
      expected: externals.safeSingleton,
    },
    {
      what: 'factory Safe proxy factory',
      actual: read(factory, SAFE_VIEWS, 'safeProxyFactory'),
      expected: externals.safeProxyFactory,
    },
    {
      what: 'factory fallback handler',
      actual: read(factory, SAFE_VIEWS, 'fallbackHandler'),
      expected: externals.safeFallbackHandler,
    },
  ];
}

function basketChecks(
  read: Read,
  deployment: Deployment,
  basket: ProtocolPlan['baskets'][number],
): Check[] {
  const vault = deployment.baskets.find(({ ticker }) => ticker === basket.ticker)?.vault ?? ZERO;
  const of = (what: string) => `${basket.ticker} ${what}`;
  const { name, thesis, group, risk, riskNote, rebalance, ordersEnabled } = basket;
  return [
    {
      what: of('registry row'),
      actual: read(deployment.registry, basketRegistryAbi, 'basketOf', [basket.ticker]),
      expected: { name, thesis, group, risk, riskNote, rebalance, ordersEnabled, vault },
    },
    // Anyone may have minted since; the seed's locked share is there for ever.
    {
      what: of('supply'),
      actual: read(vault, erc20Abi, 'totalSupply'),
      expected: atLeast(10n ** 18n),
    },
    { what: of('symbol'), actual: read(vault, erc20Abi, 'symbol'), expected: basket.ticker },
    {
      what: of('management fee'),
      actual: read(vault, basketVaultAbi, 'managementFeeBps'),
      expected: basket.managementFeeBps,
    },
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
  ];
}

function coverChecks(read: Read, deployment: Deployment, plan: ProtocolPlan): Check[] {
  const { coverMarket, baskets } = deployment;
  const market = (name: string, ...args: unknown[]) =>
    read(coverMarket, coverMarketAbi, name, args) as Promise<bigint>;
  const weeks = read(coverMarket, coverMarketAbi, 'publishedWeeks') as Promise<number[]>;
  const listing = async (vault: Address, index: number): Promise<string> => {
    if ((await market('capOf', vault)) > 0n) return LISTED;
    const least = 2n * MIN_COVER_USD * BigInt(coverSharers(plan.baskets, index));
    return (await market('depthCapOf', vault)) < least ? TOO_THIN : 'not listed';
  };
  return [
    {
      what: 'published weeks',
      actual: weeks.then((ids) => BigInt(ids.length)),
      expected: atLeast(BigInt(plan.coverWeeks)),
    },
    ...baskets.flatMap(({ ticker, vault }, index): Check[] =>
      plan.baskets[index]?.cover === true
        ? [
            {
              what: `${ticker} in the cover market`,
              actual: listing(vault, index),
              expected: oneOf(LISTED, TOO_THIN),
            },
          ]
        : [],
    ),
  ];
}

const LISTED = 'listed';
const TOO_THIN = 'its pools carry too little cover to list';
