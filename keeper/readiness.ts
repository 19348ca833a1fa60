/** What `/ready` says of a keeper. Reads what the loop keeps anyway; asking costs no RPC. */
import type { ReadinessCheck, ReadinessResult } from '../runtime/readiness.ts';
import { leadReadiness } from '../runtime/replica.ts';
import type { SenderStatus } from '../runtime/sender/types.ts';
import type { WorldView } from './chain/world.ts';
import type { KeeperStatus } from './dry-run.ts';
import type { TickStatus } from './tick.ts';

export type ReadinessLimits = {
  /** Longest time without a finished tick. */
  tickMs: number;
  /** Longest time without an answer of any job source. */
  sourceMs: number;
  /** Longest time without a head that was read. */
  silentMs: number;
  /** Longest time without a new block. */
  headMs: number;
};

const OK: ReadinessResult = { ok: true };
const fails = (reason: string): ReadinessResult => ({ ok: false, reason });
const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

/** What is known of a keeper that leads; as of the moment of asking. */
type Leading = {
  /** When it began to lead, unix ms. */
  sinceMs: number;
  tick: TickStatus;
  world: ReturnType<WorldView['status']>;
  sender: SenderStatus;
  /** Which wallets run out of ETH, in words; null when none does. */
  low: string | null;
  /** Which work waits for the budget of duties, in words; null when none does. */
  duties: string | null;
};

/**
 * A keeper that stands by is ready: it does what it is there for, and takes over by itself. That it does nothing else
 * meanwhile is told by the note of `lead` (and the metric `basket_keeper_leader`), not by a status that would alarm
 * somebody or hold up a rollout for as long as the other one lives.
 */
export function keeperChecks(options: {
  replica: () => KeeperStatus;
  /** Null while it stands by: then there is nothing but the lead to judge. */
  leading: () => Leading | null;
  limits: ReadinessLimits;
  now?: () => number;
}): ReadinessCheck[] {
  const { replica, leading, limits, now = Date.now } = options;
  const check = (
    name: string,
    judge: (now: Leading, age: (sinceMs: number | null) => number) => ReadinessResult,
  ): ReadinessCheck => ({
    name,
    check: () => {
      const current = leading();
      if (current === null) return OK;
      return judge(current, (sinceMs) => now() - (sinceMs ?? current.sinceMs));
    },
  });
  return [
    { name: 'lead', check: () => judgeLead(replica()) },
    check('loop', ({ tick: { lastTickMs } }, age) => {
      if (lastTickMs === null) return fails('no tick has finished yet');
      const ms = age(lastTickMs);
      return ms <= limits.tickMs ? OK : fails(`no tick has finished for ${seconds(ms)}`);
    }),
    check('jobs', ({ tick: { sourceOkMs, sourceFault } }, age) => {
      if (sourceOkMs !== null && age(sourceOkMs) <= limits.sourceMs) return OK;
      return fails(
        `no job source has answered for ${seconds(age(sourceOkMs))}: ${sourceFault ?? 'not asked yet'}`,
      );
    }),
    check('chain', ({ world: { world, advancedAtMs, fault } }, age) => {
      if (fault !== null) return fails(`the chain does not answer: ${fault}`);
      if (world === null || advancedAtMs === null) return fails('no block has been read yet');
      // A call that hangs is no fault before its deadline, which may be far.
      const silentMs = age(world.readAtMs);
      if (silentMs > limits.silentMs) {
        return fails(`the chain does not answer: no head was read for ${seconds(silentMs)}`);
      }
      const ms = age(advancedAtMs);
      return ms <= limits.headMs ? OK : fails(`the head has not advanced for ${seconds(ms)}`);
    }),
    check('wallets', ({ sender: { wallets }, low }) => {
      if (wallets.some(({ usable }) => usable)) return low === null ? OK : { ok: true, note: low };
      return fails(wallets.map(({ reason }) => reason ?? 'not usable').join('; ') || 'no wallet');
    }),
    // Nothing is wrong with a keeper that keeps to its budget.
    check('duties', ({ duties }) => (duties === null ? OK : { ok: true, note: duties })),
    check('cover', ({ tick: { coverWaits } }) =>
      coverWaits === null ? OK : { ok: true, note: coverWaits },
    ),
    check('store', ({ tick: { storeFault } }) =>
      storeFault === null ? OK : fails(`the journal cannot be written: ${storeFault}`),
    ),
  ];
}

function judgeLead(status: KeeperStatus): ReadinessResult {
  if (status.tag === 'dry_run') return { ok: true, note: 'a dry run: nothing is sent' };
  return leadReadiness('keeper', status);
}
