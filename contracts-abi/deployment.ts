/**
 * The deployment file: where the protocol stands on a chain. Written by the deploy command, read by every process
 * (path in DEPLOYMENT_FILE). Addresses of tokens and baskets come from nowhere else.
 */
import { readFileSync } from 'node:fs';
import { type Address, getAddress, isAddress } from 'viem';
import { z } from 'zod';
import { CHAIN_ID } from './constants.ts';

const address = z
  .string()
  .refine(
    (text) => isAddress(text, { strict: false }),
    'expected an address: 0x and 40 hex characters',
  )
  .transform((text): Address => getAddress(text));

export const deploymentSchema = z.object({
  chainId: z.literal(CHAIN_ID),
  /** Block of the first protocol deployment: indexers start here. */
  startBlock: z.int().nonnegative(),
  usdg: address,
  weth: address,
  multicall3: address,
  uniswapV3Factory: address,
  swapRouter02: address,
  quoterV2: address,
  /** The WETH/USDG pool of the oracle. */
  wethUsdgPool: address,
  pause: address,
  registry: address,
  oracle: address,
  zapper: address,
  exitEscrow: address,
  limitEscrow: address,
  scheduleEscrow: address,
  coverMarket: address,
  accountFactory: address,
  sessionModule: address,
  coverModule: address,
  baskets: z
    .array(
      z.object({
        ticker: z.string().min(1),
        vault: address,
        /** Symbol to share of the opening NAV, as a fraction; the contracts hold units, not weights. */
        targetWeights: z.record(z.string(), z.number().min(0).max(1)).optional(),
      }),
    )
    .min(1),
});

export type Deployment = z.infer<typeof deploymentSchema>;

/** Every contract that the file names: its own under their names, each vault under its ticker. */
export function contractsOf(deployment: Deployment): { name: string; address: Address }[] {
  const { chainId: _, startBlock: __, baskets, ...contracts } = deployment;
  return [
    ...Object.entries(contracts).map(([name, address]) => ({ name, address })),
    ...baskets.map(({ ticker, vault }) => ({ name: ticker, address: vault })),
  ];
}

/** The file cannot be used; the message is one line for an operator and names the file. */
export class DeploymentError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'DeploymentError';
  }
}

/** Wrong fields that are named. */
const MOST_FAULTS = 3;

/** Reads and checks a deployment file. @throws DeploymentError naming the file and what is wrong with it */
export function readDeployment(path: string): Deployment {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw new DeploymentError(
      `deployment file ${path} ${missing ? 'is missing' : 'cannot be read as JSON'}`,
      { cause },
    );
  }
  const parsed = deploymentSchema.safeParse(json);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(
      ({ path: field, message }) => `${field.join('.') || 'the file'}: ${message}`,
    );
    const more = faults.length > MOST_FAULTS ? ` and ${faults.length - MOST_FAULTS} more` : '';
    throw new DeploymentError(
      `deployment file ${path} is not valid: ${faults.slice(0, MOST_FAULTS).join('; ')}${more}`,
    );
  }
  return parsed.data;
}
