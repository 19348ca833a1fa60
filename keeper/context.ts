/** What the steps of a tick share. Built once in keeper.ts; nothing here decides anything. */
import type { Address } from 'viem';
import type { Logger } from '../runtime/logger.ts';
import type { Sender } from '../runtime/sender/types.ts';
import type { OrderReader } from './chain/order.ts';
import type { Rehearse } from './chain/rehearse.ts';
import type { Simulator } from './chain/simulate.ts';
import type { DutyBudget } from './duty-budget.ts';
import type { ForeignGuard } from './foreign-guard.ts';
import type { Journal } from './journal/journal.ts';
import type { Memories } from './memory.ts';
import type { KeeperMetrics } from './metrics.ts';
import type { BatchGas } from './policy/batch-gas.ts';
import type { BreakerRules } from './policy/breaker.ts';
import type { FillRules } from './policy/fill.ts';
import type { PatienceRules } from './policy/patience.ts';

export type KeeperContext = {
  logger: Logger;
  metrics: KeeperMetrics;
  journal: Journal;
  memories: Memories;
  sender: Sender;
  simulator: Simulator;
  /** Of foreign work alone: what is ours looks at no price. */
  rehearse: Rehearse;
  orders: OrderReader;
  rules: FillRules;
  patience: PatienceRules;
  /** Ours: receives every executor fee, and is the wallet that simulations run as. */
  executor: Address;
  arming: boolean;
  /** What a week of work that others depend on may lose. */
  dutyBudget: DutyBudget;
  /** Runs one at a time, in order. */
  dutyTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** What work of one foreign contract may lose. */
  breaker: BreakerRules;
  foreign: ForeignGuard;
  usdg: Address;
  multicall3: Address;
  /** Most fills in one transaction; 1: each by itself. */
  batchMax: number;
  /** What such transactions use. */
  batchGas: BatchGas;
  /** Told when work of a source paid less than the source had promised. */
  distrust: (source: number, what: string) => void;
  /** Decides and journals, but sends nothing. */
  dryRun: boolean;
  /** Told, in a dry run, what each transaction that is not sent would have left after its gas. */
  wouldEarn?: (profitUsdg: bigint) => void;
  /** How long a job waits for its transaction to be broadcast before the tick goes on without it. */
  submitTimeoutMs: number;
  now: () => number;
};

/** Every word that a timeline and the decision metric may hold. */
export type DecisionTag =
  | 'refused'
  | 'not_due'
  | 'closed'
  | 'paused'
  | 'expired'
  | 'failed'
  | 'quarantined'
  | 'unavailable'
  | 'short_fee'
  | 'unpaid'
  | 'contract_stopped'
  | 'does_not_pay'
  | 'unknown_price'
  | 'auction_running'
  | 'arming_pointless'
  | 'arming_does_not_pay'
  | 'arming_off'
  | 'over_budget'
  | 'would_send'
  | 'sent'
  | 'not_sent'
  | 'executed'
  | 'armed'
  | 'reverted'
  | 'replaced_by_cancel';
