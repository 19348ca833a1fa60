// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IScheduleEscrow} from "../../src/interfaces/IScheduleEscrow.sol";
import {Vm} from "../support/Vm.sol";
import {OrderFixture} from "./OrderFixture.sol";

/// The life of a schedule in time: each slot filled at most once, missed slots, the auction of a slot, its ends.
contract ScheduleSlotsTest is OrderFixture {
    uint256 private constant TOTAL = 1_000e6 + 3; // four daily slots of $250, the last with three units more
    uint256 private constant SLICE = 250e6;

    bytes32 private id;
    uint256 private start;

    function setUp() public {
        deployWorld();
        start = vm.getBlockTimestamp() + 1 hours;
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(TOTAL, 4);
        terms.startAt = uint48(start);
        id = createSchedule(alice, terms);
    }

    // ---------------------------------------------------------------- one fill per slot

    function test_nothing_fills_or_arms_before_the_start() public {
        warpWithReference(start - 1);
        _notTriggered();
        vm.expectPartialRevert(IOrderEscrow.NotTriggered.selector);
        schedules.arm(id);
        vm.expectPartialRevert(IOrderEscrow.NotTriggered.selector);
        schedules.floorOf(id);
        warpWithReference(start);
        _fillSlot(0);
    }

    function test_a_slot_fills_in_its_first_second_and_in_its_last() public {
        warpWithReference(start);
        _fillSlot(0);
        warpWithReference(start + 2 days - 1);
        _fillSlot(1);
        warpWithReference(start + 2 days);
        _fillSlot(2);
        assertEq(schedules.scheduleOf(id).filled, 3);
    }

    function test_a_filled_slot_does_not_fill_again_until_the_next_one_opens() public {
        warpWithReference(start);
        _fillSlot(0);
        (bool due, uint32 slot,,) = schedules.slotNow(id);
        assertFalse(due);
        assertEq(slot, 0);
        (bool triggered,) = schedules.triggered(id);
        assertFalse(triggered);
        _notTriggered();
        warpWithReference(start + 1 days - 1);
        _notTriggered();
        vm.expectPartialRevert(IOrderEscrow.NotTriggered.selector);
        schedules.floorOf(id);
        vm.expectPartialRevert(IOrderEscrow.NotTriggered.selector);
        schedules.arm(id);
        warpWithReference(start + 1 days);
        _fillSlot(1);
    }

    function test_a_schedule_whose_slots_were_all_filled_is_over() public {
        for (uint32 slot; slot < 4; slot++) {
            warpWithReference(start + slot * 1 days + 5 hours);
            _fillSlot(slot);
        }
        IScheduleEscrow.Schedule memory schedule = schedules.scheduleOf(id);
        assertTrue(schedule.state == IOrderEscrow.State.Filled);
        assertEq(schedule.filled, 4);
        assertEq(schedule.nextSlot, 4);
        assertEq(schedule.remaining, 0);
        assertEscrowsEmpty();
        bytes memory notOpen =
            abi.encodeWithSelector(IOrderEscrow.NotOpen.selector, id, IOrderEscrow.State.Filled);
        SwapCall[] memory swaps = slotSwaps(id, 3);
        usdg.mint(address(schedules), TOTAL); // what one fill too many could feed on
        vm.expectRevert(notOpen);
        schedules.fill(id, swaps, keeper);
        vm.expectRevert(notOpen);
        vm.prank(alice);
        schedules.cancel(id);
        vm.warp(start + 4 days);
        vm.expectRevert(notOpen);
        schedules.sendBack(id);
    }

    // ---------------------------------------------------------------- missed slots

    function test_a_missed_slot_is_told_by_the_next_fill_and_never_made_up_for() public {
        warpWithReference(start + 2 days);
        SwapCall[] memory swaps = slotSwaps(id, 2);
        vm.expectEmit(address(schedules));
        emit IScheduleEscrow.SlotsSkipped(id, 0, 2);
        vm.expectEmit(address(schedules));
        emit IScheduleEscrow.SlotFilled(id, 2, SLICE, TOTAL - SLICE, 0);
        schedules.fill(id, swaps, keeper);
        _notTriggered();
        IScheduleEscrow.Schedule memory schedule = schedules.scheduleOf(id);
        assertEq(schedule.filled, 1);
        assertEq(schedule.nextSlot, 3);
        assertEq(schedule.remaining, TOTAL - SLICE);
        assertEq(usdg.balanceOf(address(schedules)), TOTAL - SLICE);
    }

    function test_the_last_fill_returns_what_missed_slots_left() public {
        warpWithReference(start);
        _fillSlot(0);
        warpWithReference(start + 3 days);
        uint256 held = usdg.balanceOf(alice);
        SwapCall[] memory swaps = slotSwaps(id, 3);
        vm.expectEmit(address(schedules));
        emit IScheduleEscrow.SlotsSkipped(id, 1, 2);
        vm.expectEmit(address(schedules));
        emit IScheduleEscrow.SlotFilled(id, 3, SLICE + 3, 0, 2 * SLICE);
        vm.recordLogs();
        schedules.fill(id, swaps, keeper);
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 net) = lastFill(address(schedules));
        assertEq(gross + protocolFee + executorFee + net, SLICE + 3);
        assertEq(usdg.balanceOf(alice) - held, net + 2 * SLICE);
        assertTrue(schedules.stateOf(id) == IOrderEscrow.State.Filled);
        assertEscrowsEmpty();
    }

    function test_a_missed_last_slot_sends_the_rest_back() public {
        warpWithReference(start + 1 days);
        _fillSlot(1);
        uint256 held = usdg.balanceOf(alice);
        warpWithReference(start + 4 days - 1);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotExpired.selector, id));
        schedules.sendBack(id);
        warpWithReference(start + 4 days);
        SwapCall[] memory swaps = slotSwaps(id, 3);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.OrderIsExpired.selector, id));
        schedules.fill(id, swaps, keeper);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.OrderIsExpired.selector, id));
        schedules.arm(id);
        uint256 keeperHeld = usdg.balanceOf(keeper);
        vm.expectEmit(address(schedules));
        emit IOrderEscrow.OrderExpired(id, alice);
        vm.expectEmit(address(schedules));
        emit IScheduleEscrow.SlotsSkipped(id, 2, 2);
        vm.prank(keeper);
        schedules.sendBack(id);
        assertEq(usdg.balanceOf(alice) - held, TOTAL - SLICE);
        assertEq(usdg.balanceOf(keeper), keeperHeld);
        IScheduleEscrow.Schedule memory schedule = schedules.scheduleOf(id);
        assertTrue(schedule.state == IOrderEscrow.State.Expired);
        assertEq(schedule.filled, 1);
        assertEq(schedule.nextSlot, 4);
        assertEq(schedule.remaining, 0);
        assertEscrowsEmpty();
    }

    function test_a_cancel_tells_the_slots_that_passed_and_not_the_one_that_is_open() public {
        warpWithReference(start + 2 days);
        vm.expectEmit(address(schedules));
        emit IOrderEscrow.OrderCancelled(id, alice);
        vm.expectEmit(address(schedules));
        emit IScheduleEscrow.SlotsSkipped(id, 0, 2);
        vm.prank(alice);
        schedules.cancel(id);
        assertEq(usdg.balanceOf(alice), TOTAL);
        assertEq(schedules.scheduleOf(id).nextSlot, 2);
    }

    function test_no_slot_is_told_of_as_skipped_where_none_was() public {
        warpWithReference(start);
        vm.recordLogs();
        _fillSlot(0);
        warpWithReference(start + 1 days);
        _fillSlot(1);
        vm.prank(alice);
        schedules.cancel(id);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; i++) {
            assertNotEq(logs[i].topics[0], IScheduleEscrow.SlotsSkipped.selector);
        }
    }

    /// Rule 27: a block whose clock lags finds no slot that was filled or passed over.
    function test_a_clock_that_goes_back_fills_no_slot_twice() public {
        warpWithReference(start + 2 days);
        _fillSlot(2);
        SwapCall[] memory swaps = slotSwaps(id, 1);
        for (uint256 ago; ago < 3; ago++) {
            vm.warp(start + 2 days - ago * 12 hours);
            (bool due,,,) = schedules.slotNow(id);
            assertFalse(due);
            vm.expectRevert();
            schedules.fill(id, swaps, keeper);
        }
        vm.prank(alice);
        schedules.cancel(id);
        assertEq(schedules.scheduleOf(id).nextSlot, 3);
    }

    /// Random fills and misses: fills <= slots that opened, spend <= total, every base unit ends with somebody.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_any_pattern_of_fills_and_misses_accounts_for_every_base_unit(uint256 pattern) public {
        uint256 treasuryBefore = usdg.balanceOf(treasury);
        uint256 filled;
        uint256 grossSum;
        for (uint32 slot; slot < 4; slot++) {
            warpWithReference(start + slot * 1 days + (pattern >> 8 * slot) % 1 days);
            if (pattern >> 128 + slot & 1 == 0) continue;
            SwapCall[] memory swaps = slotSwaps(id, slot);
            vm.recordLogs();
            schedules.fill(id, swaps, keeper);
            (uint256 gross,,,) = lastFill(address(schedules));
            grossSum += gross;
            filled++;
            assertLe(filled, slot + 1);
        }
        if (schedules.stateOf(id) == IOrderEscrow.State.Open) {
            warpWithReference(start + 4 days);
            schedules.sendBack(id);
        }
        assertEq(schedules.scheduleOf(id).filled, filled);
        uint256 fees = usdg.balanceOf(treasury) - treasuryBefore + usdg.balanceOf(keeper);
        assertEq(usdg.balanceOf(alice) + fees + grossSum, TOTAL);
        assertEscrowsEmpty();
    }

    // ---------------------------------------------------------------- the auction of a slot

    function test_a_missed_floor_is_armed_and_filled_within_the_slot_as_the_tolerance_widens() public {
        warpWithReference(start);
        moveNav(10_200);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        vm.expectPartialRevert(IOrderEscrow.BelowFloor.selector);
        schedules.fill(id, swaps, keeper);
        vm.expectEmit(address(schedules));
        emit IOrderEscrow.OrderArmed(id, uint48(start));
        vm.prank(keeper);
        schedules.arm(id);
        assertEq(schedules.armedAt(id), start);
        assertEq(schedules.scheduleOf(id).armedAt, start);
        assertEq(schedules.toleranceBps(id), 100);
        moveNav(10_000);
        warpWithReference(start + 15 minutes);
        moveNav(10_200);
        assertEq(schedules.toleranceBps(id), 300);
        uint256 floor = schedules.floorOf(id);
        schedules.fill(id, slotSwaps(id, 0), keeper);
        assertGe(vault.balanceOf(alice), floor);
        assertEq(schedules.armedAt(id), 0);
        assertEq(schedules.toleranceBps(id), 100);
    }

    function test_a_slot_armed_late_leaves_the_next_slot_its_own_tolerance_and_its_own_auction() public {
        uint256 armed = start + 1 days - 40 minutes;
        warpWithReference(armed);
        schedules.arm(id);
        warpWithReference(start + 1 days - 1);
        assertEq(schedules.armedAt(id), armed);
        assertEq(schedules.toleranceBps(id), 500);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.AlreadyArmed.selector, id, uint48(armed)));
        schedules.arm(id);

        warpWithReference(start + 1 days);
        assertEq(schedules.armedAt(id), 0);
        assertEq(schedules.scheduleOf(id).armedAt, 0);
        assertEq(schedules.toleranceBps(id), 100);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotArmed.selector, id));
        schedules.disarm(id);
        moveNav(10_200);
        SwapCall[] memory swaps = slotSwaps(id, 1);
        vm.expectPartialRevert(IOrderEscrow.BelowFloor.selector);
        schedules.fill(id, swaps, keeper);
        schedules.arm(id);
        assertEq(schedules.armedAt(id), start + 1 days);
        assertEq(schedules.toleranceBps(id), 100);
    }

    function test_an_arming_in_the_first_second_of_a_slot_is_that_slots() public {
        warpWithReference(start + 1 days);
        schedules.arm(id);
        assertEq(schedules.armedAt(id), start + 1 days);
        warpWithReference(start + 1 days + 60 minutes - 1);
        assertEq(schedules.toleranceBps(id), 500);
        vm.expectPartialRevert(IOrderEscrow.AlreadyArmed.selector);
        schedules.arm(id);
        warpWithReference(start + 1 days + 60 minutes);
        assertEq(schedules.toleranceBps(id), 100);
        assertEq(schedules.armedAt(id), 0);
        schedules.arm(id); // a long slot may see a second auction
        assertEq(schedules.armedAt(id), start + 1 days + 60 minutes);
    }

    /// The trigger of an open slot cannot turn false, and a fill clears the arming: there is nothing to disarm.
    function test_an_armed_slot_is_disarmed_by_its_fill_or_its_end_alone() public {
        warpWithReference(start);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotArmed.selector, id));
        schedules.disarm(id);
        schedules.arm(id);
        uint256 nav = oracle.referenceNav(address(vault));
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.StillTriggered.selector, id, nav));
        schedules.disarm(id);
        warpWithReference(start + 30 minutes);
        _fillSlot(0);
        assertEq(schedules.armedAt(id), 0);
        assertEq(schedules.toleranceBps(id), 100);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotArmed.selector, id));
        schedules.disarm(id);
    }

    function test_the_last_slots_arming_ends_with_the_schedule() public {
        warpWithReference(start + 4 days - 10 minutes);
        schedules.arm(id);
        warpWithReference(start + 4 days);
        assertEq(schedules.armedAt(id), 0);
        assertEq(schedules.toleranceBps(id), 100);
    }

    // ---------------------------------------------------------------- pause and cancel

    function test_slots_that_pass_while_paused_are_skipped_like_any_other() public {
        warpWithReference(start);
        pauseProtocol();
        SwapCall[] memory swaps = slotSwaps(id, 0);
        vm.expectRevert(IOrderEscrow.Paused.selector);
        schedules.fill(id, swaps, keeper);
        vm.expectRevert(IOrderEscrow.Paused.selector);
        schedules.arm(id);
        (bool triggered,) = schedules.triggered(id);
        assertFalse(triggered);
        (bool due,,,) = schedules.slotNow(id);
        assertTrue(due);
        warpWithReference(start + 1 days);
        unpauseProtocol();
        _fillSlot(1);
        _notTriggered();
    }

    /// Bits of `troubles`: one slot filled, armed, paused, no reference, expired.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_the_owner_cancels_in_every_open_state(uint256 troubles) public {
        uint256 left = TOTAL;
        if (troubles & 1 != 0) {
            warpWithReference(start);
            _fillSlot(0);
            left -= SLICE;
        }
        if (troubles & 2 != 0) {
            warpWithReference(start + 1 days + (troubles >> 5) % 2 days);
            schedules.arm(id);
        }
        if (troubles & 4 != 0) pauseProtocol();
        if (troubles & 8 != 0) blindOracle();
        if (troubles & 16 != 0) vm.warp(start + 4 days + (troubles >> 5) % 365 days);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotOwner.selector, id));
        vm.prank(bob);
        schedules.cancel(id);
        uint256 held = usdg.balanceOf(alice);
        vm.prank(alice);
        schedules.cancel(id);
        assertEq(usdg.balanceOf(alice) - held, left);
        assertTrue(schedules.stateOf(id) == IOrderEscrow.State.Cancelled);
        assertEq(schedules.armedAt(id), 0);
        vm.expectRevert(
            abi.encodeWithSelector(IOrderEscrow.NotOpen.selector, id, IOrderEscrow.State.Cancelled)
        );
        vm.prank(alice);
        schedules.cancel(id);
        assertEscrowsEmpty();
    }

    // ----------------------------------------------------------------

    function _fillSlot(uint32 slot) private {
        uint32 filled = schedules.scheduleOf(id).filled;
        SwapCall[] memory swaps = slotSwaps(id, slot);
        vm.prank(keeper);
        schedules.fill(id, swaps, address(0));
        IScheduleEscrow.Schedule memory schedule = schedules.scheduleOf(id);
        assertEq(schedule.filled, filled + 1);
        assertEq(schedule.nextSlot, slot + 1);
    }

    function _notTriggered() private {
        SwapCall[] memory swaps = slotSwaps(id, 0);
        uint256 nav = oracle.referenceNav(address(vault));
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotTriggered.selector, id, nav));
        schedules.fill(id, swaps, keeper);
    }
}
