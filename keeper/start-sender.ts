/** The sender of one term. */
import { CHAIN_ID } from '../contracts-abi/constants.ts';
import { steadyNow } from '../runtime/clock.ts';
import { senderSettings } from '../runtime/sender/options.ts';
import { createJournalReader } from '../runtime/sender/reader.ts';
import { createSender } from '../runtime/sender/sender.ts';
import type { Sender } from '../runtime/sender/types.ts';
import type { Fence } from '../runtime/store/lead.ts';
import type { Standing } from './term.ts';

/**
 * The sender, its journal repaired. In a dry run what only reads the journal: a sender that starts sends again what it
 * finds there. @throws what the sender's start throws
 */
export async function startSender(
  standing: Standing,
  fence: Fence,
  onFatal: (error: unknown) => void,
): Promise<Sender> {
  const { config, deployment, store, accounts, dry } = standing;
  if (dry !== null) {
    const addresses = accounts.map(({ address }) => address);
    return createJournalReader(store.db, addresses, steadyNow);
  }
  const sender = createSender({
    rpc: {
      urls: config.RPC_URLS,
      timeoutMs: config.RPC_TIMEOUT_MS,
      contract: deployment.exitEscrow,
    },
    chainId: CHAIN_ID,
    wallets: accounts,
    store,
    fence,
    settings: senderSettings(config),
    logger: standing.logger,
    registry: standing.metrics.registry,
    metricsPrefix: 'basket_keeper',
    onFatal,
    ...(standing.onDurablePoint === null ? {} : { onDurablePoint: standing.onDurablePoint }),
  });
  try {
    await sender.start();
  } catch (error) {
    await sender.stop(0);
    throw error;
  }
  return sender;
}
