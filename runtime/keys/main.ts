/** `npm run key -- new | import | rotate | list`: the encrypted keys that keeper and relayer send with. */
import { ConfigError, loadEnvFile } from '../config.ts';
import { parseKeyArguments, USAGE } from './cli/arguments.ts';
import { KeyCommandError } from './cli/options.ts';
import { runKeyCommand } from './cli/run.ts';
import { terminalOf } from './cli/terminal.ts';

const warn = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

try {
  const command = parseKeyArguments(process.argv.slice(2));
  if (command === null) {
    warn(USAGE);
    process.exitCode = 2;
  } else {
    loadEnvFile();
    process.exitCode = await runKeyCommand(command, {
      env: process.env,
      terminal: terminalOf(process.stdin, (text) => process.stderr.write(text)),
      say: (line) => process.stdout.write(`${line}\n`),
      warn,
    });
  }
} catch (error) {
  process.exitCode = 1;
  // An error that nobody foresaw may carry a value in its message: its kind is told, and no more.
  const isOperators = error instanceof KeyCommandError || error instanceof ConfigError;
  const kind = (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.name : '');
  warn(isOperators ? error.message : `the command failed unexpectedly (${kind})`);
}
