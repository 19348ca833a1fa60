// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IBasketZapper, SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IExitEscrow} from "../../src/interfaces/IExitEscrow.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {FillPricing} from "../../src/orders/FillPricing.sol";
import {OrderFixture} from "./OrderFixture.sol";

/// Stop-losses, take-profits and brackets against the genuine pools.
contract ExitEscrowTest is OrderFixture {
    uint256 private constant SHARES = 10e18;

    function setUp() public {
        deployWorld();
    }

    // ---------------------------------------------------------------- create

    function test_create_escrows_exactly_the_shares_and_records_the_terms_as_resolved() public {
        giveShares(alice, SHARES + 7);
        IExitEscrow.ExitTerms memory terms = exitTerms(SHARES, 90e18, 130e18);
        terms.hardFloorNav = 80e18;
        bytes32 expected = keccak256(abi.encode(block.chainid, address(exits), alice, uint256(0)));
        IExitEscrow.ExitTerms memory resolved = exitTerms(SHARES, 90e18, 130e18);
        (resolved.hardFloorNav, resolved.slippageBps, resolved.capBps) = (80e18, 100, 500);
        vm.startPrank(alice);
        vault.approve(address(exits), SHARES);
        vm.expectEmit(address(exits));
        emit IExitEscrow.ExitCreated(expected, alice, address(vault), resolved);
        bytes32 id = exits.create(terms);
        vm.stopPrank();

        assertEq(id, expected);
        assertEq(vault.balanceOf(alice), 7);
        assertEq(vault.balanceOf(address(exits)), SHARES);
        IExitEscrow.ExitOrder memory order = exits.orderOf(id);
        assertEq(order.owner, alice);
        assertEq(order.armedAt, 0);
        assertTrue(order.state == IOrderEscrow.State.Open);
        assertEq(abi.encode(order.terms), abi.encode(resolved));
        assertEq(exits.ownerOf(id), alice);
        assertTrue(exits.stateOf(id) == IOrderEscrow.State.Open);
        assertEq(exits.toleranceBps(id), 100);
        assertEq(exits.armedAt(id), 0);
    }

    function test_no_two_orders_share_an_id() public {
        bytes32 first = createExit(alice, SHARES, 90e18, 0);
        bytes32 second = createExit(alice, SHARES, 90e18, 0);
        bytes32 third = createExit(bob, SHARES, 90e18, 0);
        assertNotEq(first, second);
        assertEq(third, keccak256(abi.encode(block.chainid, address(exits), bob, uint256(2))));
        assertEq(exits.orderCount(), 3);
    }

    function test_an_exit_names_a_price_and_its_stop_lies_below_its_take_profit() public {
        _refuses(exitTerms(SHARES, 0, 0), "neither stop nor take-profit");
        _refuses(exitTerms(SHARES, 110e18, 110e18), "stop not below take-profit");
        _refuses(exitTerms(SHARES, 111e18, 110e18), "stop not below take-profit");
    }

    function test_the_deadline_lies_one_hour_to_ninety_one_days_ahead() public {
        IExitEscrow.ExitTerms memory terms = exitTerms(SHARES, 90e18, 0);
        terms.deadline = uint48(block.timestamp + 1 hours - 1);
        _refuses(terms, "deadline too soon");
        terms.deadline = uint48(block.timestamp + 91 days + 1);
        _refuses(terms, "deadline too far");
        terms.deadline = uint48(block.timestamp + 1 hours);
        createExit(alice, terms);
        terms.deadline = uint48(block.timestamp + 91 days);
        createExit(alice, terms);
    }

    function test_the_tolerance_is_at_most_its_cap_and_the_cap_at_most_500() public {
        IExitEscrow.ExitTerms memory terms = exitTerms(SHARES, 90e18, 0);
        terms.capBps = 501;
        _refuses(terms, "cap above 500 bps");
        (terms.slippageBps, terms.capBps) = (301, 300);
        _refuses(terms, "slippage above cap");
        (terms.slippageBps, terms.capBps) = (0, 99); // the default tolerance is 100
        _refuses(terms, "slippage above cap");
        (terms.slippageBps, terms.capBps) = (300, 300);
        bytes32 id = createExit(alice, terms);
        assertEq(exits.toleranceBps(id), 300);
    }

    function test_an_exit_is_worth_at_least_five_dollars() public {
        uint256 nav = oracle.referenceNav(address(vault));
        uint256 enough = (5e6 * 1e30 + nav - 1) / nav;
        createExit(alice, enough, 90e18, 0);
        giveShares(alice, enough);
        vm.startPrank(alice);
        vault.approve(address(exits), enough);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BelowMinimum.selector, 5e6 - 1, 5e6));
        exits.create(exitTerms(enough - 1, 90e18, 0));
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BelowMinimum.selector, 0, 5e6));
        exits.create(exitTerms(0, 90e18, 0));
        vm.stopPrank();
    }

    function test_an_exit_can_be_placed_while_there_is_no_reference_and_is_valued_at_spot() public {
        giveShares(alice, SHARES);
        blindOracle();
        vm.startPrank(alice);
        vault.approve(address(exits), SHARES);
        vm.expectPartialRevert(IOrderEscrow.BelowMinimum.selector);
        exits.create(exitTerms(0.04e18, 90e18, 0));
        bytes32 id = exits.create(exitTerms(SHARES, 90e18, 0));
        vm.stopPrank();
        (bool triggered, uint256 nav) = exits.triggered(id);
        assertFalse(triggered);
        assertEq(nav, 0);
    }

    function test_only_vaults_set_up_for_orders_are_taken() public {
        IExitEscrow.ExitTerms memory terms = exitTerms(SHARES, 90e18, 0);
        terms.vault = disabledVault();
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.OrdersDisabled.selector, terms.vault));
        vm.prank(alice);
        exits.create(terms);
        terms.vault = address(usdg);
        vm.expectRevert();
        vm.prank(alice);
        exits.create(terms);
    }

    function test_create_without_shares_or_approval_leaves_nothing_behind() public {
        vm.expectRevert();
        vm.prank(alice);
        exits.create(exitTerms(SHARES, 90e18, 0));
        assertEq(exits.orderCount(), 0);
    }

    // ---------------------------------------------------------------- fill

    function test_a_stop_pays_the_owner_all_but_the_two_fees() public {
        bytes32 id = createExit(alice, SHARES, 95e18, 0);
        moveNav(9_400);
        settleReference();
        SwapCall[] memory swaps = sellSwaps(SHARES);
        uint256 treasuryBefore = usdg.balanceOf(treasury);
        uint256 floor = exits.floorOf(id);

        vm.recordLogs();
        vm.prank(keeper);
        uint256 fee = exits.fill(id, swaps, address(0));

        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 net) = lastFill(address(exits));
        assertTold(id, alice, keeper, SHARES);
        assertGe(gross, floor);
        assertEq(fee, executorFee);
        assertEq(executorFee, exits.executorFeeOf(gross));
        assertEq(usdg.balanceOf(keeper), executorFee);
        assertEq(usdg.balanceOf(alice), net);
        assertEq(usdg.balanceOf(treasury) - treasuryBefore, protocolFee);
        assertEq(net + executorFee + protocolFee, gross);
        assertTrue(exits.stateOf(id) == IOrderEscrow.State.Filled);
        assertEscrowsEmpty();
    }

    function test_a_stop_fires_at_its_price_exactly_and_not_one_unit_above() public {
        settleReference();
        uint256 nav = oracle.referenceNav(address(vault));
        bytes32 above = createExit(alice, SHARES, nav - 1, 0);
        bytes32 exact = createExit(alice, SHARES, nav, 0);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotTriggered.selector, above, nav));
        exits.fill(above, swaps, keeper);
        (bool triggered, uint256 seen) = exits.triggered(above);
        assertFalse(triggered);
        assertEq(seen, nav);
        (triggered,) = exits.triggered(exact);
        assertTrue(triggered);
        exits.fill(exact, swaps, keeper);
    }

    function test_a_take_profit_fires_at_its_price_exactly_and_not_one_unit_below() public {
        settleReference();
        uint256 nav = oracle.referenceNav(address(vault));
        bytes32 below = createExit(alice, SHARES, 0, nav + 1);
        bytes32 exact = createExit(alice, SHARES, 0, nav);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotTriggered.selector, below, nav));
        exits.fill(below, swaps, keeper);
        exits.fill(exact, swaps, keeper);
        assertGt(usdg.balanceOf(alice), 0);
    }

    function test_one_leg_of_a_bracket_ends_the_other() public {
        bytes32 id = createExit(alice, SHARES, 90e18, 105e18);
        giveShares(bob, SHARES);
        vm.prank(bob);
        vault.transfer(address(exits), SHARES); // what a second fill could feed on
        moveNav(10_600);
        settleReference();
        exits.fill(id, sellSwaps(SHARES), keeper);
        moveNav(8_000);
        settleReference();
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotOpen.selector, id, IOrderEscrow.State.Filled));
        exits.fill(id, swaps, keeper);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotOpen.selector, id, IOrderEscrow.State.Filled));
        vm.prank(alice);
        exits.cancel(id);
    }

    function test_a_spot_crash_alone_triggers_nothing() public {
        bytes32 id = createExit(alice, SHARES, 95e18, 0);
        settleReference();
        moveNav(5_000);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.expectPartialRevert(IOrderEscrow.NotTriggered.selector);
        exits.fill(id, swaps, keeper);
    }

    function test_a_fill_under_the_floor_of_the_reference_reverts_with_both_figures() public {
        bytes32 id = createExit(alice, SHARES, 95e18, 0);
        moveNav(9_400);
        settleReference();
        moveNav(9_250); // 1.6% under the reference, the tolerance is 1%
        SwapCall[] memory swaps = sellSwaps(SHARES);
        uint256 floor = exits.floorOf(id);
        vm.expectPartialRevert(IOrderEscrow.BelowFloor.selector);
        exits.fill(id, swaps, keeper);
        try exits.fill(id, swaps, keeper) {
            fail("filled under its floor");
        } catch (bytes memory reason) {
            (bytes32 who, uint256 got, uint256 wanted) = belowFloor(reason);
            assertEq(who, id);
            assertEq(wanted, floor);
            assertLt(got, floor);
        }
        assertEq(vault.balanceOf(address(exits)), SHARES);
    }

    function test_the_floor_follows_spot_where_spot_is_above_the_reference() public {
        bytes32 id = createExit(alice, SHARES, 120e18, 0);
        settleReference();
        moveNav(11_000);
        uint256 spot = oracle.spotNav(address(vault));
        assertGt(spot, oracle.referenceNav(address(vault)));
        uint256 tolerated = SHARES * spot * 9_900;
        uint256 floor = exits.floorOf(id);
        assertGe(floor * 1e34, tolerated);
        assertLt((floor - 1) * 1e34, tolerated);
    }

    function test_the_owners_hard_floor_outlasts_the_reference() public {
        IExitEscrow.ExitTerms memory terms = exitTerms(SHARES, 95e18, 0);
        terms.hardFloorNav = 94e18;
        bytes32 id = createExit(alice, terms);
        moveNav(9_400);
        settleReference();
        assertEq(exits.floorOf(id), SHARES * 94e18 / 1e30);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.expectPartialRevert(IOrderEscrow.BelowFloor.selector);
        exits.fill(id, swaps, keeper);
        // Armed to its cap it still holds.
        exits.arm(id);
        skip(30 minutes);
        vm.expectPartialRevert(IOrderEscrow.BelowFloor.selector);
        exits.fill(id, swaps, keeper);
    }

    /// The filler owns the block: it pushes the pools before the fill and takes its profit after. The reference does
    /// not move within the block, so the owner gets at least the floor or nothing happens.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_a_filler_who_sandwiches_its_own_fill_cannot_go_under_the_floor(uint256 pushBps) public {
        pushBps = bound(pushBps, 0, 3_000);
        bytes32 id = createExit(alice, SHARES, 95e18, 0);
        moveNav(9_400);
        settleReference();
        uint256 honest = FillPricing.exitFloor(SHARES, oracle.referenceNav(address(vault)), 100, 0);
        moveNav(9_400 * (10_000 - pushBps) / 10_000);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.recordLogs();
        vm.prank(keeper);
        try exits.fill(id, swaps, keeper) {
            (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 net) = lastFill(address(exits));
            assertGe(gross, honest);
            assertEq(usdg.balanceOf(alice), gross - protocolFee - executorFee);
            assertEq(net, usdg.balanceOf(alice));
            assertLe(pushBps, 100);
        } catch (bytes memory reason) {
            (, uint256 got, uint256 wanted) = belowFloor(reason);
            assertGe(wanted, honest);
            assertLt(got, wanted);
            assertEq(usdg.balanceOf(alice), 0);
            assertEq(vault.balanceOf(address(exits)), SHARES);
        }
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_every_base_unit_of_a_fill_is_accounted_for(
        uint256 shares,
        uint256 navBps,
        uint256 donated
    ) public {
        shares = bound(shares, 0.2e18, 100e18);
        navBps = bound(navBps, 5_000, 15_000);
        donated = bound(donated, 0, 1_000e6);
        bytes32 id = createExit(alice, shares, 1e18, 100e18 * navBps / 10_000 * 90 / 100);
        usdg.mint(address(exits), donated);
        moveNav(navBps);
        settleReference();
        (bool triggered,) = exits.triggered(id);
        assertTrue(triggered);
        uint256 treasuryBefore = usdg.balanceOf(treasury);
        SwapCall[] memory swaps = sellSwaps(shares);
        uint256 floor = exits.floorOf(id);
        vm.recordLogs();
        vm.prank(keeper);
        exits.fill(id, swaps, address(0));
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 net) = lastFill(address(exits));
        assertGe(gross, floor);
        assertEq(net + protocolFee + executorFee, gross);
        assertEq(usdg.balanceOf(alice), net);
        assertEq(usdg.balanceOf(keeper), executorFee);
        assertEq(usdg.balanceOf(treasury) - treasuryBefore, protocolFee);
        assertEq(usdg.balanceOf(address(exits)), donated);
        assertEq(vault.balanceOf(address(exits)), 0);
        assertEq(vault.allowance(address(exits), address(zapper)), 0);
    }

    function test_the_executor_argument_is_paid_and_zero_means_the_sender() public {
        bytes32 first = triggeredExit();
        bytes32 second = createExit(alice, SHARES, 95e18, 0);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.prank(keeper);
        uint256 fee = exits.fill(first, swaps, bob);
        assertEq(usdg.balanceOf(bob), fee);
        assertEq(usdg.balanceOf(keeper), 0);
        vm.prank(keeper);
        fee = exits.fill(second, swaps, address(0));
        assertEq(usdg.balanceOf(keeper), fee);
    }

    function test_the_protocols_own_addresses_are_refused_as_executor() public {
        bytes32 id = triggeredExit();
        SwapCall[] memory swaps = sellSwaps(SHARES);
        address[8] memory refused = [
            address(exits),
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
            exits.fill(id, swaps, refused[i]);
            vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BadExecutor.selector, refused[i]));
            vm.prank(refused[i]);
            exits.fill(id, swaps, address(0));
        }
    }

    function test_a_keeper_needs_neither_balance_nor_approval() public {
        bytes32 id = triggeredExit();
        address stranger = makeAddr("stranger with nothing");
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.prank(stranger);
        uint256 fee = exits.fill(id, swaps, stranger);
        assertEq(usdg.balanceOf(stranger), fee);
    }

    function test_a_paused_protocol_stops_fills_and_arming_only() public {
        bytes32 id = triggeredExit();
        SwapCall[] memory swaps = sellSwaps(SHARES);
        pauseProtocol();
        vm.expectRevert(IOrderEscrow.Paused.selector);
        exits.fill(id, swaps, keeper);
        vm.expectRevert(IOrderEscrow.Paused.selector);
        exits.arm(id);
        (bool triggered,) = exits.triggered(id);
        assertFalse(triggered);
        unpauseProtocol();
        exits.fill(id, swaps, keeper);
    }

    function test_without_a_reference_nothing_fills() public {
        bytes32 id = triggeredExit();
        SwapCall[] memory swaps = sellSwaps(SHARES);
        blindOracle();
        vm.expectPartialRevert(INavOracle.NoReference.selector);
        exits.fill(id, swaps, keeper);
        vm.expectPartialRevert(INavOracle.NoReference.selector);
        exits.arm(id);
        vm.expectPartialRevert(INavOracle.NoReference.selector);
        exits.floorOf(id);
    }

    function test_the_reason_of_a_failing_swap_reaches_the_caller() public {
        bytes32 id = triggeredExit();
        SwapCall[] memory swaps = sellSwaps(SHARES);
        swaps[0].router = address(this);
        vm.expectPartialRevert(IBasketZapper.BadSwap.selector);
        exits.fill(id, swaps, keeper);
    }

    // ---------------------------------------------------------------- expiry

    function test_an_order_fills_until_one_second_before_its_deadline_and_then_only_goes_back() public {
        bytes32 late = createExit(alice, SHARES, 95e18, 0);
        bytes32 early = createExit(bob, SHARES, 95e18, 0);
        moveNav(9_400);
        settleReference();
        uint256 deadline = exits.orderOf(late).terms.deadline;
        warpWithReference(deadline - 1);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotExpired.selector, late));
        exits.sendBack(late);
        exits.fill(early, sellSwaps(SHARES), keeper);

        skip(1);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.OrderIsExpired.selector, late));
        exits.fill(late, swaps, keeper);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.OrderIsExpired.selector, late));
        exits.arm(late);
        (bool triggered,) = exits.triggered(late);
        assertFalse(triggered);

        vm.expectEmit(address(exits));
        emit IOrderEscrow.OrderExpired(late, alice);
        vm.prank(keeper);
        exits.sendBack(late);
        assertEq(vault.balanceOf(alice), SHARES);
        assertTrue(exits.stateOf(late) == IOrderEscrow.State.Expired);
        vm.expectRevert(
            abi.encodeWithSelector(IOrderEscrow.NotOpen.selector, late, IOrderEscrow.State.Expired)
        );
        exits.sendBack(late);
        assertEscrowsEmpty();
    }

    // ---------------------------------------------------------------- the price auction

    function test_a_missed_floor_is_armed_and_filled_as_the_tolerance_widens() public {
        bytes32 id = createExit(alice, SHARES, 95e18, 0);
        moveNav(9_400);
        settleReference();
        moveNav(9_210); // 2% under the reference
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.expectPartialRevert(IOrderEscrow.BelowFloor.selector);
        exits.fill(id, swaps, keeper);

        uint48 time = uint48(vm.getBlockTimestamp());
        vm.expectEmit(address(exits));
        emit IOrderEscrow.OrderArmed(id, time);
        vm.prank(keeper);
        exits.arm(id);
        assertEq(exits.armedAt(id), time);
        assertEq(exits.orderOf(id).armedAt, time);
        assertEq(exits.toleranceBps(id), 100);
        vm.expectPartialRevert(IOrderEscrow.BelowFloor.selector);
        exits.fill(id, swaps, keeper);

        moveNav(9_400);
        skip(15 minutes);
        assertEq(exits.toleranceBps(id), 300);
        moveNav(9_210);
        uint256 floor = exits.floorOf(id);
        vm.recordLogs();
        exits.fill(id, swaps, keeper);
        (uint256 gross,,,) = lastFill(address(exits));
        assertGe(gross, floor);
        assertEq(exits.armedAt(id), 0);
        assertEq(exits.toleranceBps(id), 100);
    }

    function test_arming_needs_the_trigger_and_an_open_order() public {
        bytes32 id = createExit(alice, SHARES, 95e18, 0);
        settleReference();
        vm.expectPartialRevert(IOrderEscrow.NotTriggered.selector);
        exits.arm(id);
        bytes32 unknown = keccak256("unknown");
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.UnknownOrder.selector, unknown));
        exits.arm(unknown);
        vm.prank(alice);
        exits.cancel(id);
        vm.expectPartialRevert(IOrderEscrow.NotOpen.selector);
        exits.arm(id);
    }

    function test_nobody_resets_the_clock_of_an_armed_order() public {
        bytes32 id = triggeredExit();
        uint256 armed = vm.getBlockTimestamp();
        exits.arm(id);
        warpWithReference(armed + 60 minutes - 1);
        assertEq(exits.toleranceBps(id), 500);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.AlreadyArmed.selector, id, uint48(armed)));
        exits.arm(id);
        skip(1);
        assertEq(exits.toleranceBps(id), 100);
        assertEq(exits.armedAt(id), 0);
        assertEq(exits.orderOf(id).armedAt, 0);
        exits.arm(id);
        assertEq(exits.armedAt(id), uint48(armed + 60 minutes));
    }

    function test_anyone_disarms_once_the_trigger_is_false_and_not_before() public {
        bytes32 id = triggeredExit();
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotArmed.selector, id));
        exits.disarm(id);
        exits.arm(id);
        uint256 nav = oracle.referenceNav(address(vault));
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.StillTriggered.selector, id, nav));
        exits.disarm(id);
        moveNav(10_000);
        settleReference();
        vm.expectEmit(address(exits));
        emit IOrderEscrow.OrderDisarmed(id);
        vm.prank(bob);
        exits.disarm(id);
        assertEq(exits.armedAt(id), 0);
        assertEq(exits.toleranceBps(id), 100);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotArmed.selector, id));
        exits.disarm(id);
    }

    function test_an_arming_that_ran_out_needs_no_disarming() public {
        bytes32 id = triggeredExit();
        exits.arm(id);
        skip(60 minutes);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotArmed.selector, id));
        exits.disarm(id);
    }

    function test_nobody_stops_an_auction_by_blinding_the_oracle() public {
        bytes32 id = triggeredExit();
        exits.arm(id);
        blindOracle();
        vm.expectPartialRevert(INavOracle.NoReference.selector);
        exits.disarm(id);
        assertGt(exits.armedAt(id), 0);
    }

    function test_no_fill_while_the_trigger_is_false_even_when_armed() public {
        bytes32 id = triggeredExit();
        exits.arm(id);
        moveNav(10_000);
        settleReference();
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.expectPartialRevert(IOrderEscrow.NotTriggered.selector);
        exits.fill(id, swaps, keeper);
    }

    // ---------------------------------------------------------------- cancel

    /// Bits of `troubles`: armed, paused, no reference, expired.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_the_owner_cancels_in_every_open_state(uint256 troubles) public {
        bytes32 id = triggeredExit();
        if (troubles & 1 != 0) exits.arm(id);
        if (troubles & 2 != 0) pauseProtocol();
        if (troubles & 4 != 0) blindOracle();
        if (troubles & 8 != 0) vm.warp(exits.orderOf(id).terms.deadline + (troubles >> 4) % 365 days);
        if (troubles & 16 != 0) usdg.setPaused(true);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotOwner.selector, id));
        vm.prank(bob);
        exits.cancel(id);
        vm.expectEmit(address(exits));
        emit IOrderEscrow.OrderCancelled(id, alice);
        vm.prank(alice);
        exits.cancel(id);
        assertEq(vault.balanceOf(alice), SHARES);
        assertTrue(exits.stateOf(id) == IOrderEscrow.State.Cancelled);
        assertEq(exits.armedAt(id), 0);
        vm.expectRevert(
            abi.encodeWithSelector(IOrderEscrow.NotOpen.selector, id, IOrderEscrow.State.Cancelled)
        );
        vm.prank(alice);
        exits.cancel(id);
        assertEscrowsEmpty();
    }

    function test_an_unknown_order_reads_as_nothing_and_does_nothing() public {
        bytes32 id = keccak256("unknown");
        assertTrue(exits.stateOf(id) == IOrderEscrow.State.None);
        assertEq(exits.ownerOf(id), address(0));
        assertEq(exits.armedAt(id), 0);
        assertEq(exits.orderOf(id).terms.shares, 0);
        bytes memory unknown = abi.encodeWithSelector(IOrderEscrow.UnknownOrder.selector, id);
        vm.expectRevert(unknown);
        exits.toleranceBps(id);
        vm.expectRevert(unknown);
        exits.triggered(id);
        vm.expectRevert(unknown);
        exits.floorOf(id);
        vm.expectRevert(unknown);
        exits.cancel(id);
        vm.expectRevert(unknown);
        exits.sendBack(id);
        vm.expectRevert(unknown);
        exits.disarm(id);
        vm.expectRevert(unknown);
        exits.fill(id, new SwapCall[](0), keeper);
    }

    // ---------------------------------------------------------------- hostile surroundings

    function test_a_blocklisted_owner_holds_up_nobody_else() public {
        bytes32 blocked = createExit(alice, SHARES, 95e18, 0);
        bytes32 free = createExit(bob, SHARES, 95e18, 0);
        moveNav(9_400);
        settleReference();
        usdg.setBlocked(alice, true);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.expectRevert();
        exits.fill(blocked, swaps, keeper);
        exits.fill(free, sellSwaps(SHARES), keeper);
        assertGt(usdg.balanceOf(bob), 0);
        assertTrue(exits.stateOf(blocked) == IOrderEscrow.State.Open);
        vm.prank(alice); // shares know no blocklist
        exits.cancel(blocked);
        assertEq(vault.balanceOf(alice), SHARES);
    }

    function test_donations_change_no_floor_trigger_payout_or_ledger() public {
        bytes32 id = triggeredExit();
        SwapCall[] memory swaps = sellSwaps(SHARES);
        uint256 floor = exits.floorOf(id);
        uint256 snapshot = vm.snapshotState();
        exits.fill(id, swaps, keeper);
        (uint256 owner, uint256 fee) = (usdg.balanceOf(alice), usdg.balanceOf(keeper));
        assertTrue(vm.revertToState(snapshot));

        giveShares(address(exits), 3e18);
        usdg.mint(address(exits), 1_234e6);
        alfa.token.mint(address(exits), 5e18);
        assertEq(exits.floorOf(id), floor);
        exits.fill(id, swaps, keeper);
        assertEq(usdg.balanceOf(alice), owner);
        assertEq(usdg.balanceOf(keeper), fee);
        assertEq(vault.balanceOf(address(exits)), 3e18);
        assertEq(usdg.balanceOf(address(exits)), 1_234e6);
        assertEq(alfa.token.balanceOf(address(exits)), 5e18);
    }

    function test_a_constituent_that_calls_back_reaches_no_entry_of_the_escrow() public {
        bytes32 id = triggeredExit();
        bytes32 other = createExit(bob, SHARES, 95e18, 0);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        bytes[6] memory entries = [
            abi.encodeCall(exits.fill, (other, swaps, keeper)),
            abi.encodeCall(exits.fill, (id, swaps, keeper)),
            abi.encodeCall(exits.arm, (other)),
            abi.encodeCall(exits.disarm, (other)),
            abi.encodeCall(exits.cancel, (other)),
            abi.encodeCall(exits.sendBack, (other))
        ];
        for (uint256 i; i < entries.length; i++) {
            uint256 snapshot = vm.snapshotState();
            callBackDuringTransfer(address(exits), entries[i]);
            exits.fill(id, swaps, keeper);
            assertReentryRefused();
            assertTrue(vm.revertToState(snapshot));
        }
    }

    /// MIXED holds USDG itself, which no swap sells and which is part of the gross all the same.
    function test_an_exit_of_a_basket_that_holds_usdg_pays_out_like_any_other() public {
        vault = mixed;
        bytes32 id = createExit(alice, SHARES, 0, 50e18);
        uint256 floor = exits.floorOf(id);
        SwapCall[] memory swaps = sellSwaps(SHARES);
        vm.recordLogs();
        exits.fill(id, swaps, keeper);
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 net) = lastFill(address(exits));
        assertGe(gross, floor);
        assertEq(net + protocolFee + executorFee, gross);
        assertEq(usdg.balanceOf(alice), net);
        assertEscrowsEmpty();
    }

    function _refuses(IExitEscrow.ExitTerms memory terms, string memory what) private {
        giveShares(alice, terms.shares);
        vm.startPrank(alice);
        vault.approve(address(exits), terms.shares);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, what));
        exits.create(terms);
        vm.stopPrank();
    }

    /// Alice's stop at $95 with the reference at $94.
    function triggeredExit() private returns (bytes32 id) {
        id = createExit(alice, SHARES, 95e18, 0);
        moveNav(9_400);
        settleReference();
    }
}
