// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Weekend cover: a buyer is paid the drop of a basket's average NAV from the week's close to its settlement, between
/// two thresholds; an underwriter has locked the whole of it. Cover in whole dollars, prices in USDG base units per
/// $1,000 of cover, money in USDG base units, NAVs in dollars x 1e18, times in unix seconds.
interface ICoverMarket {
    enum Side {
        None,
        Offer,
        Request
    }

    /// Of one basket's week. Closed: the close snapshot is taken. Settled and Void are final.
    enum Outcome {
        Open,
        Closed,
        Settled,
        Void
    }

    struct WeekTimes {
        uint48 close;
        uint48 settle;
    }

    struct Terms {
        uint32 week;
        address vault;
        uint16 fromBps;
        uint16 toBps;
        uint64 coverUsd;
        uint128 pricePer1k;
    }

    /// `openUsd`: what can still be taken or filled; zero once sold out, cancelled, sent back or rolled.
    struct Listing {
        address owner;
        Side side;
        bool repeats;
        uint64 openUsd;
        Terms terms;
    }

    /// `premium` goes to the underwriter, `fee` to the protocol; the buyer locked both.
    struct Position {
        address buyer;
        address underwriter;
        bool paid;
        uint64 coverUsd;
        uint32 week;
        uint16 fromBps;
        uint16 toBps;
        address vault;
        uint128 premium;
        uint128 fee;
    }

    /// `fees`: cover fees of all its positions, which bound its rewards. `closeReward`: what the close snapshot paid.
    struct Market {
        Outcome outcome;
        uint64 soldUsd;
        uint128 fees;
        uint32 closeReward;
        uint128 closeNav;
        uint128 settleNav;
    }

    event WeekPublished(uint32 indexed week, uint48 close, uint48 settle);
    event VaultListed(address indexed vault, uint64 capUsd);
    event Listed(uint256 indexed id, address indexed owner, Side side, bool repeats, Terms terms);
    /// One for each offer taken and each request filled.
    event CoverSold(
        uint256 indexed positionId,
        address indexed buyer,
        address indexed underwriter,
        uint256 listingId,
        uint64 coverUsd,
        uint128 premium,
        uint128 fee
    );
    event ListingCancelled(uint256 indexed id, address indexed owner, uint256 returned);
    event ListingSentBack(uint256 indexed id, address indexed owner, uint256 returned);
    event ListingRolled(uint256 indexed id, uint256 indexed next);
    event RepeatStopped(uint256 indexed id);
    event SnapshotTaken(
        uint32 indexed week,
        address indexed vault,
        uint256 nav,
        uint256 endsAt,
        address executor,
        uint256 reward
    );
    event WeekSettled(
        uint32 indexed week,
        address indexed vault,
        uint256 nav,
        uint256 endsAt,
        address executor,
        uint256 reward
    );
    event WeekVoided(uint32 indexed week, address indexed vault, address executor, uint256 reward);
    event PaidOut(
        uint256 indexed positionId,
        address indexed buyer,
        address indexed underwriter,
        uint256 toBuyer,
        uint256 toUnderwriter,
        uint256 fee
    );
    event RewardPaid(address indexed executor, uint256 positions, uint256 reward);
    /// A payment that could not be delivered; `creditor` claims it.
    event Credited(address indexed creditor, uint256 amount);
    event Claimed(address indexed creditor, address indexed to, uint256 amount);
    event FeesFunded(address indexed from, uint256 amount);
    event FeesCollected(address indexed treasury, uint256 amount);

    error BadWeek(uint48 close, uint48 settle);
    error BadTerms(string what);
    error UnknownVault(address vault);
    error AlreadyListed(address vault);
    error CapTooHigh(uint64 capUsd, uint64 most);
    error TradingClosed(uint32 week);
    error CapReached(uint32 week, address vault, uint64 leftUsd);
    error UnknownListing(uint256 id);
    error NotOpen(uint256 id);
    error NotOwner(uint256 id);
    error OwnListing(uint256 id);
    error WrongSide(uint256 id);
    error MixedListings();
    error TooLittleCover(uint256 takenUsd, uint256 minCoverUsd);
    error TooDear(uint256 cost, uint256 limit);
    error BelowMinimum(uint256 coverUsd, uint256 minimum);
    error StillTrading(uint32 week);
    error NothingSold(uint32 week, address vault);
    error WrongOutcome(uint32 week, address vault, Outcome outcome);
    error TooEarly(uint256 opensAt);
    error TooLate(uint256 closedAt);
    /// Every window that has ended by now is invalid; the next one ends at `nextAt` (zero: there is none).
    error NoValidWindow(uint256 nextAt);
    error Repeats(uint256 id);
    error DoesNotRepeat(uint256 id);
    error NothingToPay();
    error NothingToFund();
    error NothingOwed();
    error BadReceiver(address to);
    error BadExecutor(address executor);
    error Paused();

    // ---------------------------------------------------------------- owner: the calendar and the baskets

