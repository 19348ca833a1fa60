// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IOrderEscrow} from "./IOrderEscrow.sol";

/// Prefunded buys in equal slots. Slot k is due from startAt + k x interval (inclusive) to the start of the next one
/// (exclusive) and is filled at most once; a slot that nobody filled is skipped, never made up for (rule 13). What is
/// left when the schedule is over goes back to its owner: with the last fill, by `sendBack`, or by `cancel` before.
///
/// An order of the base in every other way: `fill` fills the slot that is due, `arm` widens that slot's tolerance
/// alone, `triggered` says whether a slot is due, the deadline is the end of the last slot.
interface IScheduleEscrow is IOrderEscrow {
    /// A label for people: Subscribe is told as so much each time, TWAP as so much in all. The rules are the same.
    enum Kind {
        Subscribe,
        Twap
    }

    /// `total`: USDG for all slots; each spends total / slots, the last also the remainder. `interval` in seconds.
    /// `startAt` zero: now; never in the past. slippageBps zero = 100, capBps zero = 500.
    struct ScheduleTerms {
        Kind kind;
        address vault;
        uint256 total;
        uint32 slots;
        uint32 interval;
        uint48 startAt;
        uint16 slippageBps;
        uint16 capBps;
    }

    struct Schedule {
        address owner;
        uint48 armedAt; // of the slot that is due; zero otherwise
        State state;
        uint32 filled; // slots
        uint32 nextSlot; // the first that is neither filled nor told of as skipped
        uint256 remaining; // USDG in escrow
        ScheduleTerms terms; // startAt and tolerances as resolved
    }

    event ScheduleCreated(
        bytes32 indexed id, address indexed owner, address indexed vault, ScheduleTerms terms
    );
    /// Before its OrderFilled. `budget` left the ledger for this fill and `remaining` is still in it; the last slot's
    /// fill also returns what skipped slots left, beside OrderFilled's `net`.
    event SlotFilled(bytes32 indexed id, uint32 slot, uint256 budget, uint256 remaining, uint256 returned);
    /// Slots first to first + count - 1 passed unfilled; told by the next fill or by the end of the schedule.
    event SlotsSkipped(bytes32 indexed id, uint32 first, uint32 count);

    /// Escrows the sender's `total`; every slot at least $5 (rule 13).
    function create(ScheduleTerms calldata terms) external returns (bytes32 id);
    function scheduleOf(bytes32 id) external view returns (Schedule memory);
    /// The slot of this moment, whether it can still be filled, and when it opens and closes (unix seconds). Before
    /// the start: slot 0, not due. After the end: slot = slots, not due, opening and closing at the end.
    function slotNow(bytes32 id)
        external
        view
        returns (bool due, uint32 slot, uint48 opensAt, uint48 closesAt);
    /// USDG that a slot's fill spends at most, fees included.
    function budgetOf(bytes32 id, uint32 slot) external view returns (uint256);
    /// Least shares of a fill now: as for limit orders, over the budget of the slot that is due; NotTriggered where
    /// none is.
    function floorOf(bytes32 id) external view returns (uint256 minShares);
}
