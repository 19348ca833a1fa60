/** The command line of `npm run deploy` (main.ts), apart from the process: settings in, lines and an exit code out. */
import { parseArgs } from 'node:util';
import { BaseError, createPublicClient, fallback, http } from 'viem';
import { LIVE } from '../../../contracts-abi/live-addresses.ts';
import { defineBasketChain } from '../../../runtime/chain/client.ts';
import { ConfigError, loadConfig } from '../../../runtime/config.ts';
import { type ReadClient, reasonOf } from '../client.ts';
import { DifferenceError } from './checks.ts';
import { deploy, dryRun, verify } from './command.ts';
import { DeployError } from './errors.ts';
import type { Say } from './operator.ts';
import { deployOptions } from './options.ts';
import { isNoAnswer } from './settle.ts';

const USAGE = `npm run deploy                 deploys, or goes on where it was broken off
npm run deploy -- --dry-run    prints the steps, their gas and the ETH needed; sends nothing
npm run deploy -- --verify     checks an existing DEPLOYMENT_FILE against the chain; needs no key
npm run deploy -- --restate    goes on with prices of now, where they moved away from the plan's
Settings come from the environment: .env.example lists them all.`;

/**
 * Runs the command. A failure that the operator can do something about becomes words for `complain`; a fault of ours is
 * thrown.
 * @returns the exit code.
 */
export async function runCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  say: Say,
  complain: Say,
): Promise<number> {
  try {
    await run(args, env, say);
    return 0;
  } catch (error) {
    const words = wordsFor(error);
    if (words === null) throw error;
    complain(`deploy: ${words}`);
    return 1;
  }
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'dry-run': { type: 'boolean', default: false },
      verify: { type: 'boolean', default: false },
      restate: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    say(USAGE);
    return;
  }
  const config = loadConfig(deployOptions, env);
  const client = connectTo(config.RPC_URLS, config.RPC_TIMEOUT_MS);
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
  // viem's whole message names the endpoint, and with it perhaps a provider's key.
  if (error instanceof BaseError) {
    return `the RPC endpoint answered with an error: ${reasonOf(error)}. What was sent is in the journal: run the same command again to go on`;
  }
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (typeof code === 'string' && typeof syscall === 'string') {
    return `${(error as Error).message}. What was sent is in the journal: run the same command again to go on`;
  }
  if (typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS')) {
    return `${(error as Error).message}. The flags are --dry-run, --verify and --restate; everything else is a setting (.env.example)`;
  }
  return null;
}
