/**
 * `npm run keeper [-- run | once | dry-run | why <job id> | statement | doctor]`
 *   run       polls and executes until stopped (default)
 *   once      one tick, waits for what it sent, prints what was decided
 *   dry-run   the same, but for the sending: what it would have earned (`run --dry-run` goes on so)
 *   why       prints the timeline of a job from the journal
 *   statement prints what was earned and spent: [--since 2026-11-01 | 7d] [--by day | type | wallet] [--csv]
 *   backtest  replays a recording (KEEPER_RECORD_FILE) on an Anvil fork under the environment's policy
 *   doctor    checks everything that a keeper needs and says what to fix
 */
import { loadEnvFile } from '../runtime/config.ts';
import { runProcess, sayFault } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/logger.ts';
import { parseArguments } from './cli/arguments.ts';
import { runDoctor } from './cli/doctor.ts';
import { runBacktestCommand } from './cli/backtest.ts';
import { runOnce } from './cli/once.ts';
import { runStatement } from './cli/statement.ts';
import { runWhy } from './cli/why.ts';
import { loadKeeperConfig } from './config.ts';
import { createKeeper } from './keeper.ts';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function main(): Promise<void> {
  const command = parseArguments(process.argv.slice(2));
  if (command.tag === 'usage') {
    process.stderr.write(`${command.text}\n`);
    process.exitCode = 2;
    return;
  }
  loadEnvFile();
  if (command.tag === 'why') {
    process.exitCode = await runWhy(command.id, process.env, say);
    return;
  }
  if (command.tag === 'statement') {
    const write = (text: string): void => void process.stdout.write(text);
    process.exitCode = await runStatement(command, process.env, write);
    return;
  }
  if (command.tag === 'doctor') {
    process.exitCode = await runDoctor(process.env, say);
    return;
  }
  const config = loadKeeperConfig();
  if (command.tag === 'backtest') {
    // What the replay decides is printed at its end; its lines would read as if something were sent.
    const silent = createLogger('keeper', 'error');
    process.exitCode = await runBacktestCommand(command, config, silent, say);
    return;
  }
  const logger = createLogger('keeper', config.LOG_LEVEL);
  if (command.tag === 'once') {
    process.exitCode = await runOnce(config, logger, command.dryRun, say);
    return;
  }
  await runProcess(logger, async () => {
    const keeper = await createKeeper(config, logger, { dryRun: command.dryRun, serve: true });
    logger.info(
      { url: keeper.url, wallet: keeper.executor, dryRun: command.dryRun },
      'keeper is up',
    );
    keeper.run();
    return { stop: () => keeper.stop() };
  });
}

try {
  await main();
} catch (error) {
  sayFault(error, createLogger('keeper', 'info'));
  process.exitCode = 1;
}
