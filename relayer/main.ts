/** `npm run relayer`: one relayer process, configured by the environment (see .env.example). */
import { ConfigError, loadConfig, loadEnvFile } from '../runtime/config.ts';
import { runProcess } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/logger.ts';
import { relayerOptions } from './config.ts';
import { startRelayer } from './start.ts';

try {
  loadEnvFile();
  const config = loadConfig(relayerOptions);
  const logger = createLogger('relayer', config.LOG_LEVEL);
  await runProcess(logger, () => startRelayer(config, logger));
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
