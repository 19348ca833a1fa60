/** The api process: `npm run api`. */
import { ConfigError, loadConfig, loadEnvFile } from '../runtime/config.ts';
import { runProcess } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/logger.ts';
import { apiOptions } from './config.ts';
import { startApi } from './start.ts';

try {
  loadEnvFile();
  const config = loadConfig(apiOptions);
  const logger = createLogger('api', config.LOG_LEVEL);
  await runProcess(logger, () => startApi(config, logger));
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
