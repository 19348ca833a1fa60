/**
 * What a dry run has in place of what sends: it takes no lock and no lead, so it may run beside the keeper whose store
 * it reads.
 */
import type { Replica, ReplicaStatus } from '../runtime/replica.ts';
import type { Journal } from './journal/journal.ts';
import type { Term } from './term.ts';

export type DryRun = {
  /** Writes nothing. */
  journal: Journal;
  /** Told what each transaction that is not sent would have left after its gas, USDG base units. */
  wouldEarn: (profitUsdg: bigint) => void;
};

/** A dry run sends nothing and needs no lead. */
export type KeeperStatus = ReplicaStatus | { tag: 'dry_run' };

export type KeeperReplica = Omit<Replica<Term>, 'status'> & { status(): KeeperStatus };

/** One term from the first `contend` to the end. */
export function createDryReplica(options: {
  begin: () => Promise<Term>;
  onBegin: (term: Term) => void;
}): KeeperReplica {
  let term: Term | null = null;
  return {
    term: () => term,
    status: () => ({ tag: 'dry_run' }),
    contend: async () => {
      if (term !== null) return;
      term = await options.begin();
      options.onBegin(term);
    },
    run: () => undefined,
    nudge: () => undefined,
    stop: async () => {
      const ended = term;
      term = null;
      await ended?.end(0);
    },
  };
}
