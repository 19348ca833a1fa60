/** `npm run relayer`: one relayer process, configured by the environment (see .env.example). */
import { loadConfig, loadEnvFile } from '../runtime/config.ts';
import { runProcess, sayFault } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/logger.ts';
import { relayerOptions } from './config.ts';
import { startRelayer } from './start.ts';

try {
  loadEnvFile();
  const config = loadConfig(relayerOptions);
  const logger = createLogger('relayer', config.LOG_LEVEL);
  await runProcess(logger, () => startRelayer(config, logger));
} catch (error) {
  sayFault(error, createLogger('relayer', 'info'));
  process.exitCode = 1;
}
