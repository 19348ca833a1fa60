// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketVault} from "../../src/basket/BasketVault.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {TestToken} from "../support/TestToken.sol";
import {CoverFixture} from "./CoverFixture.sol";

/// A new market's first weeks: with the pool empty, as it is deployed, and with a pool that somebody funded.
contract CoverFundingTest is CoverFixture {
    uint256 private constant STEP = 100_000;
    uint256 private constant PAYOUT = 50_000;

    address private donor = makeAddr("donor");

    function setUp() public {
        deployCover();
    }

    // ---------------------------------------------------------------- funding

    function testFuzz_anyone_funds_the_pool_with_exactly_what_he_gives(address from, uint256 amount) public {
        vm.assume(from != address(0) && from != address(market));
        amount = bound(amount, 1, 1e15);
        fund(from, amount);
        uint256 held = usdg.balanceOf(from);
        vm.expectEmit(address(market));
        emit ICoverMarket.FeesFunded(from, amount);
        vm.prank(from);
        market.fundFees(amount);
        assertEq(market.feePool(), amount);
        assertEq(usdg.balanceOf(address(market)), amount);
        assertEq(held - usdg.balanceOf(from), amount);
        assertEq(market.credits(from), 0);
    }

    function test_gifts_add_up_and_a_pause_stops_none() public {
        _fundFees(1);
        pauseProtocol();
        _fundFees(4e6);
        assertEq(market.feePool(), 4e6 + 1);
        assertEq(usdg.balanceOf(address(market)), 4e6 + 1);
    }

    function test_a_gift_of_nothing_is_refused() public {
        vm.expectRevert(ICoverMarket.NothingToFund.selector);
        vm.prank(donor);
        market.fundFees(0);
    }

    function test_a_gift_that_does_not_arrive_in_full_is_refused() public {
        fund(donor, 100e6);
        usdg.setMisbehaviour(TestToken.Misbehaviour.FeeOnTransfer);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "transfer"));
        vm.prank(donor);
        market.fundFees(50e6);
        usdg.setMisbehaviour(TestToken.Misbehaviour.LiesTrue);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "transfer"));
        vm.prank(donor);
        market.fundFees(50e6);
        usdg.setMisbehaviour(TestToken.Misbehaviour.None);
        usdg.setBlocked(donor, true);
        vm.expectRevert(abi.encodeWithSelector(TestToken.Blocked.selector, donor));
        vm.prank(donor);
        market.fundFees(50e6);
        assertEq(market.feePool(), 0);
    }

    /// What lies in the market already, given by nobody in particular, funds nothing.
    function test_a_gift_comes_out_of_the_sender_alone() public {
        usdg.mint(address(market), 100e6);
        vm.expectRevert();
        vm.prank(donor);
        market.fundFees(50e6);
        assertEq(market.feePool(), 0);
    }

    function test_what_lifts_the_pool_above_its_reserve_anyone_sends_to_the_treasury() public {
        _fundFees(10e6);
        vm.expectRevert(ICoverMarket.NothingOwed.selector);
        market.collectFees();
        _fundFees(40e6);
        assertEq(market.collectFees(), 40e6);
        assertEq(usdg.balanceOf(treasury), 40e6);
        assertEq(market.feePool(), 10e6);
    }

    function test_a_donor_has_no_way_back() public {
        _fundFees(10e6);
        vm.startPrank(donor);
        vm.expectRevert(ICoverMarket.NothingOwed.selector);
        market.claim(donor);
        vm.expectRevert(ICoverMarket.NothingOwed.selector);
        market.collectFees();
    }

    // ---------------------------------------------------------------- the first week

    /// Nothing waits for a reward: the steps of the first week run, for nothing, and its payouts fill the pool out of
    /// which the second week's are paid.
    function test_an_unfunded_market_starts_by_steps_that_pay_nothing() public {
        (uint256 first, uint256 second) = (_sell(WEEK), _sell(WEEK + 1));
        assertEq(market.feePool(), 0);
        assertEq(_close(WEEK), 0);
        assertEq(_settle(WEEK), 0);
        assertOutcome(ICoverMarket.Outcome.Settled);
        assertEq(usdg.balanceOf(keeper), 0);
        assertEq(pay(first), PAYOUT); // out of the very fee that it brings
        assertEq(market.feePool(), 2e6 - PAYOUT);

        assertEq(_close(WEEK + 1), STEP);
        assertEq(_settle(WEEK + 1), STEP);
        assertEq(pay(second), PAYOUT);
        assertEq(usdg.balanceOf(keeper), 2 * STEP + 2 * PAYOUT);
        assertEq(market.feePool(), 2 * 2e6 - 2 * STEP - 2 * PAYOUT);
        assertEq(usdg.balanceOf(address(market)), market.feePool());
    }

    /// A void gives all fees back, so that an empty pool stays empty.
    function test_an_unfunded_market_whose_first_week_is_void_pays_nobody_still() public {
        uint256 id = _sell(WEEK);
        _sell(WEEK + 1);
        vm.warp(closeOf(WEEK) + 1 hours);
        assertEq(market.voidWeek(WEEK, address(solo), keeper), 0);
        assertEq(pay(id), 0);
        assertEq(market.feePool(), 0);
        assertEq(_close(WEEK + 1), 0);
        assertEq(usdg.balanceOf(keeper), 0);
    }

    function test_a_funded_market_pays_each_step_of_its_first_week() public {
        _fundFees(9e6);
        uint256 id = _sell(WEEK);
        assertEq(_close(WEEK), STEP);
        assertEq(usdg.balanceOf(keeper), STEP);
        assertEq(market.marketOf(WEEK, address(solo)).closeReward, STEP);
        assertEq(market.feePool(), 9e6 - STEP);
        assertEq(_settle(WEEK), STEP);
        assertEq(usdg.balanceOf(keeper), 2 * STEP);
        assertEq(market.feePool(), 9e6 - 2 * STEP);
        vm.expectEmit(address(market));
        emit ICoverMarket.RewardPaid(keeper, 1, PAYOUT);
        assertEq(pay(id), PAYOUT);
        assertEq(usdg.balanceOf(keeper), 2 * STEP + PAYOUT);
        assertEq(market.feePool(), 9e6 - 2 * STEP - PAYOUT + 2e6);
        assertEq(usdg.balanceOf(address(market)), market.feePool());
    }

    function test_what_a_snapshot_and_a_settlement_were_paid_is_told() public {
        _fundFees(9e6);
        _sell(WEEK);
        vm.warp(closeOf(WEEK));
        (uint256 nav,,) = oracle.tryNavAt(address(solo), closeOf(WEEK));
        vm.expectEmit(address(market));
        emit ICoverMarket.SnapshotTaken(WEEK, address(solo), nav, closeOf(WEEK), keeper, STEP);
        _close(WEEK);
        vm.warp(settleOf(WEEK));
        (nav,,) = oracle.tryNavAt(address(solo), settleOf(WEEK));
        vm.expectEmit(address(market));
        emit ICoverMarket.WeekSettled(WEEK, address(solo), nav, settleOf(WEEK), keeper, STEP);
        _settle(WEEK);
    }

    function test_a_pool_funded_between_two_steps_pays_the_second() public {
        uint256 id = _sell(WEEK);
        assertEq(_close(WEEK), 0);
        _fundFees(STEP / 2);
        assertEq(_settle(WEEK), STEP / 2); // all that there is
        assertEq(market.feePool(), 0);
        assertEq(pay(id), PAYOUT);
    }

    function test_a_funded_market_pays_for_the_void_of_its_first_week() public {
        _fundFees(9e6);
        uint256 id = _sell(WEEK);
        vm.warp(closeOf(WEEK) + 1 hours);
        vm.expectEmit(address(market));
        emit ICoverMarket.WeekVoided(WEEK, address(solo), keeper, STEP);
        assertEq(market.voidWeek(WEEK, address(solo), keeper), STEP);
        assertEq(pay(id), 0);
        assertEq(usdg.balanceOf(keeper), STEP);
        assertEq(market.feePool(), 9e6 - STEP);
        assertEq(usdg.balanceOf(alice), costOf(10_000, 20e6));
        assertEq(usdg.balanceOf(writer), 10_000e6);
        assertEq(usdg.balanceOf(address(market)), market.feePool());
    }

    /// The close snapshot was unpaid, so that the void may have the one step's reward; and where it was paid in part,
    /// the rest of it.
    function testFuzz_a_week_voided_after_its_close_pays_one_step_in_all(uint256 atClose, uint256 later)
        public
    {
        (atClose, later) = (bound(atClose, 0, 2 * STEP), bound(later, 2 * STEP, 9e6));
        if (atClose != 0) _fundFees(atClose);
        uint256 id = _sell(WEEK);
        uint256 first = _close(WEEK);
        assertEq(first, atClose < STEP ? atClose : STEP);
        _fundFees(later);
        vm.warp(settleOf(WEEK) + 1 hours);
        assertEq(market.voidWeek(WEEK, address(solo), keeper), STEP - first);
        assertEq(pay(id), 0);
        assertEq(usdg.balanceOf(keeper), STEP);
        assertEq(market.feePool(), atClose + later - STEP);
    }

    // ---------------------------------------------------------------- who would drain it

    /// Whoever sells himself cover to serve it puts in more than he takes, and not for a moment is more than two steps
    /// missing from what was funded.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_self_dealing_never_drains_a_funded_pool(
        uint64 cover,
        uint256 price,
        uint8 parts,
        uint256 drop
    ) public {
        _fundFees(9e6);
        ICoverMarket.Terms memory own = terms(uint64(bound(cover, 50, 2_000)), 0);
        own.pricePer1k = uint128(bound(price, 1, 3_000) * 10_000);
        uint256[] memory ids = new uint256[](bound(parts, 1, 8));
        uint256 fees;
        for (uint256 i; i < ids.length; ++i) {
            ids[i] = buy(alice, placeOffer(writer, own, false), own.coverUsd);
            fees += market.positionOf(ids[i]).fee;
        }
        runWeekend(WEEK, bound(drop, 0, 1_500));
        uint256 steps = usdg.balanceOf(keeper);
        assertLe(steps, fees / 2);
        assertLe(steps, 2 * STEP);
        assertEq(market.feePool(), 9e6 - steps);
        for (uint256 i; i < ids.length; ++i) {
            assertLe(pay(ids[i]), market.positionOf(ids[i]).fee / 2);
            assertGe(market.feePool(), 9e6 - 2 * STEP);
        }
        assertLe(usdg.balanceOf(keeper), fees);
        assertEq(market.feePool() + usdg.balanceOf(keeper), 9e6 + fees);
    }

    /// The bound on a drain: $0.10 per listed basket and week, at every chance that there is. Neither more positions
    /// nor more calls take more.
    function test_voids_cost_a_funded_pool_one_step_per_listed_basket_and_week() public {
        _fundFees(9e6);
        uint256[] memory ids = new uint256[](12);
        uint256 count;
        for (uint32 week = WEEK; week < WEEK + 2; ++week) {
            for (uint256 i; i < 3; ++i) {
                ids[count++] = _sell(week, solo, 3_000);
                ids[count++] = _sell(week, duo, 3_000);
            }
        }
        for (uint32 week = WEEK; week < WEEK + 2; ++week) {
            vm.warp(closeOf(week) + 1 hours);
            _voidOnce(week, solo);
            _voidOnce(week, duo);
        }
        (uint256 paid, uint256 reward) = market.payout(ids, keeper);
        assertEq(paid, count);
        assertEq(reward, 0);
        assertEq(usdg.balanceOf(keeper), 4 * STEP);
        assertEq(market.feePool(), 9e6 - 4 * STEP);
        assertEq(usdg.balanceOf(address(market)), market.feePool());
    }

    // ---------------------------------------------------------------- steps

    function _fundFees(uint256 amount) private {
        fund(donor, amount);
        vm.prank(donor);
        market.fundFees(amount);
    }

    /// $10,000 of cover on `solo` at $20 per $1,000: a fee of $2, enough for whole rewards.
    function _sell(uint32 week) private returns (uint256 positionId) {
        return _sell(week, solo, 10_000);
    }

    function _sell(uint32 week, BasketVault vault, uint64 coverUsd) private returns (uint256 positionId) {
        ICoverMarket.Terms memory terms_ = terms(coverUsd, 20e6);
        (terms_.week, terms_.vault) = (week, address(vault));
        return buy(alice, placeOffer(writer, terms_, false), coverUsd);
    }

    function _close(uint32 week) private returns (uint256 reward) {
        vm.warp(closeOf(week));
        return market.snapshot(week, address(solo), keeper);
    }

    function _settle(uint32 week) private returns (uint256 reward) {
        vm.warp(settleOf(week));
        return market.settle(week, address(solo), keeper);
    }

    function _voidOnce(uint32 week, BasketVault vault) private {
        assertEq(market.voidWeek(week, address(vault), keeper), STEP);
        vm.expectRevert(
            abi.encodeWithSelector(ICoverMarket.WrongOutcome.selector, week, vault, ICoverMarket.Outcome.Void)
        );
        market.voidWeek(week, address(vault), keeper);
    }
}
