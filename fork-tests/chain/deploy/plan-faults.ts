/**
 * Why a plan cannot stand, before anything of it is paid for: what a contract's constructor, the registry or the check
 * at the end would refuse, when most of a deployment is mined and a plan cannot change under it any more.
 */
import { erc20Abi } from 'viem';
import {
  MAX_MANAGEMENT_FEE_BPS,
  MIN_MANAGEMENT_FEE_BPS,
  SHARE,
} from '../../../contracts-abi/constants.ts';
import { type Deployment, deploymentSchema } from '../../../contracts-abi/deployment.ts';
import type { ReadClient } from '../client.ts';
import { type Check, compare, Rule, reader } from './checks.ts';
import { DeployError } from './errors.ts';
import type { BasketPlan, ConstituentPlan, ProtocolPlan } from './plan.ts';
import { pairChecks, weightChecks } from './verify-baskets.ts';

/** As GenesisCheck.sol, OpenZeppelin's ShortStrings and the types of the fields have it. */
const MOST_CONSTITUENTS = 32;
const MOST_NAME_BYTES = 31;
const MOST_DECIMALS = 18;
const MOST_UNSIGNED = 2n ** 128n - 1n;
/** What programs, URLs and people write the same way. */
const TICKER = /^[A-Z0-9]{1,31}$/;

const isAmount = (value: bigint): boolean => value > 0n && value <= MOST_UNSIGNED;

/** Throws a DeployError with a line for each thing that is wrong with the plan by itself. */
export function assertSound(plan: ProtocolPlan): void {
  const pools = new Set([
    plan.wethUsdgPool,
    ...plan.baskets.flatMap(({ constituents }) => constituents.map(({ pool }) => pool)),
  ]);
  const tickers = plan.baskets.map(({ ticker }) => ticker);
  const faults = [
    ...(isAmount(plan.wethMinLiquidity) ? [] : ['wethMinLiquidity: above zero, in 128 bits']),
    ...plan.growth.flatMap(({ pool, from, to }) => [
      ...(pools.has(pool) ? [] : [`growth: ${pool} is no pool of a basket, nor of WETH`]),
      ...(to > from ? [] : [`growth: from ${from} to ${to} slots is none`]),
    ]),
    ...tickers
      .filter((ticker, index) => tickers.indexOf(ticker) < index)
      .map((ticker) => `${ticker}: two baskets of one ticker`),
    ...plan.baskets.flatMap((basket) =>
      basketFaults(basket, plan).map((fault) => `${basket.ticker}: ${fault}`),
    ),
  ];
  if (faults.length > 0) throw refusal(faults);
}

function basketFaults(basket: BasketPlan, plan: ProtocolPlan): string[] {
  const { ticker, name, managementFeeBps: fee, seedShares, targetWeights, constituents } = basket;
  const tokens = constituents.map(({ token }) => token);
  const weights = Object.values(targetWeights);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const bytes = new TextEncoder().encode(name).length;
  const rules: [boolean, string][] = [
    [TICKER.test(ticker), 'ticker: 1 to 31 capital letters and digits'],
    [name.trim() !== '' && bytes <= MOST_NAME_BYTES, `name: 1 to ${MOST_NAME_BYTES} bytes`],
    [
      fee >= MIN_MANAGEMENT_FEE_BPS && fee <= MAX_MANAGEMENT_FEE_BPS,
      `managementFeeBps: ${MIN_MANAGEMENT_FEE_BPS} to ${MAX_MANAGEMENT_FEE_BPS}`,
    ],
    [seedShares >= SHARE && seedShares <= MOST_UNSIGNED, 'seedShares: at least one whole share'],
    [tokens.length <= MOST_CONSTITUENTS, `constituents: at most ${MOST_CONSTITUENTS}`],
    [new Set(tokens).size === tokens.length, 'constituents: a token stands twice'],
    [weights.every((weight) => weight >= 0 && weight <= 1), 'targetWeights: each from 0 to 1'],
    [
      weights.length === tokens.length && Math.abs(sum - 1) < 0.001,
      'targetWeights: one of each constituent, 1 in all',
    ],
  ];
  return [
    ...rules.filter(([holds]) => !holds).map(([, rule]) => rule),
    ...constituents.flatMap((part) => partFaults(part, plan)),
  ];
}

function partFaults(part: ConstituentPlan, { externals: { usdg, weth } }: ProtocolPlan): string[] {
  const { token, genesisUnits, pool, viaWeth, minLiquidity, statedPrice } = part;
  const faults = isAmount(genesisUnits)
    ? []
    : [`genesisUnits of ${token}: above zero, in 128 bits`];
  if (pool === null) return faults;
  if (token === usdg || (viaWeth && token === weth)) {
    faults.push(`pool of ${token}: it is what the pool would quote it in`);
  }
  if (!isAmount(minLiquidity)) faults.push(`minLiquidity of ${token}: above zero, in 128 bits`);
  if (statedPrice === 0n) faults.push(`statedPrice of ${token}: above zero where it has a pool`);
  return faults;
}

/**
 * The same of what the chain has to say: that pools are the factory's for these pairs, and what the tokens are called.
 * `deployment`: what would stand. Throws a DeployError or a DifferenceError.
 */
export async function assertCanStand(
  client: ReadClient,
  plan: ProtocolPlan,
  deployment: Deployment,
): Promise<void> {
  const file = deploymentSchema.safeParse(deployment);
  if (!file.success) {
    throw refusal(
      file.error.issues.map(
        ({ path, message }) =>
          `the deployment file would not be valid: ${path.join('.')}: ${message}`,
      ),
    );
  }
  const read = reader(client);
  const pairs = plan.baskets.flatMap(({ ticker, constituents }) =>
    constituents.flatMap(({ pool, ...part }) => (pool === null ? [] : [{ ...part, pool, ticker }])),
  );
  await compare('pools of the plan', await pairChecks(client, read, deployment, pairs));
  const tokens = plan.baskets.flatMap(({ constituents }) => constituents.map(({ token }) => token));
  await compare('tokens of the plan', [
    ...plan.baskets.flatMap((basket) =>
      weightChecks(read, basket, async () => basket.constituents.map(({ token }) => token)),
    ),
    ...[...new Set(tokens)].map(
      (token): Check => ({
        what: `decimals of ${token}`,
        actual: read(token, erc20Abi, 'decimals'),
        expected: new Rule(
          `at most ${MOST_DECIMALS}`,
          (value) => typeof value === 'number' && value <= MOST_DECIMALS,
        ),
      }),
    ),
  ]);
}

function refusal(faults: readonly string[]): DeployError {
  return new DeployError(`the plan cannot stand, and nothing was sent:\n  ${faults.join('\n  ')}`);
}
