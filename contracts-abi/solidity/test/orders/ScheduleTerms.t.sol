// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IScheduleEscrow} from "../../src/interfaces/IScheduleEscrow.sol";
import {ScheduleEscrow} from "../../src/orders/ScheduleEscrow.sol";
import {TestToken} from "../support/TestToken.sol";
import {OrderFixture} from "./OrderFixture.sol";

/// What a schedule may be, and how its time and money divide into slots.
contract ScheduleTermsTest is OrderFixture {
    uint256 private constant TOTAL = 1_000e6 + 3; // four slots and a remainder of three units

    function setUp() public {
        deployWorld();
    }

    // ---------------------------------------------------------------- create

    function test_create_escrows_exactly_the_total_and_records_the_terms_as_resolved() public {
        usdg.mint(alice, TOTAL + 7);
        bytes32 expected = keccak256(abi.encode(block.chainid, address(schedules), alice, uint256(0)));
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(TOTAL, 4);
        terms.kind = IScheduleEscrow.Kind.Twap;
        IScheduleEscrow.ScheduleTerms memory resolved = scheduleTerms(TOTAL, 4);
        resolved.kind = IScheduleEscrow.Kind.Twap;
        (resolved.startAt, resolved.slippageBps, resolved.capBps) = (uint48(block.timestamp), 100, 500);
        vm.startPrank(alice);
        usdg.approve(address(schedules), TOTAL);
        vm.expectEmit(address(schedules));
        emit IScheduleEscrow.ScheduleCreated(expected, alice, address(vault), resolved);
        bytes32 id = schedules.create(terms);
        vm.stopPrank();

        assertEq(id, expected);
        assertEq(usdg.balanceOf(alice), 7);
        assertEq(usdg.balanceOf(address(schedules)), TOTAL);
        IScheduleEscrow.Schedule memory schedule = schedules.scheduleOf(id);
        assertEq(schedule.owner, alice);
        assertEq(schedule.armedAt, 0);
        assertTrue(schedule.state == IOrderEscrow.State.Open);
        assertEq(schedule.filled, 0);
        assertEq(schedule.nextSlot, 0);
        assertEq(schedule.remaining, TOTAL);
        assertEq(abi.encode(schedule.terms), abi.encode(resolved));
        assertEq(schedules.ownerOf(id), alice);
        assertEq(schedules.toleranceBps(id), 100);
    }

    function test_every_slot_is_at_least_five_dollars() public {
        createSchedule(alice, 20e6, 4);
        _refuses(
            scheduleTerms(20e6 - 1, 4),
            abi.encodeWithSelector(IOrderEscrow.BelowMinimum.selector, 5e6 - 1, 5e6)
        );
        _refuses(scheduleTerms(0, 1), abi.encodeWithSelector(IOrderEscrow.BelowMinimum.selector, 0, 5e6));
    }

    function test_a_schedule_has_a_slot_and_ten_minutes_between_slots() public {
        _refusesTerms(scheduleTerms(TOTAL, 0), "no slots");
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(TOTAL, 4);
        terms.interval = 10 minutes - 1;
        _refusesTerms(terms, "interval too short");
        terms.interval = 0;
        _refusesTerms(terms, "interval too short");
        terms.interval = 10 minutes;
        createSchedule(alice, terms);
        createSchedule(alice, scheduleTerms(5e6, 1));
    }

    function test_a_schedule_lasts_at_most_a_year() public {
        createSchedule(alice, scheduleTerms(365 * 5e6, 365));
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(366 * 5e6, 366);
        _refusesTerms(terms, "schedule too long");
        terms = scheduleTerms(5e6, 1);
        terms.interval = 365 days;
        createSchedule(alice, terms);
        terms.interval = 365 days + 1;
        _refusesTerms(terms, "schedule too long");
        // As 32-bit numbers these would multiply to zero.
        terms.slots = 1 << 31;
        terms.interval = 1 << 31;
        terms.total = uint256(5e6) << 31;
        _refusesTerms(terms, "schedule too long");
        (terms.slots, terms.interval) = (type(uint32).max, type(uint32).max);
        _refusesTerms(terms, "schedule too long");
    }

    function test_a_schedule_starts_now_or_within_ninety_one_days() public {
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(TOTAL, 4);
        terms.startAt = uint48(block.timestamp - 1);
        _refusesTerms(terms, "start in the past");
        terms.startAt = uint48(block.timestamp + 91 days + 1);
        _refusesTerms(terms, "start too far");
        terms.startAt = type(uint48).max;
        _refusesTerms(terms, "start too far");
        terms.startAt = uint48(block.timestamp);
        createSchedule(alice, terms);
        terms.startAt = uint48(block.timestamp + 91 days);
        bytes32 id = createSchedule(alice, terms);
        assertEq(schedules.scheduleOf(id).terms.startAt, terms.startAt);
    }

    /// The furthest end that terms allow still closes, to the second.
    function test_the_longest_schedule_ends_when_its_last_slot_does() public {
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(365 * 5e6, 365);
        terms.startAt = uint48(block.timestamp + 91 days);
        bytes32 id = createSchedule(alice, terms);
        uint256 end = block.timestamp + 456 days;
        vm.warp(end - 1);
        _seesSlot(id, true, 364, end - 1 days, end);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotExpired.selector, id));
        schedules.sendBack(id);
        vm.warp(end);
        _seesSlot(id, false, 365, end, end);
        schedules.sendBack(id);
        assertEq(usdg.balanceOf(alice), terms.total);
    }

    function test_schedules_share_the_rules_of_tolerance_and_vault() public {
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(TOTAL, 4);
        terms.capBps = 501;
        _refusesTerms(terms, "cap above 500 bps");
        terms.capBps = 50;
        _refusesTerms(terms, "slippage above cap");
        (terms.slippageBps, terms.capBps) = (300, 300);
        assertEq(schedules.toleranceBps(createSchedule(alice, terms)), 300);
        terms.vault = disabledVault();
        _refuses(terms, abi.encodeWithSelector(IOrderEscrow.OrdersDisabled.selector, terms.vault));
        terms.vault = address(this);
        _refuses(terms, abi.encodeWithSelector(IOrderEscrow.OrdersDisabled.selector, address(this)));
    }

    function test_a_schedule_can_rest_while_there_is_no_reference() public {
        blindOracle();
        bytes32 id = createSchedule(alice, TOTAL, 4);
        (bool triggered, uint256 nav) = schedules.triggered(id);
        assertFalse(triggered);
        assertEq(nav, 0);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        vm.expectPartialRevert(INavOracle.NoReference.selector);
        schedules.fill(id, swaps, keeper);
        vm.expectPartialRevert(INavOracle.NoReference.selector);
        schedules.arm(id);
        vm.expectPartialRevert(INavOracle.NoReference.selector);
        schedules.floorOf(id);
    }

    function test_a_cash_token_that_takes_a_fee_is_refused_at_create() public {
        usdg.mint(alice, TOTAL);
        usdg.setMisbehaviour(TestToken.Misbehaviour.FeeOnTransfer);
        vm.startPrank(alice);
        usdg.approve(address(schedules), TOTAL);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, "transfer"));
        schedules.create(scheduleTerms(TOTAL, 4));
        vm.stopPrank();
    }

    function test_create_without_usdg_or_approval_leaves_nothing_behind() public {
        vm.expectRevert();
        vm.prank(alice);
        schedules.create(scheduleTerms(TOTAL, 4));
        assertEq(schedules.orderCount(), 0);
    }

    function test_an_escrow_and_its_zapper_agree_on_the_cash_token() public {
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, "usdg"));
        new ScheduleEscrow(
            address(alfa.token), address(registry), address(oracle), address(zapper), address(pause)
        );
    }

    // ---------------------------------------------------------------- slots

    function test_each_slot_opens_at_its_second_and_closes_at_the_next_ones() public {
        IScheduleEscrow.ScheduleTerms memory terms = scheduleTerms(TOTAL, 4);
        (terms.startAt, terms.interval) = (uint48(block.timestamp + 3 days), 6 hours);
        uint256 start = terms.startAt;
        bytes32 id = createSchedule(alice, terms);
        _seesSlot(id, false, 0, start, start + 6 hours);
        vm.warp(start - 1);
        _seesSlot(id, false, 0, start, start + 6 hours);
        for (uint256 slot; slot < 4; slot++) {
            uint256 opens = start + slot * 6 hours;
            vm.warp(opens);
            _seesSlot(id, true, slot, opens, opens + 6 hours);
            vm.warp(opens + 6 hours - 1);
            _seesSlot(id, true, slot, opens, opens + 6 hours);
        }
        vm.warp(start + 24 hours);
        _seesSlot(id, false, 4, start + 24 hours, start + 24 hours);
        vm.warp(start + 10_000 days);
        _seesSlot(id, false, 4, start + 24 hours, start + 24 hours);
    }

    function test_no_slot_of_a_closed_schedule_is_due() public {
        bytes32 id = createSchedule(alice, TOTAL, 4);
        vm.prank(alice);
        schedules.cancel(id);
        (bool due, uint32 slot,,) = schedules.slotNow(id);
        assertFalse(due);
        assertEq(slot, 0);
        (bool triggered,) = schedules.triggered(id);
        assertFalse(triggered);
        assertEq(schedules.scheduleOf(id).remaining, 0);
        vm.expectRevert(
            abi.encodeWithSelector(IOrderEscrow.NotOpen.selector, id, IOrderEscrow.State.Cancelled)
        );
        schedules.floorOf(id);
    }

    function test_slots_are_equal_and_the_last_one_takes_the_remainder() public {
        bytes32 id = createSchedule(alice, TOTAL, 4);
        for (uint32 slot; slot < 3; slot++) {
            assertEq(schedules.budgetOf(id, slot), 250e6);
        }
        assertEq(schedules.budgetOf(id, 3), 250e6 + 3);
        assertEq(schedules.budgetOf(id, 4), 0);
        assertEq(schedules.budgetOf(id, type(uint32).max), 0);
    }

    function testFuzz_the_budgets_add_up_to_the_total_and_none_is_under_five_dollars(
        uint256 total,
        uint256 slots
    ) public {
        slots = bound(slots, 1, 60);
        total = bound(total, slots * 5e6, 1e18);
        bytes32 id = createSchedule(alice, total, uint32(slots));
        uint256 sum;
        for (uint32 slot; slot < slots; slot++) {
            uint256 budget = schedules.budgetOf(id, slot);
            assertGe(budget, 5e6);
            assertLt(budget - schedules.budgetOf(id, 0), slots);
            sum += budget;
        }
        assertEq(sum, total);
    }

    /// Whatever the terms, time runs through the slots in order and each second belongs to one of them.
    function testFuzz_each_second_belongs_to_one_slot(
        uint256 slots,
        uint256 interval,
        uint256 delay,
        uint256 time
    ) public {
        IScheduleEscrow.ScheduleTerms memory terms;
        interval = bound(interval, 10 minutes, 365 days);
        slots = bound(slots, 1, 365 days / interval);
        terms = scheduleTerms(slots * 5e6, uint32(slots));
        terms.interval = uint32(interval);
        terms.startAt = uint48(block.timestamp + bound(delay, 0, 91 days));
        bytes32 id = createSchedule(alice, terms);
        uint256 end = terms.startAt + slots * interval;
        time = bound(time, block.timestamp, end + 1 days);
        vm.warp(time);
        (bool due, uint32 slot, uint48 opensAt, uint48 closesAt) = schedules.slotNow(id);
        assertEq(due, time >= terms.startAt && time < end);
        if (due) {
            assertLt(slot, slots);
            assertEq(opensAt, terms.startAt + slot * interval);
            assertEq(closesAt, opensAt + interval);
            assertLe(opensAt, time);
            assertLt(time, closesAt);
        } else {
            assertEq(slot, time >= end ? slots : 0);
        }
    }

    function test_an_unknown_schedule_reads_as_nothing_and_does_nothing() public {
        bytes32 id = keccak256("unknown");
        assertTrue(schedules.stateOf(id) == IOrderEscrow.State.None);
        assertEq(schedules.ownerOf(id), address(0));
        assertEq(schedules.armedAt(id), 0);
        IScheduleEscrow.Schedule memory nothing;
        assertEq(abi.encode(schedules.scheduleOf(id)), abi.encode(nothing));
        bytes memory unknown = abi.encodeWithSelector(IOrderEscrow.UnknownOrder.selector, id);
        vm.expectRevert(unknown);
        schedules.slotNow(id);
        vm.expectRevert(unknown);
        schedules.budgetOf(id, 0);
        vm.expectRevert(unknown);
        schedules.floorOf(id);
        vm.expectRevert(unknown);
        schedules.toleranceBps(id);
        vm.expectRevert(unknown);
        schedules.triggered(id);
        vm.expectRevert(unknown);
        schedules.arm(id);
        vm.expectRevert(unknown);
        schedules.disarm(id);
        vm.expectRevert(unknown);
        schedules.cancel(id);
        vm.expectRevert(unknown);
        schedules.sendBack(id);
        vm.expectRevert(unknown);
        schedules.fill(id, new SwapCall[](0), keeper);
    }

    function _seesSlot(bytes32 id, bool due, uint256 slot, uint256 opensAt, uint256 closesAt) private view {
        (bool isDue, uint32 seen, uint48 opens, uint48 closes) = schedules.slotNow(id);
        assertEq(isDue, due, "due");
        assertEq(seen, slot, "slot");
        assertEq(opens, opensAt, "opens");
        assertEq(closes, closesAt, "closes");
    }

    function _refusesTerms(IScheduleEscrow.ScheduleTerms memory terms, string memory what) private {
        _refuses(terms, abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, what));
    }

    function _refuses(IScheduleEscrow.ScheduleTerms memory terms, bytes memory reason) private {
        usdg.mint(alice, terms.total);
        vm.startPrank(alice);
        usdg.approve(address(schedules), terms.total);
        vm.expectRevert(reason);
        schedules.create(terms);
        vm.stopPrank();
    }
}
