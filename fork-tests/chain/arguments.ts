/** Anvil arguments that every chain of ours shares, local or fork. */
export const CHAIN_ARGUMENTS: readonly string[] = [
  // No well-known accounts: dev accounts are our own (seed/accounts.ts).
  '--accounts',
  '0',
  // Near the live chain's: gas in cents, so that a $0.25 executor fee pays. Anvil lets it fall from there.
  '--block-base-fee-per-gas',
  '10000000',
  // The live chain takes transactions without a tip.
  '--disable-min-priority-fee',
  // A state to load is larger than the 2 MB that a request may be by default.
  '--no-request-size-limit',
];

/** Of a chain that runs for days beside people and processes. */
export const RUNNING_ARGUMENTS: readonly string[] = [
  // A block a second keeps time moving when nobody sends, and a transaction gets its own block at once, as on the live
  // chain, where a block takes 0.1 s. Block time stays at the wall clock: several blocks may share a second.
  '--block-time',
  '1',
  '--mixed-mining',
  // Anvil keeps every past state otherwise: 2,000 blocks leave 300 MB on disk. Reads a few minutes back still work.
  '--prune-history',
  '256',
  // Receipts and traces of about a day, instead of all of them in memory for ever.
  '--transaction-block-keeper',
  '100000',
];
