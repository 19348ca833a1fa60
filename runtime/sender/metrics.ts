/** The sender's metrics. Wallet addresses are ours and few; kinds are the callers' and bounded here. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Address } from 'viem';
import type { Phase } from './entry.ts';
import type { SenderStatus } from './types.ts';

const MOST_KINDS = 20;

export type SenderMetrics = {
  settled(kind: string, phase: Phase): void;
  replaced(role: 'execute' | 'cancel'): void;
  /** "reorg", "foreign_transaction", "hole_filled", "rebroadcast", "rpc_failure". */
  event(
    name:
      | 'reorg'
      | 'foreign_transaction'
      | 'hole_filled'
      | 'rebroadcast'
      | 'rpc_failure'
      | 'not_delivered',
  ): void;
  broadcastSeconds(seconds: number): void;
  inclusionSeconds(seconds: number): void;
};

/**
 * @param prefix `basket_<process>`; every name is `<prefix>_sender_…`.
 * @param status read when the metrics are scraped.
 *
 * A process that leads anew has a new sender: its metrics take the place of the old one's and count from zero, as after
 * a restart.
 */
export function createSenderMetrics(
  registry: Registry,
  prefix: string,
  status: () => SenderStatus,
): SenderMetrics {
  const registers = [registry];
  const name = (rest: string) => `${prefix}_sender_${rest}`;
  for (const { name: known } of registry.getMetricsAsArray()) {
    if (known.startsWith(name(''))) registry.removeSingleMetric(known);
  }
  const settled = new Counter({
    name: name('settled_total'),
    help: 'Intents by what they came to (a reorg can count one twice).',
    labelNames: ['kind', 'state'],
    registers,
  });
  const replacements = new Counter({
    name: name('replacements_total'),
    help: 'Transactions replaced under the same nonce, by role of the replacement.',
    labelNames: ['role'],
    registers,
  });
  const events = new Counter({
    name: name('events_total'),
    help: 'Rare things that the sender survived.',
    labelNames: ['event'],
    registers,
  });
  const broadcast = new Histogram({
    name: name('broadcast_seconds'),
    help: 'From the intent row to the node having the bytes.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const inclusion = new Histogram({
    name: name('inclusion_seconds'),
    help: 'From the intent row to the receipt.',
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  gauges(registry, name, status);
  const kinds = new Set<string>();
  const bounded = (kind: string): string => {
    if (kinds.has(kind)) return kind;
    if (kinds.size >= MOST_KINDS) return 'other';
    kinds.add(kind);
    return kind;
  };
  return {
    settled: (kind, phase) => settled.inc({ kind: bounded(kind), state: phase }),
    replaced: (role) => replacements.inc({ role }),
    event: (event) => events.inc({ event }),
    broadcastSeconds: (seconds) => broadcast.observe(seconds),
    inclusionSeconds: (seconds) => inclusion.observe(seconds),
  };
}

const everyWallet = ({ wallets, namedOnly = [] }: SenderStatus) => [...wallets, ...namedOnly];

function gauges(
  registry: Registry,
  name: (rest: string) => string,
  status: () => SenderStatus,
): void {
  const registers = [registry];
  const gauge = (
    rest: string,
    help: string,
    read: (set: (value: number, address?: Address) => void) => void,
    perWallet = false,
  ): Gauge<'wallet'> =>
    new Gauge<'wallet'>({
      name: name(rest),
      help,
      registers,
      labelNames: perWallet ? ['wallet'] : [],
      collect() {
        read((value, address) => {
          if (address === undefined) this.set(value);
          else this.set({ wallet: address }, value);
        });
      },
    });
  gauge('queued_intents', 'Intents that hold no nonce yet.', (set) => set(status().queued));
  gauge('in_flight_intents', 'Intents that hold a nonce and are not mined.', (set) =>
    set(status().inFlight),
  );
  gauge('oldest_unsettled_seconds', 'Age of the oldest intent without an outcome.', (set) =>
    set(status().oldestUnsettledMs / 1_000),
  );
  gauge(
    'wallet_balance_eth',
    'Balance by the last read.',
    (set) => {
      for (const { address, balanceWei } of everyWallet(status())) {
        if (balanceWei !== null) set(Number(balanceWei) / 1e18, address);
      }
    },
    true,
  );
  gauge(
    'wallet_usable',
    '1 when the wallet takes new work.',
    (set) => {
      for (const { address, usable } of everyWallet(status())) set(usable ? 1 : 0, address);
    },
    true,
  );
}
