// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {GuardedTransfer} from "../../src/libraries/GuardedTransfer.sol";
import {TestToken} from "../support/TestToken.sol";
import {CoverFixture} from "./CoverFixture.sol";

/// Money after the outcome: payouts, credits, rewards, fees.
contract CoverPayoutsTest is CoverFixture {
    function setUp() public {
        deployCover();
    }

    // ---------------------------------------------------------------- a payout

    function test_a_drop_within_the_range_is_shared_between_the_two() public {
        uint256 id = buy(alice, placeOffer(1_000, 20e6), 1_000);
        runWeekend(WEEK, 550); // half of 100 to 1000
        (uint256 toBuyer, uint256 toUnderwriter) = market.payoutOf(id);
        assertApproxEqRel(toBuyer, 500e6, 5e15);
        assertEq(toBuyer + toUnderwriter, 1_000e6 + 20e6);
        vm.expectEmit();
        emit ICoverMarket.PaidOut(id, alice, writer, toBuyer, toUnderwriter, 200_000);
        vm.expectEmit();
        emit ICoverMarket.RewardPaid(keeper, 1, 50_000);
        (uint256 paid, uint256 reward) = market.payout(one(id), keeper);
        assertEq(paid, 1);
        assertEq(reward, 50_000);
        assertEq(usdg.balanceOf(alice), toBuyer);
        assertEq(usdg.balanceOf(writer), toUnderwriter);
        assertEq(usdg.balanceOf(keeper), 50_000);
        assertEq(market.feePool(), 150_000);
        assertEq(usdg.balanceOf(address(market)), 150_000);
        assertTrue(market.positionOf(id).paid);
        (toBuyer, toUnderwriter) = market.payoutOf(id);
        assertEq(toBuyer + toUnderwriter, 0);
    }

    function test_the_payout_is_that_of_the_two_snapshots() public {
        uint256 id = buy(alice, placeOffer(1_000, 20e6), 1_000);
        runWeekend(WEEK, 400);
        ICoverMarket.Market memory of_ = market.marketOf(WEEK, address(solo));
        uint256 drop = uint256(of_.closeNav - of_.settleNav) * 10_000 - uint256(of_.closeNav) * 100;
        (uint256 toBuyer,) = market.payoutOf(id);
        assertEq(toBuyer, 1_000e6 * drop / (uint256(of_.closeNav) * 900));
    }

    function test_a_standstill_pays_the_underwriter_and_a_crash_the_buyer() public {
        uint256 calm = buy(alice, placeOffer(1_000, 20e6), 1_000);
        ICoverMarket.Terms memory next = terms(1_000, 20e6);
        next.week = WEEK + 1;
        uint256 crash = buy(alice, placeOffer(writer, next, false), 1_000);
        runWeekend(WEEK, 0);
        runWeekend(WEEK + 1, 2_000);
        pay(calm);
        assertEq(usdg.balanceOf(alice), 0);
        assertEq(usdg.balanceOf(writer), 1_020e6);
        pay(crash);
        assertEq(usdg.balanceOf(alice), 1_000e6);
        assertEq(usdg.balanceOf(writer), 1_040e6);
    }

    /// Invariant 18 on the genuine path.
    function testFuzz_every_base_unit_is_payout_return_or_fee(uint64 cover, uint256 price, uint256 drop)
        public
    {
        cover = uint64(bound(cover, 50, SOLO_CAP));
        price = bound(price, 1, 100_000) * 10_000;
        uint256 id = buy(alice, placeOffer(cover, uint128(price)), cover);
        uint256 locked = usdg.balanceOf(address(market));
        runWeekend(WEEK, bound(drop, 0, 1_500));
        uint256 reward = pay(id);
        assertEq(usdg.balanceOf(alice) + usdg.balanceOf(writer) + reward + market.feePool(), locked);
        assertEq(usdg.balanceOf(address(market)), market.feePool());
        assertLe(usdg.balanceOf(alice), uint256(cover) * 1e6);
    }

    function test_a_batch_passes_over_what_is_not_due() public {
        uint256 due = buy(alice, placeOffer(1_000, 20e6), 1_000);
        ICoverMarket.Terms memory next = terms(1_000, 20e6);
        next.week = WEEK + 1;
        uint256 early = buy(alice, placeOffer(writer, next, false), 1_000);
        vm.expectRevert(ICoverMarket.NothingToPay.selector);
        market.payout(two(due, early), keeper);
        vm.warp(closeOf(WEEK));
        market.snapshot(WEEK, address(solo), keeper);
        vm.expectRevert(ICoverMarket.NothingToPay.selector);
        market.payout(two(due, early), keeper);
        vm.warp(settleOf(WEEK));
        market.settle(WEEK, address(solo), keeper);
        uint256[] memory ids = new uint256[](6);
        (ids[0], ids[1], ids[2], ids[3], ids[4], ids[5]) = (0, early, due, due, type(uint256).max, early + 1);
        (uint256 paid,) = market.payout(ids, keeper);
        assertEq(paid, 1);
        vm.expectRevert(ICoverMarket.NothingToPay.selector);
        market.payout(ids, keeper);
        vm.expectRevert(ICoverMarket.NothingToPay.selector);
        market.payout(new uint256[](0), keeper);
    }

    // ---------------------------------------------------------------- isolation

    /// USDG sees no transfer of nothing, and nobody a credit of it.
    function test_a_side_that_is_owed_nothing_is_left_alone() public {
        uint256 id = buy(alice, placeOffer(1_000, 20e6), 1_000);
        runWeekend(WEEK, 0);
        vm.expectCall(address(usdg), abi.encodeCall(usdg.transfer, (alice, 0)), 0);
        usdg.setBlocked(alice, true);
        pay(id);
        assertEq(usdg.balanceOf(writer), 1_020e6);
    }

    function test_no_receiver_can_stop_a_batch_whatever_the_token_does_for_him() public {
        TestToken.Misbehaviour[6] memory kinds = [
            TestToken.Misbehaviour.Reverts,
            TestToken.Misbehaviour.ReturnsFalse,
            TestToken.Misbehaviour.BurnsGas,
            TestToken.Misbehaviour.RevertsBlob,
            TestToken.Misbehaviour.None, // blocked
            TestToken.Misbehaviour.ReturnsNothing // which is no refusal
        ];
        uint256[] memory ids = new uint256[](3);
        ids[0] = buy(alice, placeOffer(scribe, terms(100, 20e6), false), 100);
        ids[1] = buy(bob, placeOffer(100, 20e6), 100);
        ids[2] = buy(alice, placeOffer(100, 20e6), 100);
        runWeekend(WEEK, 550);
        (uint256 toBob,) = market.payoutOf(ids[1]);
        uint256 toAlice = toBob * 2;
        uint256 start = vm.snapshotState();
        for (uint256 i; i < kinds.length; ++i) {
            if (kinds[i] == TestToken.Misbehaviour.None) usdg.setBlocked(bob, true);
            else usdg.setMisbehaviourFor(kinds[i], bob);
            (uint256 paid,) = market.payout(ids, keeper);
            assertEq(paid, 3);
            bool refused = kinds[i] != TestToken.Misbehaviour.ReturnsNothing;
            assertEq(market.credits(bob), refused ? toBob : 0);
            assertEq(usdg.balanceOf(bob), refused ? 0 : toBob);
            assertEq(usdg.balanceOf(alice), toAlice);
            assertEq(usdg.balanceOf(address(market)), market.feePool() + market.credits(bob));
            vm.revertToState(start);
        }
    }

    /// Starved, a whole batch reverts; it never turns a payment into a credit.
    function testFuzz_too_little_gas_undoes_everything(uint256 gas_) public {
        uint256[] memory ids = new uint256[](2);
        ids[0] = buy(alice, placeOffer(100, 20e6), 100);
        ids[1] = buy(bob, placeOffer(100, 20e6), 100);
        runWeekend(WEEK, 550);
        gas_ = bound(gas_, 50_000, 1_200_000);
        try market.payout{gas: gas_}(ids, keeper) returns (uint256 paid, uint256) {
            assertEq(paid, 2);
            assertGt(usdg.balanceOf(bob), 0);
        } catch {
            assertFalse(market.positionOf(ids[0]).paid);
            assertEq(usdg.balanceOf(alice), 0);
        }
        assertEq(market.credits(alice) + market.credits(bob) + market.credits(writer), 0);
    }

    function test_a_starved_payment_says_so() public {
        uint256 id = buy(alice, placeOffer(100, 20e6), 100);
        runWeekend(WEEK, 550);
        vm.expectRevert(GuardedTransfer.NotEnoughGas.selector);
        market.payout{gas: 400_000}(one(id), keeper);
    }

    /// USDG can be paused as a whole: everything due becomes a credit, and waits.
    function test_under_a_pause_of_USDG_payouts_become_credits() public {
        uint256 id = buy(alice, placeOffer(100, 20e6), 100);
        runWeekend(WEEK, 550);
        (uint256 toBuyer, uint256 toUnderwriter) = market.payoutOf(id);
        usdg.setPaused(true);
        pay(id);
        assertEq(market.credits(alice), toBuyer);
        assertEq(market.credits(writer), toUnderwriter);
        assertGt(market.credits(keeper), 0);
        vm.expectRevert(TestToken.TokenPaused.selector);
        vm.prank(alice);
        market.claim(alice);
        usdg.setPaused(false);
        vm.expectEmit();
        emit ICoverMarket.Claimed(alice, alice, toBuyer);
        vm.prank(alice);
        market.claim(alice);
        assertEq(usdg.balanceOf(alice), toBuyer);
        assertEq(market.credits(alice), 0);
    }

    function test_a_credit_is_claimed_once_by_its_creditor_and_not_back_into_the_market() public {
        uint256 id = placeOffer(100, 20e6);
        usdg.setBlocked(writer, true);
        vm.prank(writer);
        market.cancel(id);
        vm.expectRevert(ICoverMarket.NothingOwed.selector);
        vm.prank(bob);
        market.claim(bob);
        vm.startPrank(writer);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadReceiver.selector, market));
        market.claim(address(market));
        vm.expectRevert(abi.encodeWithSelector(TestToken.Blocked.selector, writer));
        market.claim(writer);
        assertEq(market.claim(scribe), 100e6);
        vm.expectRevert(ICoverMarket.NothingOwed.selector);
        market.claim(scribe);
    }

    function test_a_receiver_cannot_be_paid_twice_from_within_his_payment() public {
        uint256 id = buy(alice, placeOffer(100, 20e6), 100);
        runWeekend(WEEK, 550);
        usdg.setMisbehaviour(TestToken.Misbehaviour.Reenters);
        usdg.setHook(address(market), abi.encodeCall(ICoverMarket.payout, (one(id), alice)), false);
        pay(id);
        assertFalse(usdg.hookSucceeded());
        assertEq(usdg.balanceOf(address(market)), market.feePool());
    }

    // ---------------------------------------------------------------- rewards

    function test_steps_are_rewarded_out_of_the_fees_of_earlier_weeks() public {
        _fillPool();
        uint256 pool = market.feePool();
        ICoverMarket.Terms memory next = terms(10_000, 20e6); // fees of $2
        next.week = WEEK + 1;
        uint256 id = buy(alice, placeOffer(writer, next, false), 10_000);
        vm.warp(closeOf(WEEK + 1));
        uint256 held = usdg.balanceOf(keeper);
        assertEq(market.snapshot(WEEK + 1, address(solo), keeper), 100_000);
        assertEq(market.marketOf(WEEK + 1, address(solo)).closeReward, 100_000);
        vm.warp(settleOf(WEEK + 1));
        assertEq(market.settle(WEEK + 1, address(solo), keeper), 100_000);
        assertEq(pay(id), 50_000);
        assertEq(usdg.balanceOf(keeper) - held, 250_000);
        assertEq(market.feePool(), pool - 250_000 + 2_000_000);
    }

    function test_an_empty_pool_rewards_nobody() public {
        buy(alice, placeOffer(10_000, 20e6), 10_000);
        vm.warp(closeOf(WEEK));
        assertEq(market.snapshot(WEEK, address(solo), keeper), 0);
        vm.warp(settleOf(WEEK));
        assertEq(market.settle(WEEK, address(solo), keeper), 0);
        assertEq(usdg.balanceOf(keeper), 0);
    }

    function test_the_last_of_the_pool_is_paid_out() public {
        // One position with a fee of $0.14: the payout keeps half of it, $0.05 at most, and leaves $0.09.
        uint256 id = buy(alice, placeOffer(1_000, 14e6), 1_000);
        runWeekend(WEEK, 0);
        pay(id);
        assertEq(market.feePool(), 90_000);
        ICoverMarket.Terms memory next = terms(10_000, 20e6);
        next.week = WEEK + 1;
        buy(alice, placeOffer(writer, next, false), 10_000);
        vm.warp(closeOf(WEEK + 1));
        assertEq(market.snapshot(WEEK + 1, address(solo), keeper), 90_000);
        assertEq(market.feePool(), 0);
    }

    function test_a_reward_that_cannot_be_delivered_becomes_a_credit() public {
        _fillPool();
        ICoverMarket.Terms memory next = terms(10_000, 20e6);
        next.week = WEEK + 1;
        buy(alice, placeOffer(writer, next, false), 10_000);
        usdg.setBlocked(bob, true);
        vm.warp(closeOf(WEEK + 1));
        market.snapshot(WEEK + 1, address(solo), bob);
        assertEq(market.credits(bob), 100_000);
    }

    /// Whoever serves cover that he sold to himself gets back less than its fees.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_self_dealing_never_takes_more_than_it_put_in(
        uint64 cover,
        uint256 price,
        uint8 parts,
        uint256 drop
    ) public {
        _fillPool();
        uint256 pool = market.feePool();
        ICoverMarket.Terms memory next = terms(uint64(bound(cover, 50, 2_000)), 0);
        next.pricePer1k = uint128(bound(price, 1, 3_000) * 10_000);
        next.week = WEEK + 1;
        uint256 count = bound(parts, 1, 8);
        uint256 fees;
        uint256[] memory ids = new uint256[](count);
        for (uint256 i; i < count; ++i) {
            ids[i] = buy(alice, placeOffer(writer, next, false), next.coverUsd);
            fees += market.positionOf(ids[i]).fee;
        }
        uint256 held = usdg.balanceOf(keeper);
        runWeekend(WEEK + 1, bound(drop, 0, 1_500));
        for (uint256 i; i < count; ++i) {
            pay(ids[i]); // one by one
        }
        assertLe(usdg.balanceOf(keeper) - held, fees);
        assertGe(market.feePool(), pool);
    }

    /// A void gives the fees back, so it could be farmed: one market yields one step's reward at the most, less where
    /// its fees are small, and its payouts yield nothing.
    function testFuzz_a_void_costs_the_pool_one_step_at_most(uint64 cover, uint256 price, bool closed)
        public
    {
        _fillPool();
        uint256 pool = market.feePool();
        ICoverMarket.Terms memory next = terms(uint64(bound(cover, 50, 10_000)), 0);
        next.pricePer1k = uint128(bound(price, 1, 3_000) * 10_000);
        next.week = WEEK + 1;
        uint256 id = buy(alice, placeOffer(writer, next, false), next.coverUsd);
        uint256 fee = market.positionOf(id).fee;
        vm.warp(closeOf(WEEK + 1));
        uint256 first = closed ? market.snapshot(WEEK + 1, address(solo), keeper) : 0;
        vm.warp(settleOf(WEEK + 1) + 1 hours);
        uint256 second = market.voidWeek(WEEK + 1, address(solo), keeper);
        assertEq(pay(id), 0);
        assertEq(first + second, fee / 4 < 100_000 ? fee / 4 : 100_000);
        assertEq(pool - market.feePool(), first + second);
    }

    // ---------------------------------------------------------------- fees

    function test_the_treasury_collects_what_exceeds_the_reserve() public {
        vm.expectRevert(ICoverMarket.NothingOwed.selector);
        market.collectFees();
        _fillPool();
        uint256 pool = market.feePool();
        vm.expectEmit();
        emit ICoverMarket.FeesCollected(treasury, pool - 10e6);
        vm.prank(keeper);
        assertEq(market.collectFees(), pool - 10e6);
        assertEq(usdg.balanceOf(treasury), pool - 10e6);
        assertEq(market.feePool(), 10e6);
        vm.expectRevert(ICoverMarket.NothingOwed.selector);
        market.collectFees();
    }

    function test_fees_go_to_the_treasury_of_the_day() public {
        _fillPool();
        vm.prank(protocolOwner);
        registry.setTreasury(bob);
        market.collectFees();
        assertGt(usdg.balanceOf(bob), 0);
    }

    function test_donations_change_nothing() public {
        _fillPool();
        uint256 pool = market.feePool();
        usdg.mint(address(market), 1e12);
        assertEq(market.feePool(), pool);
        assertEq(market.collectFees(), pool - 10e6);
    }

    /// A quiet weekend with $1,500 of premiums: $15 of fees, less the reward of one payout.
    function _fillPool() private {
        uint256 id = buy(bob, placeOffer(scribe, terms(50_000, 30e6), false), 50_000);
        runWeekend(WEEK, 0);
        market.payout(one(id), bob);
        assertEq(market.feePool(), 15e6 - 50_000);
    }
}
