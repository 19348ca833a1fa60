import { existsSync } from 'node:fs';
import { type Deployment, readDeployment } from '../../contracts-abi/deployment.ts';
import { type ChainClient, connect } from '../chain/client.ts';
import { ROLES, type Role } from '../chain/seed/accounts.ts';

export type DevWallet = {
  rpcUrl: string;
  deploymentFile: string;
  client: ChainClient;
  deployment: Deployment;
};

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}

/** Connects to the local chain of `npm start` (RPC_URLS and DEPLOYMENT_FILE override). */
export async function openWallet(): Promise<DevWallet> {
  const port = process.env.LOCAL_CHAIN_PORT ?? '8545';
  const rpcUrl = process.env.RPC_URLS ?? `http://127.0.0.1:${port}`;
  const deploymentFile = process.env.DEPLOYMENT_FILE ?? `.data/start-${port}/deployment.json`;
  if (!existsSync(deploymentFile)) throw new Error(`no ${deploymentFile}: is npm start running?`);
  const deployment = readDeployment(deploymentFile);
  const client = connect(rpcUrl);
  let version: string;
  try {
    version = await client.request<{
      Method: 'web3_clientVersion';
      Parameters?: undefined;
      ReturnType: string;
    }>({
      method: 'web3_clientVersion',
    });
  } catch {
    throw new Error(`no chain answers at ${rpcUrl}: is npm start running?`);
  }
  if (!version.startsWith('anvil'))
    throw new Error(`${rpcUrl} is not a local chain: dev keys are not used there`);
  return {
    rpcUrl,
    deploymentFile,
    client,
    deployment,
  };
}
