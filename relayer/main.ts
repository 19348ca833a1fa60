/**
 * `npm run relayer [-- run | why <digest> | statement | quarantine list | quarantine release <key> | doctor | sweep]`
 *   run        relays until stopped (default), configured by the environment (see .env.example)
 *   why        prints every check and state of an action with its time
 *   statement  prints fees and gas: [--since 2026-11-01 | 7d] [--by day | key | account] [--csv]
 *   quarantine lists the keys that are kept out, or lets one in again
 *   doctor     checks everything that a relayer needs and says what to fix
 *   sweep      sends fees above the float to the cold address now
 */
import { loadConfig, loadEnvFile } from '../runtime/config.ts';
import { runProcess, sayFault } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/logger.ts';
import { parseArguments } from './cli/arguments.ts';
import { runDoctor } from './cli/doctor.ts';
import { runQuarantine } from './cli/quarantine.ts';
import { runStatement } from './cli/statement.ts';
import { runSweep } from './cli/sweep.ts';
import { runWhy } from './cli/why.ts';
import { relayerOptions } from './config.ts';
import { startRelayer } from './start.ts';

const write = (text: string): void => void process.stdout.write(text);
const say = (line: string): void => write(`${line}\n`);

/** Returns the exit code of a command; of a relayer that runs, nothing: it ends the process itself. */
async function main(): Promise<number | null> {
  const command = parseArguments(process.argv.slice(2));
  if (command.tag === 'usage') {
    process.stderr.write(`${command.text}\n`);
    return 2;
  }
  loadEnvFile();
  switch (command.tag) {
    case 'why':
      return await runWhy(command.digest, process.env, say);
    case 'statement':
      return await runStatement(command, process.env, write);
    case 'quarantine':
      return await runQuarantine(command.release, process.env, say);
    case 'doctor':
      return await runDoctor(process.env, say);
    case 'sweep': {
      const logger = createLogger('relayer', 'warn');
      return await runSweep(process.env, logger, say);
    }
    case 'run': {
      const config = loadConfig(relayerOptions);
      const logger = createLogger('relayer', config.LOG_LEVEL);
      await runProcess(logger, () => startRelayer(config, logger));
      return null;
    }
  }
  return command satisfies never;
}

try {
  const code = await main();
  if (code !== null) process.exitCode = code;
} catch (error) {
  sayFault(error, createLogger('relayer', 'info'));
  process.exitCode = 1;
}
