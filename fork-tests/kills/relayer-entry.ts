/** The relayer as `npm run relayer` starts it, but for the hook that ends it at a durable point. */

import { relayerOptions } from '../../relayer/config.ts';
import { startRelayer } from '../../relayer/start.ts';
import { loadConfig } from '../../runtime/config.ts';
import { runProcess } from '../../runtime/lifecycle.ts';
import { createLogger } from '../../runtime/logger.ts';
import { crashHook } from './crash.ts';

const config = loadConfig(relayerOptions);
const logger = createLogger('relayer', config.LOG_LEVEL);
await runProcess(logger, () =>
  startRelayer(config, logger, { onDurablePoint: crashHook(process.env) }),
);
