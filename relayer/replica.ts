/**
 * One relayer among several on one PostgreSQL database: every one of them checks, quotes, claims slots and answers; the
 * one that leads sends for all of them. On SQLite there is one, and it leads.
 */
import type { Kysely } from 'kysely';
import type { Address } from 'viem';
import type { LocalAccount } from 'viem/accounts';
import { CHAIN_ID } from '../contracts-abi/constants.ts';
import { steadyNow } from '../runtime/clock.ts';
import { endProcess } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { createReplica, type LeadTerm, type ReplicaStatus } from '../runtime/replica.ts';
import { senderSettings } from '../runtime/sender/options.ts';
import { createSender, type SenderDeps } from '../runtime/sender/sender.ts';
import { createSharedSender } from '../runtime/sender/shared.ts';
import type { SenderTables } from '../runtime/sender/tables.ts';
import type { Sender } from '../runtime/sender/types.ts';
import { createLead, type Fence, Overtaken } from '../runtime/store/lead.ts';
import { alone, contend } from '../runtime/store/leadership.ts';
import type { Store } from '../runtime/store/store.ts';
import type { RelayerConfig } from './config.ts';
import { DEFAULT_DATABASE_URL, LEAD_NAME } from './store.ts';

/** How long an action waits at most before the leader sees what another relayer accepted. */
const ADOPT_MS = 50;

type Term = LeadTerm & { sender: Sender; alive(): boolean };

export type RelayerReplica = {
  /** Sends while this process leads, and hands over to the leader otherwise. */
  sender: Sender;
  leads(): boolean;
  /** Of whichever term lasts now: for what is written beside the sender's rows. */
  fence: Fence;
  status(): ReplicaStatus;
  /** Takes the lead where nobody has it. @throws what the start of a sender throws */
  contend(): Promise<void>;
  /** Keeps the lead or stands by for it, until stopped. */
  run(): void;
  /** Lets what is in flight settle for at most `drainMs`, and gives the lead to whoever stands by. */
  stop(drainMs: number): Promise<void>;
};

export function createRelayerReplica<DB extends SenderTables>(options: {
  config: RelayerConfig;
  /** A contract of the deployment: an endpoint where it has no code is not sent through. */
  contract: Address;
  store: Store<DB>;
  wallets: readonly LocalAccount[];
  /** Sends what names it in `from` and nothing else. */
  treasury: LocalAccount | null;
  metrics: Metrics;
  logger: Logger;
  /** Told when a term has begun: what an earlier leader left is this one's to go on with. */
  onLead: () => void;
  hooks: Pick<SenderDeps<SenderTables>, 'onDurablePoint' | 'onFatal'>;
}): RelayerReplica {
  const { config, store, wallets, metrics, logger, hooks } = options;
  const hasReplicas = store.dialect === 'postgres';
  const settings = senderSettings(config);
  const leader = metrics.gauge(
    'leader',
    '1 while this relayer leads and sends; 0 while another one on the same database sends for it.',
  );
  const leading = (): Sender | null => {
    const term = replica.term();
    return term !== null && term.alive() && term.fence.holds() ? term.sender : null;
  };
  const shared = createSharedSender({
    // The sender's tables are part of the process's own; kysely's types do not narrow by themselves.
    db: store.db as unknown as Kysely<SenderTables>,
    wallets: wallets.map(({ address }) => address),
    queueLimit: settings.queueLimit,
    now: steadyNow,
    leading,
  });

  const begin = async (fence: Fence, onFatal: (error: unknown) => void): Promise<Term> => {
    let alive = true;
    // Without replicas a sender that has stopped would leave a process that answers and never sends again.
    const tell = hasReplicas ? onFatal : (hooks.onFatal ?? endProcess);
    const sender = createSender<DB>({
      rpc: {
        urls: config.RPC_URLS,
        timeoutMs: config.RPC_TIMEOUT_MS,
        contract: options.contract,
      },
      chainId: CHAIN_ID,
      wallets,
      namedOnly: options.treasury === null ? [] : [options.treasury],
      store,
      fence,
      settings,
      logger,
      registry: metrics.registry,
      metricsPrefix: 'basket_relayer',
      ...hooks,
      ...(hasReplicas ? { adoptMs: ADOPT_MS } : {}),
      onFatal: (error) => {
        alive = false;
        tell(error);
      },
    });
    shared.follow(sender);
    try {
      await sender.start();
    } catch (error) {
      await sender.stop(0);
      throw error;
    }
    return {
      fence,
      sender,
      alive: () => alive,
      end: (drainMs) => sender.stop(alive && fence.holds() ? drainMs : 0),
    };
  };

  const leadership = hasReplicas
    ? contend(config.DATABASE_URL ?? DEFAULT_DATABASE_URL, LEAD_NAME, () => replica.nudge())
    : alone;
  const replica = createReplica<Term>({
    process: 'relayer',
    lead: createLead({ store, leadership, name: LEAD_NAME }),
    begin,
    onBegin: options.onLead,
    onStatus: ({ tag }) => leader.set(tag === 'leads' ? 1 : 0),
    logger: logger.child({ module: 'replica' }),
  });
  return {
    sender: shared,
    leads: () => leading() !== null,
    fence: {
      holds: () => leading() !== null,
      check: async (trx) => {
        const term = replica.term();
        if (term === null) throw new Overtaken();
        await term.fence.check(trx);
      },
    },
    status: () => replica.status(),
    contend: () => replica.contend(),
    run: () => {
      // A SQLite file has no replicas.
      if (hasReplicas) replica.run();
    },
    stop: async (drainMs) => {
      await shared.stop(0);
      await replica.stop(drainMs);
    },
  };
}
