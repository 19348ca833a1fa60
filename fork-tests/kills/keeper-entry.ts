/** The keeper as `npm run keeper` starts it, but for the hook that ends it at a durable point. */

import { loadKeeperConfig } from '../../keeper/config.ts';
import { createKeeper } from '../../keeper/keeper.ts';
import { runProcess } from '../../runtime/lifecycle.ts';
import { createLogger } from '../../runtime/logger.ts';
import { crashHook } from './crash.ts';

const config = loadKeeperConfig();
const logger = createLogger('keeper', config.LOG_LEVEL);
await runProcess(logger, async () => {
  const keeper = await createKeeper(config, logger, {
    dryRun: false,
    serve: true,
    onDurablePoint: crashHook(process.env),
  });
  keeper.run();
  return { stop: () => keeper.stop() };
});
