/** Whether what stands is what the plan of the deployment said: roles, externals, baskets and cover. */
import { type Address, erc20Abi, zeroAddress } from 'viem';
import { MIN_COVER_USD } from '../../../contracts-abi/constants.ts';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import {
  basketRegistryAbi,
  basketVaultAbi,
  coverMarketAbi,
  navOracleAbi,
  protocolPauseAbi,
} from '../../../contracts-abi/generated/index.ts';
import { addressViews, atLeast, type Check, oneOf, type Read } from './checks.ts';
import { coverSharers } from './cover-steps.ts';
import type { Externals } from './externals.ts';
import type { ProtocolPlan } from './plan.ts';

export type Planned = { plan: ProtocolPlan; deployer: Address; externals: Externals };

/** `deployer` may still hold the owner's powers, offered to the owner. */
export function planChecks(read: Read, deployment: Deployment, planned: Planned): Check[] {
  const { plan } = planned;
  return [
    ...roleChecks(read, deployment, planned),
    ...externalChecks(read, deployment, planned),
    ...plan.baskets.flatMap((basket) => basketChecks(read, deployment, basket)),
    ...coverChecks(read, deployment, plan),
  ];
}

function roleChecks(
  read: Read,
  { pause, registry, coverMarket }: Deployment,
  { plan, deployer }: Planned,
): Check[] {
  const owned = { pause, registry, coverMarket };
  const ownable = addressViews('owner', 'pendingOwner');
  return [
    ...Object.entries(owned).flatMap(([name, address]): Check[] => {
      const owner = read(address, ownable, 'owner');
      // Once accepted nothing is pending; before, the deployer owns and the owner may take it.
      const heir = Promise.all([owner, read(address, ownable, 'pendingOwner')]).then(
        ([holder, pending]) => (pending === zeroAddress ? holder : pending),
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

function externalChecks(read: Read, deployment: Deployment, { plan, externals }: Planned): Check[] {
  const named = [
    'usdg',
    'weth',
    'multicall3',
    'uniswapV3Factory',
    'swapRouter02',
    'quoterV2',
  ] as const;
  const factory = deployment.accountFactory;
  const safeViews = addressViews('safeSingleton', 'safeProxyFactory', 'fallbackHandler');
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
      actual: read(factory, safeViews, 'safeSingleton'),
      expected: externals.safeSingleton,
    },
    {
      what: 'factory Safe proxy factory',
      actual: read(factory, safeViews, 'safeProxyFactory'),
      expected: externals.safeProxyFactory,
    },
    {
      what: 'factory fallback handler',
      actual: read(factory, safeViews, 'fallbackHandler'),
      expected: externals.safeFallbackHandler,
    },
  ];
}

function basketChecks(
  read: Read,
  deployment: Deployment,
  basket: ProtocolPlan['baskets'][number],
): Check[] {
  const vault =
    deployment.baskets.find(({ ticker }) => ticker === basket.ticker)?.vault ?? zeroAddress;
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
    { what: of('name'), actual: read(vault, erc20Abi, 'name'), expected: name },
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
        pool: part.pool ?? zeroAddress,
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
