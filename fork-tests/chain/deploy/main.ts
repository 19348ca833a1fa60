/**
 * `npm run deploy`: deploys the protocol to the chain of RPC_URLS with the key of WALLET_KEYSTORE or
 * WALLET_PRIVATE_KEYS, and writes DEPLOYMENT_FILE. Broken off at any point, the same command goes on where it was.
 *
 *   npm run deploy -- --dry-run    prints the steps, their gas and the ETH needed; sends nothing
 *   npm run deploy -- --verify     checks an existing DEPLOYMENT_FILE against the chain; needs no key
 *   npm run deploy -- --restate    goes on with prices of now, where they moved away from the plan's
 *   npm run deploy -- --same-chain  on your word goes on with a run of which this chain shows no step
 *   npm run deploy -- --cover      extends the cover market: weeks, and baskets whose pools remember enough by now
 */
import { loadEnvFile } from '../../../runtime/config.ts';
import { runCli } from './cli.ts';

loadEnvFile();
process.exitCode = await runCli(
  process.argv.slice(2),
  process.env,
  (line) => process.stdout.write(`${line}\n`),
  (line) => process.stderr.write(`${line}\n`),
);