    /// Owner. Weeks in order, each published at least a day before its cutoff, never changed afterwards. Its id is
    /// `close / 7 days`: the epoch was a Thursday, so a weekend lies within one id.
    function publishWeeks(WeekTimes[] calldata times) external;
    /// Owner, once for a registered vault set up for orders whose pools remember enough for a snapshot. The cap on
    /// cover sold in a week is immutable and at most `depthCapOf` (rule 23).
    function listVault(address vault, uint64 capUsd) external;

    // ---------------------------------------------------------------- trading

    /// Locks coverUsd x 1e6 of the sender. With `repeats`, what is unsold at the cutoff may be rolled on by anyone.
    /// Ids bind chain, market, owner, side, week, vault, range, price and a counter (rule 24).
    function offer(Terms calldata terms, bool repeats) external returns (uint256 id);
    /// Locks the premium of the sender; the fee is inside it.
    function request(Terms calldata terms) external returns (uint256 id);
    /// Buys from offers of one vault and week, of each at most `coverUsd[i]`: $50 or more, or all that is left of it.
    /// What an offer no longer has is left out, and so is what the week's cap no longer carries. Reverts
    /// TooLittleCover below `minCoverUsd` (or at nothing), TooDear when premiums and fees exceed `limit`.
    function take(uint256[] calldata ids, uint64[] calldata coverUsd, uint256 minCoverUsd, uint256 limit)
        external
        returns (uint256 takenUsd, uint256 cost);
    /// Underwrites exactly `coverUsd` of a request ($50 or more, or all that is left), locking coverUsd x 1e6 of the
    /// sender.
    function fill(uint256 id, uint64 coverUsd) external returns (uint256 positionId);
    /// Owner of the listing, always, paused or not: what is open comes back (as a credit, where USDG refuses).
    function cancel(uint256 id) external;
    function stopRepeating(uint256 id) external;
    /// Anyone, from the cutoff on: a repeating offer's open cover becomes a new listing of the week trading now.
    function roll(uint256 id) external returns (uint256 next);
    /// Anyone, from the cutoff on: what is open of a listing that does not repeat goes back to its owner.
    function sendBack(uint256 id) external;

    // ---------------------------------------------------------------- settlement: anyone, never paused

    /// The close snapshot: of the earliest valid of four windows, so that the caller has no choice (rule 22).
    /// `executor` zero means the sender, here and below. Rewards come out of `feePool` while it lasts, and never exceed
    /// what the market's own fees can bear.
    function snapshot(uint32 week, address vault, address executor) external returns (uint256 reward);
    /// The settle snapshot, and with it the outcome.
    function settle(uint32 week, address vault, address executor) external returns (uint256 reward);
    /// Once a snapshot was missed: everything goes back to both sides. Together with the close snapshot's, the reward is
    /// at most that of one step.
    function voidWeek(uint32 week, address vault, address executor) external returns (uint256 reward);
    /// Pays each position that is due and passes over the others; reverts NothingToPay when none was.
    function payout(uint256[] calldata positionIds, address executor)
        external
        returns (uint256 paid, uint256 reward);
    /// The sender's credit, to any address of the sender's choice.
    function claim(address to) external returns (uint256 amount);
    /// Anyone, paused or not: a gift to the fee pool, exactly `amount` of the sender's USDG (NothingToFund at zero). A new
    /// market's pool is empty, and fills by payouts of settled positions alone: without a gift its first steps succeed
    /// unpaid. There is no way back: rewards take it, and what it lifts above COVER_FEE_RESERVE anyone may send to the
    /// treasury by `collectFees` at once, so more than fills the reserve does not stay.
    function fundFees(uint256 amount) external;
    /// Anyone: what the fee pool holds above COVER_FEE_RESERVE, funded or earned, to the treasury.
    function collectFees() external returns (uint256 amount);

    // ---------------------------------------------------------------- reads

    function listingOf(uint256 id) external view returns (Listing memory);
    function positionOf(uint256 positionId) external view returns (Position memory);
    /// Ids run from 1 to this.
    function positionCount() external view returns (uint256);
    function marketOf(uint32 week, address vault) external view returns (Market memory);
    /// Zero times for a week that was never published.
    function weekOf(uint32 week) external view returns (WeekTimes memory);
    /// Every published week, in order.
    function publishedWeeks() external view returns (uint32[] memory);
    /// The week trading now: the first whose cutoff is ahead. `some` is false when none is published.
    function currentWeek() external view returns (bool some, uint32 week);
    function tradingOpen(uint32 week) external view returns (bool);
    function coverVaults() external view returns (address[] memory);
    function capOf(address vault) external view returns (uint64 capUsd);
    /// Most that `listVault` would accept now: at most what attacking the basket's pools costs in fees (CoverDepth).
    function depthCapOf(address vault) external view returns (uint64 capUsd);
    /// What a position pays now; both zero before its week has an outcome, and once it is paid.
    function payoutOf(uint256 positionId) external view returns (uint256 toBuyer, uint256 toUnderwriter);
    function credits(address creditor) external view returns (uint256);
    /// Fees of paid positions, and what was funded, that were neither paid as rewards nor collected.
    function feePool() external view returns (uint256);
}
