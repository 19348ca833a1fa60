/**
 * What bounds the work of foreign contracts by what it did on chain (policy/breaker.ts), whatever a simulation shows:
 * one transaction of a contract at a time, and none for a day once too many were lost. Read from the journal, so that
 * a restart forgets nothing of it.
 */
import type { Address } from 'viem';
import { inTurnByKey } from '../runtime/in-turn.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Journal } from './journal/journal.ts';
import type { KeeperMetrics } from './metrics.ts';
import { usdgText } from './outcome.ts';
import { type BreakerRules, judgeBreaker } from './policy/breaker.ts';
import type { Foreign } from './work.ts';

export type ForeignStanding =
  /** `leftUsdg`: the most that a transaction may cost, USDG base units. */
  | { tag: 'go'; leftUsdg: bigint }
  /** Another transaction of the contract is under way. */
  | { tag: 'busy' }
  | { tag: 'stopped'; why: string; untilMs: number };

export type ForeignGuard = {
  /** Whether a transaction of this work may be sent now. */
  stand(work: Foreign): Promise<ForeignStanding>;
  /** Runs what is given for one contract one at a time: to look and to send is one step. */
  inTurn<T>(contract: Address, work: () => Promise<T>): Promise<T>;
  /** Notes which source listed what is sent, so that it can be told of it. */
  sent(work: Foreign): void;
  /** Told that a mined transaction moved less than its simulation showed: its source, where known, loses trust. */
  unpaid(jobKey: string): void;
  /** How many contracts are stopped now. */
  stopped(): number;
};

export function createForeignGuard(options: {
  journal: Pick<Journal, 'foreignRuns'>;
  rules: BreakerRules;
  distrust: (source: number, what: string) => void;
  metrics: Pick<KeeperMetrics, 'foreignStopped'>;
  logger: Pick<Logger, 'error'>;
  now: () => number;
}): ForeignGuard {
  const { journal, rules, distrust, metrics, logger, now } = options;
  // Both bounded by the operator's list: the firewall admits no other contract.
  const stops = new Map<Address, { why: string; untilMs: number }>();
  const last = new Map<string, { jobKey: string; source: number }>();
  const turn = inTurnByKey();

  const stopped = (): number => [...stops.values()].filter(({ untilMs }) => now() < untilMs).length;

  async function stand({ key, contract }: Foreign): Promise<ForeignStanding> {
    const held = stops.get(contract);
    // What came on chain since could only make it longer; then the next look tells.
    if (held !== undefined && now() < held.untilMs) return { tag: 'stopped', ...held };
    stops.delete(contract);
    const { runs, underWay } = await journal.foreignRuns(contract, now() - rules.windowMs);
    const verdict = judgeBreaker(runs, now(), rules);
    if (verdict.tag === 'runs') {
      metrics.foreignStopped.set(stopped());
      // Of the job itself, its own attempts tell.
      return underWay.some((other) => other !== key)
        ? { tag: 'busy' }
        : { tag: 'go', leftUsdg: verdict.leftUsdg };
    }
    const { losses, netUsdg, untilMs } = verdict;
    const hours = rules.windowMs / 3_600_000;
    const why =
      `all work of ${contract} is stopped until ${new Date(untilMs).toISOString()}: ` +
      `${losses} of its transactions lost within ${hours} hours, fees less gas ${usdgText(netUsdg)} ` +
      `(KEEPER_FOREIGN_LOSSES ${rules.mostLosses}, KEEPER_FOREIGN_LOSS_USDG ${usdgText(rules.mostLossUsdg)})`;
    stops.set(contract, { why, untilMs });
    metrics.foreignStopped.set(stopped());
    logger.error(
      { contract, losses, netUsdg: usdgText(netUsdg), untilMs },
      'a contract is stopped',
    );
    return { tag: 'stopped', why, untilMs };
  }

  return {
    stand,
    stopped,
    inTurn: turn,
    sent({ key, contract, source }) {
      last.set(contract.toLowerCase(), { jobKey: key, source });
    },
    unpaid(jobKey) {
      const sent = last.get(jobKey.slice(0, jobKey.indexOf(':')));
      // Of what another process sent, nobody here knows who listed it: the journal stops the contract all the same.
      if (sent?.jobKey === jobKey) distrust(sent.source, `unpaid:${jobKey}`);
    },
  };
}
