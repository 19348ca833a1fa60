/**
 * Reads back from the chain what a deployment claims. From the file alone: that each address holds our code to the byte,
 * that every immutable in it is what the file, the chain or Safe's published code make it be, that pools are the
 * factory's own, and that accounts are genuine Safes. With the plan: roles, units, floors, calendar and cover as well.
 * What a constructor put into storage is seen as far as a getter of genuine code tells it.
 */
import type { Hex } from 'viem';
import type { Deployment } from '../../../contracts-abi/deployment.ts';
import type { ReadClient } from '../client.ts';
import { compare, reader } from './checks.ts';
import {
  codeBeforeStart,
  historyChecks,
  poolChecks,
  registryChecks,
  tokensOf,
  UNKNOWN,
  weightChecks,
} from './verify-baskets.ts';
import { otherBuilds, verifyExternals } from './verify-externals.ts';
import {
  feePoolCheck,
  PARTS,
  readContracts,
  safeParts,
  unjudgedLines,
  wiringChecks,
} from './verify-own.ts';
import { type Planned, planChecks } from './verify-plan.ts';

/**
 * Whether the addresses of the file are our contracts, and are built on each other and on the externals of the file.
 * Throws a DifferenceError that lists every difference.
 */
export async function verifyContracts(client: ReadClient, deployment: Deployment): Promise<void> {
  // First whether the contracts are ours at all: what others would answer to our questions says nothing.
  const own = await readContracts(client, deployment);
  await compare(PARTS, wiringChecks(client, reader(client), deployment, own));
}

export type Told = {
  /** What could not be told and what the operator should judge, a line each. */
  unknown: string[];
  /** The same of what only the plan could say. */
  unplanned: string[];
};

/**
 * Throws a DifferenceError that lists every difference between the deployment file and the chain. `trusted`: hashes of
 * code that the operator takes for genuine (DEPLOY_TRUSTED_CODE).
 */
export async function verifyStanding(
  client: ReadClient,
  deployment: Deployment,
  trusted: ReadonlySet<Hex> = new Set(),
): Promise<Told> {
  const read = reader(client);
  const own = await readContracts(client, deployment);
  const { usdg, weth, multicall3, uniswapV3Factory, swapRouter02, quoterV2 } = deployment;
  const externals = { usdg, weth, multicall3, uniswapV3Factory, swapRouter02, quoterV2 };
  await verifyExternals(client, { ...externals, ...safeParts(own) }, trusted);
  const before = await codeBeforeStart(client, deployment);
  await compare(PARTS, wiringChecks(client, read, deployment, own));
  await compare(PARTS, await poolChecks(client, read, deployment));
  await compare(PARTS, [
    ...(await registryChecks(read, deployment)),
    ...historyChecks(client, read, deployment, before),
    feePoolCheck(read, deployment),
    ...deployment.baskets.flatMap((basket) =>
      weightChecks(read, basket, tokensOf(read, basket.vault)),
    ),
  ]);
  const late =
    before === UNKNOWN
      ? [
          `startBlock ${deployment.startBlock} is judged by the baskets' beginnings alone, to the second: this node keeps no state of the block before it`,
        ]
      : [];
  return {
    unknown: [...(await otherBuilds(client, externals, trusted)), ...late],
    unplanned: unjudgedLines(own),
  };
}

/** The same, and that the plan was followed. */
export async function verifyDeployment(
  client: ReadClient,
  deployment: Deployment,
  planned: Planned,
  trusted: ReadonlySet<Hex> = new Set(),
): Promise<void> {
  await verifyStanding(client, deployment, trusted);
  await compare(PARTS, planChecks(reader(client), deployment, planned));
}
