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

/** Of a chain that runs for days beside people and processes. Blocks are mined as heartbeat.ts says. */
export const RUNNING_ARGUMENTS: readonly string[] = [
  // Anvil keeps past states for reads at past blocks, 2 MB each here: about a minute's worth is enough.
  '--prune-history',
  '64',
  // Transactions, receipts and logs of some five hours (200 MB of market trades), instead of all of them in memory for
  // ever: an indexer follows from the start, one that starts later than that sees less.
  '--transaction-block-keeper',
  '30000',
];
