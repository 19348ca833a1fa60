// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {IScheduleEscrow} from "../../src/interfaces/IScheduleEscrow.sol";
import {FillPricing} from "../../src/orders/FillPricing.sol";
import {TestToken} from "../support/TestToken.sol";
import {OrderFixture} from "./OrderFixture.sol";

/// What the fill of a slot buys, spends and pays, against the genuine pools and hostile surroundings.
contract ScheduleFillsTest is OrderFixture {
    uint256 private constant TOTAL = 2_000e6; // two daily slots
    uint256 private constant SLICE = 1_000e6;

    function setUp() public {
        deployWorld();
    }

    // ---------------------------------------------------------------- fill

    function test_a_slot_buys_for_the_owner_and_returns_what_is_left_of_its_budget() public {
        bytes32 id = createSchedule(alice, TOTAL, 2);
        (bool triggered,) = schedules.triggered(id);
        assertTrue(triggered);
        uint256 floor = schedules.floorOf(id);
        uint256 treasuryBefore = usdg.balanceOf(treasury);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        vm.recordLogs();
        vm.prank(keeper);
        uint256 fee = schedules.fill(id, swaps, address(0));

        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 refund) =
            lastFill(address(schedules));
        assertTold(id, alice, keeper, vault.balanceOf(alice));
        assertGe(vault.balanceOf(alice), floor);
        assertEq(fee, schedules.executorFeeOf(gross));
        assertEq(executorFee, fee);
        assertEq(usdg.balanceOf(keeper), fee);
        assertEq(usdg.balanceOf(alice), refund);
        assertEq(usdg.balanceOf(treasury) - treasuryBefore, protocolFee);
        assertEq(gross + protocolFee + executorFee + refund, SLICE);
        assertEq(usdg.balanceOf(address(schedules)), SLICE);
        assertEq(usdg.allowance(address(schedules), address(zapper)), 0);
        assertTrue(schedules.stateOf(id) == IOrderEscrow.State.Open);
        assertEq(schedules.scheduleOf(id).remaining, SLICE);
    }

    function test_the_floor_is_the_due_slots_budget_at_the_lower_of_reference_and_spot() public {
        bytes32 id = createSchedule(alice, 2 * SLICE + 1, 2);
        uint256 gross = FillPricing.grossWithin(SLICE);
        uint256 nav = oracle.referenceNav(address(vault));
        moveNav(10_500);
        assertEq(schedules.floorOf(id), FillPricing.buyFloor(gross, nav, 100));
        moveNav(9_000);
        uint256 spot = oracle.spotNav(address(vault));
        assertLt(spot, oracle.referenceNav(address(vault)));
        assertEq(schedules.floorOf(id), FillPricing.buyFloor(gross, spot, 100));
    }

    function test_a_fill_that_buys_too_dear_reverts_with_both_figures_and_leaves_the_slot_due() public {
        bytes32 id = createSchedule(alice, TOTAL, 2);
        moveNav(10_200);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        uint256 floor = schedules.floorOf(id);
        try schedules.fill(id, swaps, keeper) {
            fail("filled under its floor");
        } catch (bytes memory reason) {
            (bytes32 who, uint256 got, uint256 wanted) = belowFloor(reason);
            assertEq(who, id);
            assertEq(wanted, floor);
            assertLt(got, floor);
        }
        assertEq(usdg.balanceOf(address(schedules)), TOTAL);
        assertEq(schedules.scheduleOf(id).filled, 0);
        (bool due,,,) = schedules.slotNow(id);
        assertTrue(due);
        moveNav(10_000);
        schedules.fill(id, slotSwaps(id, 0), keeper);
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_a_fill_that_spends_less_still_owes_the_whole_slots_shares(uint256 part) public {
        part = bound(part, 1, 10_000);
        bytes32 id = createSchedule(alice, TOTAL, 2);
        uint256 floor = schedules.floorOf(id);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(SLICE) * part / 10_000);
        vm.recordLogs();
        try schedules.fill(id, swaps, keeper) {
            (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 refund) =
                lastFill(address(schedules));
            assertGe(vault.balanceOf(alice), floor);
            assertEq(executorFee, schedules.executorFeeOf(gross));
            assertEq(usdg.balanceOf(alice), refund);
            assertEq(gross + protocolFee + executorFee + refund, SLICE);
            assertEq(usdg.balanceOf(address(schedules)), SLICE);
        } catch (bytes memory reason) {
            assertLt(part, 9_950);
            if (bytes4(reason) == IOrderEscrow.BelowFloor.selector) {
                (, uint256 got, uint256 wanted) = belowFloor(reason);
                assertEq(wanted, floor);
                assertLt(got, wanted);
            }
            assertEq(usdg.balanceOf(address(schedules)), TOTAL);
        }
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_every_base_unit_of_a_fill_is_accounted_for(uint256 slice, uint256 donated) public {
        slice = bound(slice, 5e6, 15_000e6);
        donated = bound(donated, 0, 1_000e6);
        bytes32 id = createSchedule(alice, slice * 3, 3);
        bytes32 other = createSchedule(bob, 77e6, 1);
        usdg.mint(address(schedules), donated);
        uint256 treasuryBefore = usdg.balanceOf(treasury);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        uint256 floor = schedules.floorOf(id);
        vm.recordLogs();
        vm.prank(keeper);
        schedules.fill(id, swaps, address(0));
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 refund) =
            lastFill(address(schedules));
        assertEq(gross + protocolFee + executorFee + refund, slice);
        assertGe(vault.balanceOf(alice), floor);
        assertEq(usdg.balanceOf(alice), refund);
        assertEq(usdg.balanceOf(keeper), executorFee);
        assertEq(usdg.balanceOf(treasury) - treasuryBefore, protocolFee);
        assertEq(usdg.balanceOf(address(schedules)), donated + slice * 2 + 77e6);
        assertEq(usdg.allowance(address(schedules), address(zapper)), 0);
        vm.prank(bob);
        schedules.cancel(other);
        assertEq(usdg.balanceOf(bob), 77e6);
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_a_filler_who_sandwiches_its_own_fill_cannot_go_under_the_floor(uint256 pushBps) public {
        pushBps = bound(pushBps, 0, 5_000);
        bytes32 id = createSchedule(alice, TOTAL, 2);
        uint256 referenceNav = oracle.referenceNav(address(vault));
        uint256 honest = FillPricing.buyFloor(FillPricing.grossWithin(SLICE), referenceNav, 100);
        moveNav(10_000 + pushBps);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        try schedules.fill(id, swaps, keeper) {
            assertGe(vault.balanceOf(alice), honest);
            assertLe(pushBps, 100);
        } catch (bytes memory reason) {
            (, uint256 got, uint256 wanted) = belowFloor(reason);
            assertGe(wanted, honest);
            assertLt(got, wanted);
            assertEq(vault.balanceOf(alice), 0);
            assertEq(usdg.balanceOf(address(schedules)), TOTAL);
        }
    }

    /// Neither the money of its own later slots nor that of other schedules is within a fill's reach.
    function test_swaps_that_want_more_than_the_slots_budget_revert() public {
        bytes32 id = createSchedule(alice, TOTAL, 2);
        createSchedule(bob, TOTAL, 2);
        SwapCall[] memory swaps = buySwaps(SLICE * 3 / 2);
        vm.expectRevert();
        schedules.fill(id, swaps, keeper);
        swaps = buySwaps(SLICE);
        vm.expectRevert();
        schedules.fill(id, swaps, keeper);
    }

    function test_the_executor_argument_is_paid_and_zero_means_the_sender() public {
        bytes32 id = createSchedule(alice, TOTAL, 2);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        vm.prank(keeper);
        uint256 fee = schedules.fill(id, swaps, bob);
        assertEq(usdg.balanceOf(bob), fee);
        assertEq(usdg.balanceOf(keeper), 0);
        warpWithReference(vm.getBlockTimestamp() + 1 days);
        swaps = slotSwaps(id, 1);
        address stranger = makeAddr("stranger with nothing");
        vm.prank(stranger);
        fee = schedules.fill(id, swaps, address(0));
        assertEq(usdg.balanceOf(stranger), fee);
    }

    function test_the_protocols_own_addresses_are_refused_as_executor() public {
        bytes32 id = createSchedule(alice, TOTAL, 2);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        address[8] memory refused = [
            address(schedules),
            address(vault),
            address(zapper),
            address(usdg),
            address(registry),
            address(oracle),
            swapRouter,
            address(pause)
        ];
        for (uint256 i; i < refused.length; i++) {
            vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BadExecutor.selector, refused[i]));
            schedules.fill(id, swaps, refused[i]);
        }
    }

    function test_without_a_reference_a_due_slot_waits() public {
        bytes32 id = createSchedule(alice, TOTAL, 2);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        blindOracle();
        vm.expectPartialRevert(INavOracle.NoReference.selector);
        schedules.fill(id, swaps, keeper);
        (bool triggered, uint256 nav) = schedules.triggered(id);
        assertFalse(triggered);
        assertEq(nav, 0);
        (bool due,,,) = schedules.slotNow(id);
        assertTrue(due);
    }

    // ---------------------------------------------------------------- hostile surroundings

    function test_a_blocklisted_owner_holds_up_nobody_else() public {
        bytes32 blocked = createSchedule(alice, TOTAL, 2);
        bytes32 free = createSchedule(bob, TOTAL, 2);
        usdg.setBlocked(alice, true);
        SwapCall[] memory swaps = slotSwaps(blocked, 0);
        vm.expectRevert(abi.encodeWithSelector(TestToken.Blocked.selector, alice));
        schedules.fill(blocked, swaps, keeper);
        schedules.fill(free, swaps, keeper);
        warpWithReference(vm.getBlockTimestamp() + 2 days);
        vm.expectRevert(abi.encodeWithSelector(TestToken.Blocked.selector, alice));
        schedules.sendBack(blocked);
        schedules.sendBack(free);
        assertEq(usdg.balanceOf(address(schedules)), TOTAL);
        assertTrue(schedules.stateOf(blocked) == IOrderEscrow.State.Open);
        usdg.setBlocked(alice, false);
        schedules.sendBack(blocked);
        assertEq(usdg.balanceOf(alice), TOTAL);
    }

    function test_donations_change_no_floor_or_payout() public {
        bytes32 id = createSchedule(alice, TOTAL, 2);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        uint256 floor = schedules.floorOf(id);
        uint256 snapshot = vm.snapshotState();
        schedules.fill(id, swaps, keeper);
        (uint256 shares, uint256 refund) = (vault.balanceOf(alice), usdg.balanceOf(alice));
        assertTrue(vm.revertToState(snapshot));
        usdg.mint(address(schedules), 1_234e6);
        usdg.mint(address(zapper), 77);
        giveShares(address(schedules), 3e18);
        assertEq(schedules.floorOf(id), floor);
        schedules.fill(id, swaps, keeper);
        assertEq(vault.balanceOf(alice), shares);
        assertEq(usdg.balanceOf(alice), refund);
        vm.prank(alice);
        schedules.cancel(id);
        assertEq(usdg.balanceOf(alice), refund + SLICE);
        assertEq(usdg.balanceOf(address(schedules)), 1_234e6);
        assertEq(vault.balanceOf(address(schedules)), 3e18);
    }

    function test_a_constituent_that_calls_back_reaches_no_entry_of_the_escrow() public {
        bytes32 id = createSchedule(alice, TOTAL, 2);
        bytes32 other = createSchedule(bob, TOTAL, 2);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        bytes[7] memory entries = [
            abi.encodeCall(schedules.fill, (other, swaps, keeper)),
            abi.encodeCall(schedules.fill, (id, swaps, keeper)),
            abi.encodeCall(schedules.arm, (other)),
            abi.encodeCall(schedules.disarm, (other)),
            abi.encodeCall(schedules.cancel, (other)),
            abi.encodeCall(schedules.sendBack, (other)),
            abi.encodeCall(schedules.create, (scheduleTerms(TOTAL, 2)))
        ];
        for (uint256 i; i < entries.length; i++) {
            uint256 snapshot = vm.snapshotState();
            callBackDuringTransfer(address(schedules), entries[i]);
            schedules.fill(id, swaps, keeper);
            assertReentryRefused();
            assertTrue(vm.revertToState(snapshot));
        }
    }

    /// Money that arrives in the middle of the last fill is nobody's rest.
    function test_a_donation_in_the_middle_of_the_last_fill_changes_no_payout() public {
        bytes32 id = createSchedule(alice, TOTAL, 2);
        warpWithReference(vm.getBlockTimestamp() + 1 days); // the first slot is skipped
        SwapCall[] memory swaps = slotSwaps(id, 1);
        uint256 snapshot = vm.snapshotState();
        schedules.fill(id, swaps, keeper);
        uint256 returned = usdg.balanceOf(alice);
        assertGe(returned, SLICE);
        assertTrue(vm.revertToState(snapshot));
        callBackDuringTransfer(address(usdg), abi.encodeCall(usdg.mint, (address(schedules), 500e6)));
        schedules.fill(id, swaps, keeper);
        assertEq(usdg.balanceOf(alice), returned);
        assertEq(usdg.balanceOf(address(schedules)), 500e6);
    }

    /// MIXED holds USDG itself, which no swap buys and which is part of the gross all the same.
    function test_a_schedule_of_a_basket_that_holds_usdg_accounts_for_every_base_unit() public {
        vault = mixed;
        bytes32 id = createSchedule(alice, SLICE, 1);
        uint256 floor = schedules.floorOf(id);
        SwapCall[] memory swaps = slotSwaps(id, 0);
        vm.recordLogs();
        schedules.fill(id, swaps, keeper);
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 refund) =
            lastFill(address(schedules));
        assertEq(gross + protocolFee + executorFee + refund, SLICE);
        assertEq(usdg.balanceOf(alice), refund);
        assertGe(vault.balanceOf(alice), floor);
        assertEscrowsEmpty();
    }
}
