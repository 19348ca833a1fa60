/** `once`: one tick, then wait for what it sent. */
import { steadyNow } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { KeeperConfig } from '../config.ts';
import { createKeeper } from '../keeper.ts';
import { usdgText } from '../outcome.ts';

const SETTLE_MS = 60_000;

/** Returns the exit code: 0 when a source answered and everything sent came to an end. */
export async function runOnce(
  config: KeeperConfig,
  logger: Logger,
  dryRun: boolean,
  say: (line: string) => void,
): Promise<number> {
  const would = { count: 0, usdg: 0n };
  const wouldEarn = (profitUsdg: bigint): void => {
    would.count += 1;
    would.usdg += profitUsdg;
  };
  const keeper = await createKeeper(config, logger, { dryRun, serve: false, wouldEarn });
  try {
    const startedMs = steadyNow();
    await keeper.tick();
    const settled = await keeper.settle(SETTLE_MS);
    const { sourceOkMs, sourceFault } = keeper.status();
    if (sourceOkMs === null) say(`no job source answered: ${sourceFault ?? 'unknown'}`);
    for (const line of await keeper.journal.since(startedMs)) {
      say(`${line.job_key}  ${line.decision}  ${line.detail}`);
    }
    if (dryRun) {
      say(`would have sent ${would.count} and earned ${usdgText(would.usdg)} after gas`);
    }
    if (!settled) say('some transactions have no outcome yet: the journal carries them');
    return sourceOkMs !== null && settled ? 0 : 1;
  } finally {
    await keeper.stop();
  }
}
