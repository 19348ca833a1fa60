// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IBasketZapper, SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {ILimitEscrow} from "../../src/interfaces/ILimitEscrow.sol";
import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {FillPricing} from "../../src/orders/FillPricing.sol";
import {LimitEscrow} from "../../src/orders/LimitEscrow.sol";
import {TestToken} from "../support/TestToken.sol";
import {OrderFixture} from "./OrderFixture.sol";

/// Resting buys against the genuine pools.
contract LimitEscrowTest is OrderFixture {
    uint256 private constant AMOUNT = 1_000e6;

    function setUp() public {
        deployWorld();
    }

    // ---------------------------------------------------------------- create

    function test_create_escrows_exactly_the_amount_and_records_the_terms_as_resolved() public {
        usdg.mint(alice, AMOUNT + 7);
        bytes32 expected = keccak256(abi.encode(block.chainid, address(limits), alice, uint256(0)));
        ILimitEscrow.LimitTerms memory resolved = limitTerms(AMOUNT, 95e18);
        (resolved.slippageBps, resolved.capBps) = (100, 500);
        vm.startPrank(alice);
        usdg.approve(address(limits), AMOUNT);
        vm.expectEmit(address(limits));
        emit ILimitEscrow.LimitCreated(expected, alice, address(vault), resolved);
        bytes32 id = limits.create(limitTerms(AMOUNT, 95e18));
        vm.stopPrank();

        assertEq(id, expected);
        assertEq(usdg.balanceOf(alice), 7);
        assertEq(usdg.balanceOf(address(limits)), AMOUNT);
        ILimitEscrow.LimitOrder memory order = limits.orderOf(id);
        assertEq(order.owner, alice);
        assertEq(order.armedAt, 0);
        assertTrue(order.state == IOrderEscrow.State.Open);
        assertEq(abi.encode(order.terms), abi.encode(resolved));
        assertEq(limits.ownerOf(id), alice);
        assertEq(limits.toleranceBps(id), 100);
    }

    function test_a_limit_is_at_least_five_dollars() public {
        createLimit(alice, 5e6, 95e18);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BelowMinimum.selector, 5e6 - 1, 5e6));
        limits.create(limitTerms(5e6 - 1, 95e18));
    }

    function test_limits_share_the_rules_of_deadline_tolerance_and_vault() public {
        ILimitEscrow.LimitTerms memory terms = limitTerms(AMOUNT, 95e18);
        terms.deadline = uint48(block.timestamp + 1 hours - 1);
        _refuses(terms, abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, "deadline too soon"));
        terms.deadline = uint48(block.timestamp + 91 days + 1);
        _refuses(terms, abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, "deadline too far"));
        terms = limitTerms(AMOUNT, 95e18);
        terms.capBps = 501;
        _refuses(terms, abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, "cap above 500 bps"));
        terms.capBps = 50;
        _refuses(terms, abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, "slippage above cap"));
        terms = limitTerms(AMOUNT, 95e18);
        terms.vault = disabledVault();
        _refuses(terms, abi.encodeWithSelector(IOrderEscrow.OrdersDisabled.selector, terms.vault));
        terms.vault = address(this);
        _refuses(terms, abi.encodeWithSelector(IOrderEscrow.OrdersDisabled.selector, address(this)));
    }

    function test_a_limit_can_rest_while_there_is_no_reference() public {
        blindOracle();
        bytes32 id = createLimit(alice, AMOUNT, 0);
        (bool triggered, uint256 nav) = limits.triggered(id);
        assertFalse(triggered);
        assertEq(nav, 0);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        vm.expectPartialRevert(INavOracle.NoReference.selector);
        limits.fill(id, swaps, keeper);
    }

    /// Were part of a transfer kept, one order's refund would come out of another's escrow.
    function test_a_cash_token_that_takes_a_fee_is_refused_at_create() public {
        usdg.mint(alice, AMOUNT);
        usdg.setMisbehaviour(TestToken.Misbehaviour.FeeOnTransfer);
        vm.startPrank(alice);
        usdg.approve(address(limits), AMOUNT);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, "transfer"));
        limits.create(limitTerms(AMOUNT, 95e18));
        vm.stopPrank();
    }

    function test_an_escrow_and_its_zapper_agree_on_the_cash_token() public {
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BadTerms.selector, "usdg"));
        new LimitEscrow(
            address(alfa.token), address(registry), address(oracle), address(zapper), address(pause)
        );
    }

    // ---------------------------------------------------------------- fill

    function test_a_limit_buys_for_the_owner_and_returns_what_is_left() public {
        bytes32 id = createLimit(alice, AMOUNT, 95e18);
        moveNav(9_400);
        settleReference();
        uint256 floor = limits.floorOf(id);
        uint256 treasuryBefore = usdg.balanceOf(treasury);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        vm.recordLogs();
        vm.prank(keeper);
        uint256 fee = limits.fill(id, swaps, address(0));

        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 refund) = lastFill(address(limits));
        assertTold(id, alice, keeper, vault.balanceOf(alice));
        assertGe(vault.balanceOf(alice), floor);
        assertEq(fee, limits.executorFeeOf(gross));
        assertEq(executorFee, fee);
        assertEq(usdg.balanceOf(keeper), fee);
        assertEq(usdg.balanceOf(alice), refund);
        assertEq(usdg.balanceOf(treasury) - treasuryBefore, protocolFee);
        assertEq(gross + protocolFee + executorFee + refund, AMOUNT);
        assertTrue(limits.stateOf(id) == IOrderEscrow.State.Filled);
        assertEscrowsEmpty();
    }

    function test_a_limit_fires_at_its_price_exactly_and_not_one_unit_above() public {
        uint256 nav = oracle.referenceNav(address(vault));
        bytes32 above = createLimit(alice, AMOUNT, nav - 1);
        bytes32 exact = createLimit(alice, AMOUNT, nav);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotTriggered.selector, above, nav));
        limits.fill(above, swaps, keeper);
        limits.fill(exact, swaps, keeper);
    }

    function test_a_limit_without_a_trigger_fills_at_once() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        (bool triggered,) = limits.triggered(id);
        assertTrue(triggered);
        limits.fill(id, buySwaps(FillPricing.grossWithin(AMOUNT)), keeper);
        assertGt(vault.balanceOf(alice), 0);
    }

    function test_the_floor_follows_spot_where_spot_is_below_the_reference() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        moveNav(9_000);
        uint256 spot = oracle.spotNav(address(vault));
        assertLt(spot, oracle.referenceNav(address(vault)));
        uint256 gross = FillPricing.grossWithin(AMOUNT);
        uint256 floor = limits.floorOf(id);
        assertGe(floor * spot * 10_100, gross * 1e34);
        assertLt((floor - 1) * spot * 10_100, gross * 1e34);
    }

    function test_a_fill_that_buys_too_dear_reverts_with_both_figures() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        moveNav(10_200);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        uint256 floor = limits.floorOf(id);
        try limits.fill(id, swaps, keeper) {
            fail("filled under its floor");
        } catch (bytes memory reason) {
            (bytes32 who, uint256 got, uint256 wanted) = belowFloor(reason);
            assertEq(who, id);
            assertEq(wanted, floor);
            assertLt(got, floor);
        }
        assertEq(usdg.balanceOf(address(limits)), AMOUNT);
    }

    /// Buying less than the budget buys is no way to keep the rest: the floor is the whole budget's.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_a_fill_that_spends_less_still_owes_the_whole_budgets_shares(uint256 part) public {
        part = bound(part, 1, 10_000);
        bytes32 id = createLimit(alice, AMOUNT, 0);
        uint256 floor = limits.floorOf(id);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT) * part / 10_000);
        vm.recordLogs();
        try limits.fill(id, swaps, keeper) {
            (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 refund) =
                lastFill(address(limits));
            assertGe(vault.balanceOf(alice), floor);
            assertEq(executorFee, limits.executorFeeOf(gross));
            assertEq(usdg.balanceOf(alice), refund);
            assertEq(gross + protocolFee + executorFee + refund, AMOUNT);
            assertEq(usdg.balanceOf(address(limits)), 0);
        } catch (bytes memory reason) {
            assertLt(part, 9_950);
            if (bytes4(reason) == IOrderEscrow.BelowFloor.selector) {
                (, uint256 got, uint256 wanted) = belowFloor(reason);
                assertEq(wanted, floor);
                assertLt(got, wanted);
            }
            assertEq(usdg.balanceOf(address(limits)), AMOUNT);
        }
    }

    function test_an_underspending_fill_returns_the_difference_to_the_owner() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        uint256 budget = FillPricing.grossWithin(AMOUNT);
        SwapCall[] memory swaps = buySwaps(budget * 9_970 / 10_000); // the pools cost less than the tolerance
        limits.fill(id, swaps, keeper);
        assertGe(usdg.balanceOf(alice), budget * 29 / 10_000);
        assertEscrowsEmpty();
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_every_base_unit_of_a_fill_is_accounted_for(uint256 amount, uint256 donated) public {
        amount = bound(amount, 5e6, 15_000e6);
        donated = bound(donated, 0, 1_000e6);
        bytes32 id = createLimit(alice, amount, 0);
        bytes32 other = createLimit(bob, 77e6, 1e18);
        usdg.mint(address(limits), donated);
        uint256 treasuryBefore = usdg.balanceOf(treasury);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(amount));
        uint256 floor = limits.floorOf(id);
        vm.recordLogs();
        vm.prank(keeper);
        limits.fill(id, swaps, address(0));
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 refund) = lastFill(address(limits));
        assertEq(gross + protocolFee + executorFee + refund, amount);
        assertGe(vault.balanceOf(alice), floor);
        assertEq(usdg.balanceOf(alice), refund);
        assertEq(usdg.balanceOf(keeper), executorFee);
        assertEq(usdg.balanceOf(treasury) - treasuryBefore, protocolFee);
        assertEq(usdg.balanceOf(address(limits)), donated + 77e6);
        assertEq(usdg.allowance(address(limits), address(zapper)), 0);
        vm.prank(bob);
        limits.cancel(other);
        assertEq(usdg.balanceOf(bob), 77e6);
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_a_filler_who_sandwiches_its_own_fill_cannot_go_under_the_floor(uint256 pushBps) public {
        pushBps = bound(pushBps, 0, 5_000);
        bytes32 id = createLimit(alice, AMOUNT, 0);
        uint256 referenceNav = oracle.referenceNav(address(vault));
        uint256 honest = FillPricing.buyFloor(FillPricing.grossWithin(AMOUNT), referenceNav, 100);
        moveNav(10_000 + pushBps);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        try limits.fill(id, swaps, keeper) {
            assertGe(vault.balanceOf(alice), honest);
            assertLe(pushBps, 100);
        } catch (bytes memory reason) {
            (, uint256 got, uint256 wanted) = belowFloor(reason);
            assertGe(wanted, honest);
            assertLt(got, wanted);
            assertEq(vault.balanceOf(alice), 0);
            assertEq(usdg.balanceOf(address(limits)), AMOUNT);
        }
    }

    function test_swaps_that_want_more_than_the_budget_revert() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        createLimit(bob, AMOUNT, 0); // money of another order lies beside it
        SwapCall[] memory swaps = buySwaps(AMOUNT * 3 / 2);
        vm.expectRevert();
        limits.fill(id, swaps, keeper);
        swaps = buySwaps(AMOUNT);
        vm.expectRevert();
        limits.fill(id, swaps, keeper);
    }

    function test_the_protocols_own_addresses_are_refused_as_executor() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        address[8] memory refused = [
            address(limits),
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
            limits.fill(id, swaps, refused[i]);
        }
        uint256 fee = limits.fill(id, swaps, bob);
        assertEq(usdg.balanceOf(bob), fee);
    }

    function test_a_paused_protocol_stops_fills_and_arming_only() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        pauseProtocol();
        vm.expectRevert(IOrderEscrow.Paused.selector);
        limits.fill(id, swaps, keeper);
        vm.expectRevert(IOrderEscrow.Paused.selector);
        limits.arm(id);
        unpauseProtocol();
        limits.fill(id, swaps, keeper);
    }

    function test_an_expired_limit_only_goes_back() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotExpired.selector, id));
        limits.sendBack(id);
        warpWithReference(limits.orderOf(id).terms.deadline);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.OrderIsExpired.selector, id));
        limits.fill(id, swaps, keeper);
        vm.prank(keeper);
        limits.sendBack(id);
        assertEq(usdg.balanceOf(alice), AMOUNT);
        assertEq(usdg.balanceOf(keeper), 0);
        assertEscrowsEmpty();
    }

    // ---------------------------------------------------------------- the price auction

    function test_a_missed_floor_is_armed_and_filled_as_the_tolerance_widens() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        moveNav(10_200);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        vm.expectPartialRevert(IOrderEscrow.BelowFloor.selector);
        limits.fill(id, swaps, keeper);
        limits.arm(id);
        vm.expectPartialRevert(IOrderEscrow.AlreadyArmed.selector);
        limits.arm(id);
        moveNav(10_000);
        warpWithReference(vm.getBlockTimestamp() + 20 minutes);
        moveNav(10_200);
        assertEq(limits.toleranceBps(id), 366); // 100 + 400 x 20/30
        uint256 floor = limits.floorOf(id);
        limits.fill(id, buySwaps(FillPricing.grossWithin(AMOUNT)), keeper);
        assertGe(vault.balanceOf(alice), floor);
        assertEq(limits.armedAt(id), 0);
    }

    function test_a_limit_is_disarmed_once_the_reference_is_above_its_trigger() public {
        bytes32 id = createLimit(alice, AMOUNT, 95e18);
        vm.expectPartialRevert(IOrderEscrow.NotTriggered.selector);
        limits.arm(id);
        moveNav(9_400);
        settleReference();
        limits.arm(id);
        vm.expectPartialRevert(IOrderEscrow.StillTriggered.selector);
        limits.disarm(id);
        moveNav(9_800);
        settleReference();
        vm.prank(bob);
        limits.disarm(id);
        assertEq(limits.armedAt(id), 0);
    }

    // ---------------------------------------------------------------- cancel

    /// Bits of `troubles`: armed, paused, no reference, expired.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_the_owner_cancels_in_every_open_state(uint256 troubles) public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        if (troubles & 1 != 0) limits.arm(id);
        if (troubles & 2 != 0) pauseProtocol();
        if (troubles & 4 != 0) blindOracle();
        if (troubles & 8 != 0) vm.warp(limits.orderOf(id).terms.deadline + (troubles >> 4) % 365 days);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotOwner.selector, id));
        vm.prank(bob);
        limits.cancel(id);
        vm.prank(alice);
        limits.cancel(id);
        assertEq(usdg.balanceOf(alice), AMOUNT);
        assertTrue(limits.stateOf(id) == IOrderEscrow.State.Cancelled);
        vm.expectRevert(
            abi.encodeWithSelector(IOrderEscrow.NotOpen.selector, id, IOrderEscrow.State.Cancelled)
        );
        vm.prank(alice);
        limits.cancel(id);
        assertEscrowsEmpty();
    }

    function test_the_floor_of_a_closed_order_is_no_question() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        vm.prank(alice);
        limits.cancel(id);
        vm.expectPartialRevert(IOrderEscrow.NotOpen.selector);
        limits.floorOf(id);
        (bool triggered,) = limits.triggered(id);
        assertFalse(triggered);
    }

    // ---------------------------------------------------------------- hostile surroundings

    function test_a_blocklisted_owner_holds_up_nobody_else() public {
        bytes32 blocked = createLimit(alice, AMOUNT, 0);
        bytes32 free = createLimit(bob, AMOUNT, 0);
        bytes32 expiring = createLimit(bob, AMOUNT, 0);
        usdg.setBlocked(alice, true);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        vm.expectRevert(abi.encodeWithSelector(TestToken.Blocked.selector, alice));
        limits.fill(blocked, swaps, keeper);
        limits.fill(free, swaps, keeper);
        warpWithReference(limits.orderOf(expiring).terms.deadline);
        vm.expectRevert(abi.encodeWithSelector(TestToken.Blocked.selector, alice));
        limits.sendBack(blocked);
        limits.sendBack(expiring);
        assertEq(usdg.balanceOf(address(limits)), AMOUNT);
        usdg.setBlocked(alice, false);
        limits.sendBack(blocked);
        assertEq(usdg.balanceOf(alice), AMOUNT);
    }

    function test_donations_change_no_floor_or_payout() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        uint256 floor = limits.floorOf(id);
        uint256 snapshot = vm.snapshotState();
        limits.fill(id, swaps, keeper);
        (uint256 shares, uint256 refund) = (vault.balanceOf(alice), usdg.balanceOf(alice));
        assertTrue(vm.revertToState(snapshot));
        usdg.mint(address(limits), 1_234e6);
        usdg.mint(address(zapper), 77);
        giveShares(address(limits), 3e18);
        assertEq(limits.floorOf(id), floor);
        limits.fill(id, swaps, keeper);
        assertEq(vault.balanceOf(alice), shares);
        assertEq(usdg.balanceOf(alice), refund);
        assertEq(usdg.balanceOf(address(limits)), 1_234e6);
        assertEq(vault.balanceOf(address(limits)), 3e18);
    }

    function test_a_constituent_that_calls_back_reaches_no_entry_of_the_escrow() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        bytes32 other = createLimit(bob, AMOUNT, 0);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        bytes[5] memory entries = [
            abi.encodeCall(limits.fill, (other, swaps, keeper)),
            abi.encodeCall(limits.fill, (id, swaps, keeper)),
            abi.encodeCall(limits.arm, (other)),
            abi.encodeCall(limits.cancel, (other)),
            abi.encodeCall(limits.create, (limitTerms(AMOUNT, 0)))
        ];
        for (uint256 i; i < entries.length; i++) {
            uint256 snapshot = vm.snapshotState();
            callBackDuringTransfer(address(limits), entries[i]);
            limits.fill(id, swaps, keeper);
            assertReentryRefused();
            assertTrue(vm.revertToState(snapshot));
        }
    }

    /// Money that arrives in the middle of the fill is nobody's refund.
    function test_a_donation_in_the_middle_of_a_fill_changes_no_payout() public {
        bytes32 id = createLimit(alice, AMOUNT, 0);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        uint256 snapshot = vm.snapshotState();
        limits.fill(id, swaps, keeper);
        uint256 refund = usdg.balanceOf(alice);
        assertTrue(vm.revertToState(snapshot));
        callBackDuringTransfer(address(usdg), abi.encodeCall(usdg.mint, (address(limits), 500e6)));
        limits.fill(id, swaps, keeper);
        assertEq(usdg.balanceOf(alice), refund);
        assertEq(usdg.balanceOf(address(limits)), 500e6);
    }

    /// MIXED holds USDG itself, which no swap buys and which is part of the gross all the same.
    function test_a_limit_of_a_basket_that_holds_usdg_accounts_for_every_base_unit() public {
        vault = mixed;
        bytes32 id = createLimit(alice, AMOUNT, 0);
        uint256 floor = limits.floorOf(id);
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        vm.recordLogs();
        limits.fill(id, swaps, keeper);
        (uint256 gross, uint256 protocolFee, uint256 executorFee, uint256 refund) = lastFill(address(limits));
        assertEq(gross + protocolFee + executorFee + refund, AMOUNT);
        assertEq(usdg.balanceOf(alice), refund);
        assertGe(vault.balanceOf(alice), floor);
        assertEscrowsEmpty();
    }

    function _refuses(ILimitEscrow.LimitTerms memory terms, bytes memory reason) private {
        usdg.mint(alice, terms.amount);
        vm.startPrank(alice);
        usdg.approve(address(limits), terms.amount);
        vm.expectRevert(reason);
        limits.create(terms);
        vm.stopPrank();
    }
}
