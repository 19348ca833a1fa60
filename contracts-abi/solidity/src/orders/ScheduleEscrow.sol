// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Constants} from "../Constants.sol";
import {SwapCall} from "../interfaces/IBasketZapper.sol";
import {IScheduleEscrow} from "../interfaces/IScheduleEscrow.sol";
import {BuyEscrow} from "./BuyEscrow.sol";
import {OrderEscrow} from "./OrderEscrow.sol";

/// Subscribe and TWAP: one prefunded order, bought slot by slot.
///
/// What must hold (rule 13):
/// - A fill takes the budget of the slot that is due at this moment and of no other; `nextSlot` only grows, so no
///   slot is filled twice, whatever a block's clock says.
/// - The budgets of all slots add up to the total. A skipped slot's budget stays in the ledger until the end.
/// - An arming counts in the slot in which it happened alone.
///
/// Time (rule 27): a forced transaction whose block carries an old timestamp can fill the slot of that time where
/// nobody did, at the prices of its block; never a slot that was filled or passed over.
contract ScheduleEscrow is IScheduleEscrow, BuyEscrow {
    using SafeERC20 for IERC20;

    struct Plan {
        Kind kind;
        uint32 slots;
        uint32 interval;
        uint48 startAt;
        uint32 nextSlot; // first that is neither filled nor reported as skipped
        uint32 filled;
        uint256 total;
    }

    mapping(bytes32 id => Plan) private _plans;

    constructor(address usdg, address registry, address oracle, address zapper, address pause)
        OrderEscrow(usdg, registry, oracle, zapper, pause)
    {}

    /// The event and `scheduleOf` carry the start and the tolerances as resolved.
    /// @inheritdoc IScheduleEscrow
    function create(ScheduleTerms calldata terms) external nonReentrant returns (bytes32 id) {
        (uint48 startAt, uint48 deadline) = _times(terms);
        uint256 slice = terms.total / terms.slots;
        if (slice < Constants.MIN_ORDER) revert BelowMinimum(slice, Constants.MIN_ORDER);
        Order storage order;
        (id, order) = _open(terms.vault, usdg, terms.total, terms.slippageBps, terms.capBps, deadline);
        Plan storage plan = _plans[id];
        (plan.kind, plan.slots, plan.interval) = (terms.kind, terms.slots, terms.interval);
        (plan.startAt, plan.total) = (startAt, terms.total);
        emit ScheduleCreated(id, msg.sender, terms.vault, _termsOf(order, plan));
    }

    // ---------------------------------------------------------------- reads

    /// All zero for an id that never existed.
    /// @inheritdoc IScheduleEscrow
    function scheduleOf(bytes32 id) external view returns (Schedule memory) {
        Order storage order = _orders[id];
        Plan storage plan = _plans[id];
        return Schedule({
            owner: order.owner,
            armedAt: _armedAt(id, order),
            state: order.state,
            filled: plan.filled,
            nextSlot: plan.nextSlot,
            remaining: order.state == State.Open ? order.amount : 0,
            terms: _termsOf(order, plan)
        });
    }

    /// @inheritdoc IScheduleEscrow
    function slotNow(bytes32 id)
        external
        view
        returns (bool due, uint32 slot, uint48 opensAt, uint48 closesAt)
    {
        Order storage order = _knownOrder(id);
        Plan storage plan = _plans[id];
        slot = _slotNow(plan);
        due = order.state == State.Open && _isDue(plan, slot);
        opensAt = _opensAt(plan, slot);
        closesAt = slot < plan.slots ? opensAt + plan.interval : opensAt;
    }

    /// Zero past the last slot.
    /// @inheritdoc IScheduleEscrow
    function budgetOf(bytes32 id, uint32 slot) external view returns (uint256) {
        _knownOrder(id);
        Plan storage plan = _plans[id];
        return slot < plan.slots ? _budgetOf(plan, slot) : 0;
    }

    /// Reverts NoReference where there is none now, and NotTriggered while no slot is due.
    /// @inheritdoc IScheduleEscrow
    function floorOf(bytes32 id) external view returns (uint256 minShares) {
        Order storage order = _openOrder(id);
        return _floorOf(id, order, _requireTrigger(id, _navsOf(order.vault)));
    }

    // ---------------------------------------------------------------- what a schedule decides

    /// A slot that is due is the whole trigger: the reference must be valid and may be anything.
    function _triggerHolds(bytes32 id, uint256) internal view override returns (bool) {
        Plan storage plan = _plans[id];
        return _isDue(plan, _slotNow(plan));
    }

    function _floorOf(bytes32 id, Order storage order, Navs memory navs)
        internal
        view
        override
        returns (uint256 minShares)
    {
        Plan storage plan = _plans[id];
        return _buyFloor(id, order, _budgetOf(plan, _slotNow(plan)), navs);
    }

    function _take(bytes32 id, Order storage order) internal override returns (uint256 budget) {
        Plan storage plan = _plans[id];
        uint32 slot = _slotNow(plan);
        _skipUntil(id, plan, slot);
        plan.nextSlot = slot + 1;
        plan.filled++;
        budget = _budgetOf(plan, slot);
        uint256 remaining = order.amount - budget;
        order.amount = remaining;
        order.armedAt = 0;
        if (slot + 1 < plan.slots) {
            emit SlotFilled(id, slot, budget, remaining, 0);
        } else {
            emit SlotFilled(id, slot, budget, 0, remaining);
            _close(id, order, State.Filled);
        }
    }

    /// The last slot's fill also returns what the skipped slots left.
    function _execute(
        bytes32 id,
        Order storage order,
        uint256 budget,
        uint256 floor,
        SwapCall[] calldata swaps
    ) internal override returns (Outcome memory done) {
        done = super._execute(id, order, budget, floor, swaps);
        if (order.state == State.Filled && order.amount != 0) usdg.safeTransfer(order.owner, order.amount);
    }

    function _close(bytes32 id, Order storage order, State state) internal override {
        super._close(id, order, state);
        Plan storage plan = _plans[id];
        _skipUntil(id, plan, _slotNow(plan));
    }

    /// Dies with its slot (rule 11).
    function _armingOf(bytes32 id, Order storage order) internal view override returns (uint48) {
        uint48 arming = order.armedAt;
        if (arming == 0) return 0;
        Plan storage plan = _plans[id];
        return arming >= _opensAt(plan, _slotNow(plan)) ? arming : 0;
    }

    // ---------------------------------------------------------------- slots

    /// Bounds that keep every later sum of times within its type: slots x interval <= 365 days, so at most 52,560
    /// slots, from at most 91 days ahead.
    function _times(ScheduleTerms calldata terms) private view returns (uint48 startAt, uint48 deadline) {
        if (terms.slots == 0) revert BadTerms("no slots");
        if (terms.interval < Constants.MIN_SCHEDULE_INTERVAL) revert BadTerms("interval too short");
        uint256 length = uint256(terms.slots) * terms.interval;
        if (length > Constants.MAX_SCHEDULE_LIFETIME) revert BadTerms("schedule too long");
        startAt = terms.startAt == 0 ? uint48(block.timestamp) : terms.startAt;
        // Slots that have passed already would be skipped before anybody could fill them.
        if (startAt < block.timestamp) revert BadTerms("start in the past");
        if (startAt > block.timestamp + Constants.MAX_SCHEDULE_DELAY + Constants.ORDER_LIFETIME_SLACK) {
            revert BadTerms("start too far");
        }
        deadline = uint48(startAt + length);
    }

    /// 0 before the start, `slots` from the end on.
    function _slotNow(Plan storage plan) private view returns (uint32) {
        if (block.timestamp < plan.startAt) return 0;
        uint256 passed = (block.timestamp - plan.startAt) / plan.interval;
        return passed < plan.slots ? uint32(passed) : plan.slots;
    }

    function _isDue(Plan storage plan, uint32 slot) private view returns (bool) {
        return block.timestamp >= plan.startAt && slot >= plan.nextSlot && slot < plan.slots;
    }

    function _opensAt(Plan storage plan, uint32 slot) private view returns (uint48) {
        return plan.startAt + uint48(slot) * plan.interval;
    }

    /// Equal slices, the last with the remainder of the division.
    function _budgetOf(Plan storage plan, uint32 slot) private view returns (uint256 slice) {
        slice = plan.total / plan.slots;
        if (slot + 1 == plan.slots) slice += plan.total % plan.slots;
    }

    function _skipUntil(bytes32 id, Plan storage plan, uint32 slot) private {
        uint32 first = plan.nextSlot;
        if (slot <= first) return;
        plan.nextSlot = slot;
        emit SlotsSkipped(id, first, slot - first);
    }

    function _termsOf(Order storage order, Plan storage plan) private view returns (ScheduleTerms memory) {
        return ScheduleTerms({
            kind: plan.kind,
            vault: order.vault,
            total: plan.total,
            slots: plan.slots,
            interval: plan.interval,
            startAt: plan.startAt,
            slippageBps: order.slippageBps,
            capBps: order.capBps
        });
    }
}
