/** The package's `./relayer-client`: what the host of a session key needs to trade through a relayer. Node and browsers. */
export { type ChainReader, type CoverListing, createChainReader } from './chain.ts';
export {
  createRelayerClient,
  type Intent,
  type RelayerClient,
  type RelayerClientOptions,
  type Timing,
} from './client.ts';
export { createMemoryJournal, type Journal, JournalError, type JournalRecord } from './journal.ts';
export type { Executed, NeverExecuted, Next, Outcome, Refused, Unknown } from './outcome.ts';
export { type Pins, pinsOf } from './pins.ts';
export { createPlanner, PlanError, type PlannerOptions } from './planner.ts';
export type { KindName, Signer } from './signable.ts';
export { type Receipt, verifyReceipt } from '../receipt.ts';
export { SignerError } from './signature.ts';
export type { CoverTerms, Policy, Terms, TradeTerms } from './terms.ts';
