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
