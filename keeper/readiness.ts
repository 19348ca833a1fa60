/** What `/ready` says of a keeper. Reads what the loop keeps anyway; asking costs no RPC. */
import type { ReadinessCheck, ReadinessResult } from '../runtime/readiness.ts';
import type { SenderStatus } from '../runtime/sender/types.ts';
import type { WorldView } from './chain/world.ts';
import type { TickStatus } from './tick.ts';

export type ReadinessLimits = {
  /** Longest time without a finished tick. */
  tickMs: number;
  /** Longest time without an answer of any job source. */
  sourceMs: number;
  /** Longest time without a new block. */
  headMs: number;
};

const OK: ReadinessResult = { ok: true };
const fails = (reason: string): ReadinessResult => ({ ok: false, reason });
const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

export function keeperChecks(options: {
  tick: () => TickStatus;
  world: WorldView;
  sender: () => SenderStatus;
  limits: ReadinessLimits;
  now?: () => number;
}): ReadinessCheck[] {
  const { tick, world, sender, limits, now = Date.now } = options;
  const startedMs = now();
  const age = (sinceMs: number | null): number => now() - (sinceMs ?? startedMs);
  return [
    {
      name: 'loop',
      check: () => {
        const { lastTickMs } = tick();
        if (lastTickMs === null) return fails('no tick has finished yet');
        const ms = age(lastTickMs);
        return ms <= limits.tickMs ? OK : fails(`no tick has finished for ${seconds(ms)}`);
      },
    },
    {
      name: 'jobs',
      check: () => {
        const { sourceOkMs, sourceFault } = tick();
        if (sourceOkMs !== null && age(sourceOkMs) <= limits.sourceMs) return OK;
        return fails(
          `no job source has answered for ${seconds(age(sourceOkMs))}: ${sourceFault ?? 'not asked yet'}`,
        );
      },
    },
    {
      name: 'chain',
      check: () => {
        const { advancedAtMs, fault } = world.status();
        if (fault !== null) return fails(`the chain does not answer: ${fault}`);
        if (advancedAtMs === null) return fails('no block has been read yet');
        const ms = age(advancedAtMs);
        return ms <= limits.headMs ? OK : fails(`the head has not advanced for ${seconds(ms)}`);
      },
    },
    {
      name: 'wallets',
      check: () => {
        const { wallets } = sender();
        if (wallets.some(({ usable }) => usable)) return OK;
        return fails(wallets.map(({ reason }) => reason ?? 'not usable').join('; ') || 'no wallet');
      },
    },
    {
      name: 'store',
      check: () => {
        const { storeFault } = tick();
        return storeFault === null ? OK : fails(`the journal cannot be written: ${storeFault}`);
      },
    },
  ];
}
