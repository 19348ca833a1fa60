/** A keeper's context over a scratch Anvil: the real journal in memory, the real simulator, the time of the recording. */
import type { Address, PublicClient } from 'viem';
import type { Deployment } from '../../contracts-abi/deployment.ts';
import type { Logger } from '../../runtime/logger.ts';
import { usdgOf } from '../../runtime/config.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import type { Store } from '../../runtime/store/store.ts';
import { createOrderReader } from '../chain/order.ts';
import { createGasExtras } from '../chain/gas-extra.ts';
import { createRehearsal } from '../chain/rehearse.ts';
import { createSimulator } from '../chain/simulate.ts';
import type { KeeperConfig } from '../config.ts';
import type { KeeperContext } from '../context.ts';
import { createDutyBudget } from '../duty-budget.ts';
import { createForeignGuard } from '../foreign-guard.ts';
import { createJournal } from '../journal/journal.ts';
import type { StoreTables } from '../journal/migrations.ts';
import { createMemories } from '../memory.ts';
import { createKeeperMetrics } from '../metrics.ts';
import { createBatchGas } from '../policy/batch-gas.ts';
import { PATIENCE_RULES } from '../policy/patience.ts';
import { policyOf } from '../rules.ts';
import { createReplaySender } from './replay-sender.ts';

const MEMORY_CAPACITY = 100_000;

export function replayContext(given: {
  config: KeeperConfig;
  deployment: Deployment;
  executor: Address;
  client: PublicClient;
  store: Store<StoreTables>;
  logger: Logger;
  tipWei: bigint;
  now: () => number;
}): KeeperContext {
  const { config, deployment, executor, client, store, logger, tipWei, now } = given;
  const { usdg, multicall3 } = deployment;
  const timeoutMs = 60_000;
  const journal = createJournal(store.db, now);
  const metrics = createKeeperMetrics(createMetrics('keeper'));
  const policy = policyOf(config);
  const distrust = (): void => undefined;
  return {
    logger,
    metrics,
    journal,
    memories: createMemories({ journal, rules: PATIENCE_RULES, capacity: MEMORY_CAPACITY, now }),
    sender: createReplaySender({ client, executor, tipWei, now }),
    simulator: createSimulator({
      client,
      usdg,
      multicall3,
      timeoutMs,
      // Of a time that the replay jumps through: each call is estimated where it stands.
      extras: createGasExtras({ now, maxAgeMs: -1 }),
    }),
    rehearse: createRehearsal({ client, usdg, tipWei, timeoutMs }),
    orders: createOrderReader(client, timeoutMs),
    ...policy,
    patience: PATIENCE_RULES,
    executor,
    dutyBudget: createDutyBudget({
      budgetUsdg: usdgOf(config.KEEPER_DUTY_BUDGET_USDG),
      journal,
      metrics,
      logger,
      now,
    }),
    batchGas: createBatchGas(),
    dutyTurn: (work) => work(),
    foreign: createForeignGuard({
      journal,
      rules: policy.breaker,
      distrust,
      metrics,
      logger,
      now,
    }),
    usdg,
    multicall3,
    distrust,
    dryRun: false,
    submitTimeoutMs: timeoutMs,
    now,
  };
}
