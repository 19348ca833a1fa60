/** What the parts of one sender share. */
import type { Logger } from 'pino';
import type { Fence } from '../store/lead.ts';
import type { Head } from './head.ts';
import type { Journal } from './journal.ts';
import type { SenderMetrics } from './metrics.ts';
import type { SenderSettings } from './options.ts';
import type { Rpc } from './rpc.ts';
import type { Wallets } from './wallets.ts';

/**
 * Moments at which the state on disk has just changed, or is about to. Tests end the process there; everything
 * must be repairable from each.
 */
export const DURABLE_POINTS = [
  'inserted',
  'signed',
  'persisted',
  'sent',
  'broadcast_stored',
  'receipt_seen',
  'receipt_stored',
  'confirmation_seen',
  'confirmation_stored',
  'replacement_persisted',
  'replacement_sent',
  'cancel_persisted',
  'cancel_sent',
] as const;

export type DurablePoint = (typeof DURABLE_POINTS)[number];

export type SenderContext = {
  readonly rpc: Rpc;
  readonly journal: Journal;
  /** Whether a commit whose answer was lost may come after the next look. */
  readonly commitsLate: boolean;
  /** Asked before every broadcast: a process that no longer leads sends nothing more, not even what it has stored. */
  readonly fence: Fence;
  readonly wallets: Wallets;
  readonly head: Head;
  readonly settings: SenderSettings;
  readonly chainId: number;
  readonly logger: Logger;
  readonly metrics: SenderMetrics;
  readonly clock: () => number;
  readonly onDurablePoint: (point: DurablePoint) => void;
  /** Something changed that the loop should look at now rather than at its next turn. */
  readonly nudge: () => void;
};
