// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Every protocol number, named once. `contracts-abi/constants.ts` mirrors this file and a test compares them.
/// "spec" is shared interface.md (section 8 unless another is given); "semantics" is protocol.md, Semantics decided;
/// "rule N" is protocol-rules.md.
library Constants {
    uint256 internal constant BPS = 10_000;
    uint256 internal constant USD = 1e6; // USDG base units per dollar (spec 1)
    uint256 internal constant SHARE = 1e18; // basket base units per share (spec 1)
    uint256 internal constant NAV_SCALE = 1e18; // NAVs and prices are dollars x 1e18 (INavOracle)
    uint256 internal constant RAY = 1e27; // scale of the vault's fee index

    uint256 internal constant MINT_FEE_BPS = 20; // spec: mint 0.20%
    uint256 internal constant SELL_FEE_BPS = 20; // spec: sell 0.20%
    uint256 internal constant MIN_MANAGEMENT_FEE_BPS = 50; // spec: 0.50 to 0.95% a year
    uint256 internal constant MAX_MANAGEMENT_FEE_BPS = 95;

    uint256 internal constant EXECUTOR_FEE_BPS = 15; // spec: max($0.25, 0.15%), at most 1%
    uint256 internal constant MIN_EXECUTOR_FEE = 250_000;
    uint256 internal constant MAX_EXECUTOR_FEE_BPS = 100;

    uint256 internal constant MIN_ORDER = 5e6; // semantics: least order $5
    uint256 internal constant ORDER_TOLERANCE_BPS = 100; // semantics: order tolerance
    uint256 internal constant MAX_ORDER_TOLERANCE_BPS = 500; // semantics, rule 11: owner's cap at most 500
    uint256 internal constant ARM_WIDENING = 30 minutes; // semantics: linear widening
    uint256 internal constant ARM_VALIDITY = 60 minutes; // rule 11
    uint256 internal constant MIN_ORDER_LIFETIME = 1 hours;
    uint256 internal constant MAX_ORDER_LIFETIME = 90 days; // wire: expiryDays 1 to 90
    uint256 internal constant ORDER_LIFETIME_SLACK = 1 days; // rule 27: a forced transaction's block may be a day old

    uint256 internal constant MIN_SCHEDULE_INTERVAL = 10 minutes;
    uint256 internal constant MAX_SCHEDULE_DELAY = 90 days; // from creation to the first slot
    uint256 internal constant MAX_SCHEDULE_LIFETIME = 365 days;

    uint256 internal constant REFERENCE_WINDOW = 600; // rule 1: 10-minute average
    uint256 internal constant REFERENCE_SUB_WINDOW = 200; // rule 1: three sub-windows
    uint256 internal constant MIN_CARDINALITY = 700; // rule 1
    int24 internal constant MAX_SUB_WINDOW_TICK_SPREAD = 600; // rule 1
    uint256 internal constant MAX_SPOT_DEVIATION_BPS = 300; // rule 4

    uint256 internal constant MIN_TRADE = 5e6; // spec: agent trade minimum $5
    uint256 internal constant MAX_SESSION_SLIPPAGE_BPS = 1_000; // spec: 1 to 1000
    uint256 internal constant MAX_NETWORK_FEE = 10e6; // spec: network fee at most $10
    uint256 internal constant MAX_DAILY_NETWORK_FEES = 20e6; // rule 20
    uint256 internal constant MIN_DAILY_NETWORK_FEES = 1e6; // rule 20
    uint256 internal constant DAILY_NETWORK_FEES_BPS = 2_000; // rule 20: 20% of the daily limit
    uint256 internal constant MAX_ACTION_LIFETIME = 15 minutes; // rule 18

    uint256 internal constant COVER_FEE_BPS = 100; // spec: cover fee 1% of the premium
    uint256 internal constant MIN_COVER_USD = 50; // semantics: cover least $50, in whole dollars
    uint256 internal constant COVER_RANGE_STEP_BPS = 50; // semantics: range step
    uint256 internal constant MIN_COVER_FROM_BPS = 100; // semantics: least from
    uint256 internal constant MIN_COVER_WIDTH_BPS = 100; // semantics: least width
    uint256 internal constant MAX_COVER_TO_BPS = 3_000; // semantics: most to
    uint256 internal constant COVER_PRICE_STEP = 10_000; // spec 4: whole cents per $1,000, in USDG base units
    uint256 internal constant MAX_COVER_PRICE = 1_000e6; // per $1,000 of cover: a premium never exceeds its cover
    uint256 internal constant MAX_SESSION_COVER_PRICE = 30e6; // spec 8: at most $30 per $1,000 from a session key
    uint256 internal constant MAX_SESSION_COVER_COST_BPS = 300; // spec 8: premium plus fee at most 3% of the cover
    uint256 internal constant MAX_SESSION_COVER_OFFERS = 20; // offers that one action of a session key takes
    uint256 internal constant MIN_COVER_HOLDING = 5e6; // rule 21: holding worth at least $5
    uint256 internal constant COVER_WEEKS_AHEAD = 2; // spec 8: current plus next two
    uint256 internal constant COVER_CUTOFF = 1 hours; // semantics: trading cutoff one hour before close
    uint256 internal constant COVER_PUBLISH_LEAD = 1 days; // a week is published at least this long before its cutoff
    uint256 internal constant COVER_PUBLISH_AHEAD = 200 days; // and closes within this
    uint256 internal constant MAX_COVER_GAP = 14 days; // from now, or the week before, to a close: nobody can jump the calendar
    uint256 internal constant MIN_COVER_WEEKEND = 1 days; // close to settle: 66 hours, or other times by the owner's hand
    uint256 internal constant MAX_COVER_WEEKEND = 4 days;
    uint256 internal constant SNAPSHOT_VALIDITY = 60 minutes; // semantics, rule 22: permissionless for 60 minutes
    uint256 internal constant SNAPSHOT_WINDOWS = 4; // rule 22: the window at T and the next three
    uint256 internal constant SNAPSHOT_SUB_WINDOW = 50; // stricter than rule 1: a push in each of three pays, in each of twelve it does not
    uint256 internal constant MIN_COVER_CARDINALITY = 4_500; // rule 22
    uint256 internal constant MAX_COVER_CONSTITUENTS = 10; // of a basket with cover: a snapshot fits a block
    uint256 internal constant COVER_STEP_REWARD = 100_000; // semantics: snapshot, settle and void pay $0.10
    uint256 internal constant COVER_PAYOUT_REWARD = 50_000; // semantics: a payout pays $0.05
    uint256 internal constant COVER_FEE_RESERVE = 10e6; // kept for the rewards of the weeks to come

    uint256 internal constant PAUSE_DURATION = 7 days; // rule 26
    uint256 internal constant PAUSE_COOLDOWN = 24 hours; // rule 26
    uint256 internal constant REGISTRY_TIMELOCK = 7 days; // rule 26

    address internal constant DEAD = 0x000000000000000000000000000000000000dEaD; // rule 7: the locked share
}
