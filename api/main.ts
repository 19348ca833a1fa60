/** The api process: `npm run api`. */
import { loadConfig, loadEnvFile } from '../runtime/config.ts';
import { runProcess, sayFault } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/logger.ts';
import { apiOptions } from './config.ts';
import { startApi } from './start.ts';

try {
  loadEnvFile();
  const config = loadConfig(apiOptions);
  const logger = createLogger('api', config.LOG_LEVEL);
  await runProcess(logger, () => startApi(config, logger));
} catch (error) {
  sayFault(error, createLogger('api', 'info'));
  process.exitCode = 1;
}
