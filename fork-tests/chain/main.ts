/**
 * The local chain as a process: Anvil on LOCAL_CHAIN_PORT with the seeded state (or a fork of FORK_RPC_URL with the
 * protocol on top), its market trading. Writes the deployment file, prints one JSON line when ready, and leaves
 * neither process nor file behind when it stops.
 */
import { existsSync } from 'node:fs';
import { ConfigError, loadConfig, loadEnvFile } from '../../runtime/config.ts';
import { runProcess } from '../../runtime/lifecycle.ts';
import { createLogger } from '../../runtime/logger.ts';
import { removeChainFiles, writeChainFiles } from './files.ts';
import { chainProcessOptions } from './options.ts';
import { devAccounts } from './seed/accounts.ts';
import { startLocalChain } from './start.ts';

function main(): Promise<void> {
  loadEnvFile();
  const config = loadConfig(chainProcessOptions);
  const logger = createLogger('chain', config.LOG_LEVEL);
  // This process overwrites the deployment file and removes it at its end.
  if (existsSync(`${config.DEPLOYMENT_FILE}.journal`)) {
    throw new ConfigError(
      `DEPLOYMENT_FILE: ${config.DEPLOYMENT_FILE} is of a deployment whose journal stands beside it; the local chain needs another name, for example DEPLOYMENT_FILE=.data/local.json`,
    );
  }
  return runProcess(logger, async () => {
    const chain = await startLocalChain({
      port: config.LOCAL_CHAIN_PORT,
      ...(config.FORK_RPC_URL === undefined ? {} : { forkUrl: config.FORK_RPC_URL }),
      progress: (step) => logger.info(step),
      onFault: (reason) => logger.warn({ reason }, 'no block could be mined, trying again'),
      onMarketStep: (outcome) => {
        if (outcome.tag === 'moved') logger.debug({ pools: outcome.pools }, 'market moved');
        else logger.warn({ reason: outcome.reason }, 'market could not move, trying again');
      },
      onCoverRolls: (outcome) => {
        const { tag, ...what } = outcome;
        if (tag === 'rolled') logger.info(what, 'offers of cover went on to the week that trades');
        else logger.warn(what, 'a listing of cover could not be moved on, trying again');
      },
    });
    writeChainFiles(config.DEPLOYMENT_FILE, chain.manifest);
    const ready = {
      ready: true,
      rpcUrl: chain.url,
      deploymentFile: config.DEPLOYMENT_FILE,
      accounts: Object.values(devAccounts()).map(({ role, privateKey, account }) => ({
        name: role,
        address: account.address,
        privateKey,
      })),
    };
    process.stdout.write(`${JSON.stringify(ready)}\n`);
    // Without its Anvil this process is of no use: it ends, so that whoever started it notices.
    let stopping = false;
    const watch = async (): Promise<void> => {
      await chain.anvil.exited;
      if (!stopping) throw new Error('anvil ended by itself');
    };
    void watch();
    return {
      stop: async () => {
        stopping = true;
        await chain.stop();
        removeChainFiles(config.DEPLOYMENT_FILE);
      },
    };
  });
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
