/**
 * Every protocol number that a program needs, named as in `solidity/src/Constants.sol`; a test compares the two.
 * Sources stand beside each line there (interface.md section 8, protocol.md, protocol-rules.md).
 */
export const CHAIN_ID = 4663 as const;

export const BPS = 10_000n;
/** USDG base units per dollar. */
export const USD = 1_000_000n;
/** Basket base units per share. */
export const SHARE = 10n ** 18n;
/** Scale of NAVs and prices on chain: dollars x 1e18. */
export const NAV_SCALE = 10n ** 18n;
export const RAY = 10n ** 27n;

export const MINT_FEE_BPS = 20n;
export const SELL_FEE_BPS = 20n;
export const MIN_MANAGEMENT_FEE_BPS = 50n;
export const MAX_MANAGEMENT_FEE_BPS = 95n;

export const EXECUTOR_FEE_BPS = 15n;
export const MIN_EXECUTOR_FEE = 250_000n;
export const MAX_EXECUTOR_FEE_BPS = 100n;

export const MIN_ORDER = 5_000_000n;
export const ORDER_TOLERANCE_BPS = 100n;
export const MAX_ORDER_TOLERANCE_BPS = 500n;
export const ARM_WIDENING = 1_800n;
export const ARM_VALIDITY = 3_600n;
export const MIN_ORDER_LIFETIME = 3_600n;
export const MAX_ORDER_LIFETIME = 7_776_000n;
export const ORDER_LIFETIME_SLACK = 86_400n;

export const MIN_SCHEDULE_INTERVAL = 600n;
export const MAX_SCHEDULE_DELAY = 7_776_000n;
export const MAX_SCHEDULE_LIFETIME = 31_536_000n;

export const REFERENCE_WINDOW = 600n;
export const REFERENCE_SUB_WINDOW = 200n;
export const MIN_CARDINALITY = 700n;
export const MAX_SUB_WINDOW_TICK_SPREAD = 600n;
export const MAX_SPOT_DEVIATION_BPS = 300n;

export const MIN_TRADE = 5_000_000n;
export const MAX_SESSION_SLIPPAGE_BPS = 1_000n;
export const MAX_NETWORK_FEE = 10_000_000n;
export const MAX_DAILY_NETWORK_FEES = 20_000_000n;
export const MIN_DAILY_NETWORK_FEES = 1_000_000n;
export const DAILY_NETWORK_FEES_BPS = 2_000n;
export const MAX_ACTION_LIFETIME = 900n;

export const COVER_FEE_BPS = 100n;
export const MIN_COVER_USD = 50n;
export const COVER_RANGE_STEP_BPS = 50n;
export const MIN_COVER_FROM_BPS = 100n;
export const MIN_COVER_WIDTH_BPS = 100n;
export const MAX_COVER_TO_BPS = 3_000n;
/** One cent per $1,000, in USDG base units. */
export const COVER_PRICE_STEP = 10_000n;
export const MAX_COVER_PRICE = 1_000_000_000n;
export const MAX_SESSION_COVER_PRICE = 30_000_000n;
export const MAX_SESSION_COVER_COST_BPS = 300n;
export const MAX_SESSION_COVER_OFFERS = 20n;
export const MIN_COVER_HOLDING = 5_000_000n;
export const COVER_WEEKS_AHEAD = 2n;
export const COVER_CUTOFF = 3_600n;
export const COVER_PUBLISH_LEAD = 86_400n;
export const COVER_PUBLISH_AHEAD = 17_280_000n;
export const MAX_COVER_GAP = 1_209_600n;
export const MIN_COVER_WEEKEND = 86_400n;
export const MAX_COVER_WEEKEND = 345_600n;
export const SNAPSHOT_VALIDITY = 3_600n;
export const SNAPSHOT_WINDOWS = 4n;
export const SNAPSHOT_SUB_WINDOW = 50n;
export const MIN_COVER_CARDINALITY = 4_500n;
export const MAX_COVER_CONSTITUENTS = 10n;
export const COVER_STEP_REWARD = 100_000n;
export const COVER_PAYOUT_REWARD = 50_000n;
export const COVER_FEE_RESERVE = 10_000_000n;

export const PAUSE_DURATION = 604_800n;
export const PAUSE_COOLDOWN = 86_400n;
export const REGISTRY_TIMELOCK = 604_800n;
