/** What every form of the command begins with: the chain, the key, and the files that it leaves. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { LocalAccount } from 'viem';
import { CHAIN_ID } from '../../../contracts-abi/constants.ts';
import { type Deployment, readDeployment } from '../../../contracts-abi/deployment.ts';
import { loadWallets } from '../../../runtime/keys/wallets.ts';
import { lockFolder } from '../../start/lock.ts';
import type { ReadClient } from '../client.ts';
import { DeployError } from './errors.ts';
import type { DeployConfig } from './options.ts';

/** Takes a line for the operator. */
export type Say = (line: string) => unknown;

/** Throws the file system's own words when files cannot be written there. */
export function prepareFolder(config: DeployConfig): void {
  const folder = dirname(config.DEPLOYMENT_FILE);
  mkdirSync(folder, { recursive: true });
  accessSync(folder, constants.W_OK);
}

/**
 * Runs what sends, while no other run with these files can. Throws a DeployError when one is under way, and as
 * `prepareFolder`.
 */
export async function alone(config: DeployConfig, work: () => Promise<void>): Promise<void> {
  prepareFolder(config);
  const lock = lockFolder(journalPath(config));
  if (lock === null) throw new DeployError('another npm run deploy is under way with this journal');
  try {
    await work();
  } finally {
    lock.release();
  }
}

export function journalPath(config: DeployConfig): string {
  return `${config.DEPLOYMENT_FILE}.journal`;
}

/** Of a run that extends the cover market; there while it is under way or broken off. */
export function coverJournalPath(config: DeployConfig): string {
  return `${config.DEPLOYMENT_FILE}.cover-journal`;
}

export async function assertChain(client: ReadClient): Promise<void> {
  const id = await client.getChainId();
  if (id !== CHAIN_ID) {
    throw new DeployError(
      `the RPC endpoint serves chain ${id}, and this protocol is for ${CHAIN_ID}`,
    );
  }
}

export function loadDeployer(config: DeployConfig): LocalAccount {
  const loaded = loadWallets(config);
  if (loaded.tag === 'invalid') throw new DeployError(loaded.problem);
  const [wallet, second] = loaded.wallets;
  if (wallet === undefined || second !== undefined) {
    throw new DeployError(`one key deploys, and ${loaded.wallets.length} were given`);
  }
  return wallet.account;
}

/** Throws a DeployError when the file is not there or not valid. */
export function deploymentIn({ DEPLOYMENT_FILE: path }: DeployConfig): Deployment {
  try {
    return readDeployment(path);
  } catch (error) {
    throw new DeployError(error instanceof Error ? error.message : String(error), error);
  }
}
