/**
 * `npm run deploy`: deploys the protocol to the chain of RPC_URLS with the key of WALLET_KEYSTORE or
 * WALLET_PRIVATE_KEYS, and writes DEPLOYMENT_FILE. Broken off at any point, the same command goes on where it was.
 *
 *   npm run deploy -- --dry-run    prints the steps, their gas and the ETH needed; sends nothing
 *   npm run deploy -- --verify     checks an existing DEPLOYMENT_FILE against the chain; needs no key
 *   npm run deploy -- --restate    goes on with prices of now, where they moved away from the plan's
 */
import { parseArgs } from 'node:util';
import { createPublicClient, fallback, http } from 'viem';
import { LIVE } from '../../../contracts-abi/live-addresses.ts';
import { defineBasketChain } from '../../../runtime/chain/client.ts';
import { ConfigError, loadConfig, loadEnvFile } from '../../../runtime/config.ts';
import type { ReadClient } from '../client.ts';
import { DifferenceError } from './checks.ts';
import { deploy, dryRun, verify } from './command.ts';
import { DeployError } from './errors.ts';
import { isNoAnswer } from './journaled-submitter.ts';
import { deployOptions } from './options.ts';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      verify: { type: 'boolean', default: false },
      restate: { type: 'boolean', default: false },
    },
  });
  loadEnvFile();
  const config = loadConfig(deployOptions);
  const client = connectTo(config.RPC_URLS, config.RPC_TIMEOUT_MS);
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  if (values.verify) await verify(client, config, say);
  else if (values['dry-run']) await dryRun(client, config, say);
  else await deploy(client, config, values.restate, say);
}

/** Retries for some seconds: public endpoints answer 429 now and then, and a break costs the operator more. */
function connectTo(urls: readonly string[], timeout: number): ReadClient {
  const transports = urls.map((url) => http(url, { timeout, retryCount: 4, retryDelay: 150 }));
  return createPublicClient({
    chain: defineBasketChain(urls, LIVE.multicall3),
    transport: fallback(transports, { retryCount: 0 }),
    cacheTime: 0,
  }) as ReadClient;
}

/** Null for a fault of ours, which keeps its stack. */
function wordsFor(error: unknown): string | null {
  if (
    error instanceof DeployError ||
    error instanceof DifferenceError ||
    error instanceof ConfigError
  ) {
    return error.message;
  }
  if (isNoAnswer(error)) {
    return 'the RPC endpoint does not answer. What was sent is in the journal: run the same command again to go on';
  }
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS')) {
    return `${(error as Error).message}. The flags are --dry-run, --verify and --restate; everything else is a setting (.env.example)`;
  }
  return null;
}

try {
  await main();
} catch (error) {
  const words = wordsFor(error);
  if (words === null) throw error;
  process.stderr.write(`deploy: ${words}\n`);
  process.exitCode = 1;
}
