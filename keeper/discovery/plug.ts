/** When the chain itself is a source: always, or only while no other tells its jobs and its payouts. */
import type { SourceAnswer } from '../source/job-source.ts';
import type { Discovery } from './discovery.ts';

export const DISCOVERY_MODES = ['off', 'fallback', 'always'] as const;
export type DiscoveryMode = (typeof DISCOVERY_MODES)[number];

/** The sources with discovery behind or beside them. `mode` off: the sources alone. */
export function withDiscovery(
  poll: (signal: AbortSignal) => Promise<SourceAnswer[]>,
  discovery: Pick<Discovery, 'list' | 'standBy'>,
  mode: DiscoveryMode,
): (signal: AbortSignal) => Promise<SourceAnswer[]> {
  if (mode === 'off') return poll;
  if (mode === 'always') {
    return async (signal) => {
      const [answers, own] = await Promise.all([poll(signal), discovery.list(signal)]);
      return [...answers, own];
    };
  }
  return async (signal) => {
    const answers = await poll(signal);
    if (answers.every((answer) => answer.tag === 'failed' || answer.payoutFault !== null)) {
      return [...answers, await discovery.list(signal)];
    }
    await discovery.standBy(signal);
    return answers;
  };
}
