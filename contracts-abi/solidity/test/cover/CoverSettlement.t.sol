// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {CoverFixture} from "./CoverFixture.sol";

/// From the close to an outcome: which window counts, when, and that nobody has a choice.
contract CoverSettlementTest is CoverFixture {
    uint256 private position;

    function setUp() public {
        deployCover();
        position = buy(alice, placeOffer(1_000, 20e6), 1_000);
    }

    // ---------------------------------------------------------------- the two snapshots

    function test_a_weekend_from_close_to_settlement() public {
        vm.warp(closeOf(WEEK));
        uint256 nav = _navAt(closeOf(WEEK));
        vm.expectEmit();
        emit ICoverMarket.SnapshotTaken(WEEK, address(solo), nav, closeOf(WEEK), keeper, 0);
        vm.prank(keeper);
        market.snapshot(WEEK, address(solo), address(0));
        assertOutcome(ICoverMarket.Outcome.Closed);
        assertEq(market.marketOf(WEEK, address(solo)).closeNav, nav);
        assertEq(market.marketOf(WEEK, address(solo)).settleNav, 0);

        moveSolo(9_500);
        vm.warp(settleOf(WEEK));
        nav = _navAt(settleOf(WEEK));
        vm.expectEmit();
        emit ICoverMarket.WeekSettled(WEEK, address(solo), nav, settleOf(WEEK), keeper, 0);
        market.settle(WEEK, address(solo), keeper);
        assertOutcome(ICoverMarket.Outcome.Settled);
        assertEq(market.marketOf(WEEK, address(solo)).settleNav, nav);
        assertApproxEqRel(nav, market.marketOf(WEEK, address(solo)).closeNav * 95 / 100, 3e14);
    }

    function test_a_snapshot_is_taken_from_its_second_on_for_an_hour() public {
        _hourOf(closeOf(WEEK), true);
        vm.warp(closeOf(WEEK) + 3_599);
        market.snapshot(WEEK, address(solo), keeper);
        _hourOf(settleOf(WEEK), false);
        vm.warp(settleOf(WEEK) + 3_599);
        market.settle(WEEK, address(solo), keeper);
        assertOutcome(ICoverMarket.Outcome.Settled);
    }

    function test_each_step_is_taken_once_and_in_order() public {
        vm.warp(settleOf(WEEK));
        _wrong(ICoverMarket.Outcome.Open);
        market.settle(WEEK, address(solo), keeper);
        vm.warp(closeOf(WEEK)); // as if the close had just come
        market.snapshot(WEEK, address(solo), keeper);
        _wrong(ICoverMarket.Outcome.Closed);
        market.snapshot(WEEK, address(solo), keeper);
        vm.warp(settleOf(WEEK));
        market.settle(WEEK, address(solo), keeper);
        _wrong(ICoverMarket.Outcome.Settled);
        market.snapshot(WEEK, address(solo), keeper);
        _wrong(ICoverMarket.Outcome.Settled);
        market.settle(WEEK, address(solo), keeper);
        vm.warp(settleOf(WEEK) + 1 hours);
        _wrong(ICoverMarket.Outcome.Settled);
        market.voidWeek(WEEK, address(solo), keeper);
    }

    function test_there_is_nothing_to_do_where_nothing_was_sold() public {
        bytes memory refusal = abi.encodeWithSelector(ICoverMarket.NothingSold.selector, WEEK, duo);
        vm.warp(closeOf(WEEK));
        vm.expectRevert(refusal);
        market.snapshot(WEEK, address(duo), keeper);
        vm.warp(settleOf(WEEK));
        vm.expectRevert(refusal);
        market.settle(WEEK, address(duo), keeper);
        vm.warp(settleOf(WEEK) + 1 hours);
        vm.expectRevert(refusal);
        market.voidWeek(WEEK, address(duo), keeper);
    }

    function test_baskets_and_weeks_settle_apart() public {
        ICoverMarket.Terms memory other = terms(100, 10e6);
        other.vault = address(duo);
        buy(alice, placeOffer(writer, other, false), 100);
        other = terms(100, 10e6);
        other.week = WEEK + 1;
        buy(alice, placeOffer(writer, other, false), 100);
        runWeekend(WEEK, 100);
        assertOutcome(ICoverMarket.Outcome.Settled);
        assertEq(uint256(outcomeOf(WEEK, duo)), uint256(ICoverMarket.Outcome.Open));
        assertEq(uint256(outcomeOf(WEEK + 1, solo)), uint256(ICoverMarket.Outcome.Open));
        runWeekend(WEEK + 1, 200);
        assertEq(uint256(outcomeOf(WEEK + 1, solo)), uint256(ICoverMarket.Outcome.Settled));
    }

    function test_a_pause_blocks_no_snapshot_settlement_void_or_payout() public {
        ICoverMarket.Terms memory other = terms(100, 10e6);
        other.vault = address(duo);
        buy(alice, placeOffer(writer, other, false), 100);
        vm.warp(closeOf(WEEK));
        pauseProtocol();
        market.snapshot(WEEK, address(solo), keeper);
        vm.warp(settleOf(WEEK));
        market.settle(WEEK, address(solo), keeper);
        market.voidWeek(WEEK, address(duo), keeper);
        pay(position);
        pay(position + 1);
        assertTrue(pause.paused());
    }

    // ---------------------------------------------------------------- which window

    /// Rule 22: the earliest valid one, each before it proven invalid in the same call; so when it is called decides
    /// nothing, and neither does who calls.
    function testFuzz_the_window_is_the_earliest_valid_one_whenever_it_is_called(
        uint256 spoilt,
        uint256 delay
    ) public {
        delay = bound(delay, 0, 3_599);
        for (uint256 i; i < 4 && i * 600 <= delay; ++i) {
            vm.warp(closeOf(WEEK) + i * 600 - 300);
            moveSolo(10_000 + i * 10); // each window has its own value
            if (spoilt >> i & 1 != 0) _spoil();
        }
        vm.warp(closeOf(WEEK) + delay);
        uint256 first;
        while (first < 4 && spoilt >> first & 1 != 0) ++first;
        if (first == 4 || first * 600 > delay) {
            uint256 next = delay / 600 < 3 ? closeOf(WEEK) + (delay / 600 + 1) * 600 : 0;
            vm.expectRevert(error_(ICoverMarket.NoValidWindow.selector, next));
            market.snapshot(WEEK, address(solo), keeper);
            return;
        }
        uint256 endsAt = closeOf(WEEK) + first * 600;
        uint256 nav = _navAt(endsAt);
        vm.expectEmit();
        emit ICoverMarket.SnapshotTaken(WEEK, address(solo), nav, endsAt, keeper, 0);
        market.snapshot(WEEK, address(solo), keeper);
        assertEq(market.marketOf(WEEK, address(solo)).closeNav, nav);
    }

    function test_a_close_without_any_valid_window_is_void_in_the_end() public {
        for (uint256 i; i < 4; ++i) {
            vm.warp(closeOf(WEEK) + i * 600 - 300);
            _spoil();
        }
        vm.warp(closeOf(WEEK) + 1_800);
        vm.expectRevert(error_(ICoverMarket.NoValidWindow.selector, 0));
        market.snapshot(WEEK, address(solo), keeper);
        vm.warp(closeOf(WEEK) + 3_600);
        market.voidWeek(WEEK, address(solo), keeper);
        assertOutcome(ICoverMarket.Outcome.Void);
    }

    /// What a hostile caller does in his own block before he asks changes nothing.
    function testFuzz_no_swap_of_the_same_block_or_later_changes_the_value(uint256 bps, uint256 delay)
        public
    {
        vm.warp(closeOf(WEEK));
        uint256 nav = _navAt(closeOf(WEEK));
        moveSolo(bound(bps, 100, 1_000_000));
        skip(bound(delay, 0, 3_599));
        moveSolo(bound(bps >> 8, 100, 1_000_000));
        addDepth(india.pool, address(usdg), 1e6);
        market.snapshot(WEEK, address(solo), keeper);
        assertEq(market.marketOf(WEEK, address(solo)).closeNav, nav);
    }

    // ---------------------------------------------------------------- void

    function test_a_missed_close_snapshot_voids_from_the_hour_on() public {
        vm.warp(closeOf(WEEK) + 3_599);
        vm.expectRevert(error_(ICoverMarket.TooEarly.selector, closeOf(WEEK) + 3_600));
        market.voidWeek(WEEK, address(solo), keeper);
        vm.warp(closeOf(WEEK) + 3_600);
        vm.expectRevert(error_(ICoverMarket.TooLate.selector, closeOf(WEEK) + 3_600));
        market.snapshot(WEEK, address(solo), keeper);
        vm.expectEmit();
        emit ICoverMarket.WeekVoided(WEEK, address(solo), keeper, 0);
        market.voidWeek(WEEK, address(solo), keeper);
        assertOutcome(ICoverMarket.Outcome.Void);
        _wrong(ICoverMarket.Outcome.Void);
        market.voidWeek(WEEK, address(solo), keeper);
    }

    function test_a_missed_settle_snapshot_voids_from_the_hour_on() public {
        vm.warp(closeOf(WEEK));
        market.snapshot(WEEK, address(solo), keeper);
        vm.warp(settleOf(WEEK) + 3_599);
        vm.expectRevert(error_(ICoverMarket.TooEarly.selector, settleOf(WEEK) + 3_600));
        market.voidWeek(WEEK, address(solo), keeper);
        vm.warp(settleOf(WEEK) + 3_600);
        vm.expectRevert(error_(ICoverMarket.TooLate.selector, settleOf(WEEK) + 3_600));
        market.settle(WEEK, address(solo), keeper);
        market.voidWeek(WEEK, address(solo), keeper);
        assertOutcome(ICoverMarket.Outcome.Void);
        _wrong(ICoverMarket.Outcome.Void);
        market.settle(WEEK, address(solo), keeper);
    }

    function test_a_void_gives_both_sides_all_of_it_back() public {
        uint256 wanted = placeRequest(bob, terms(100, 30e6));
        uint256 second = underwrite(scribe, wanted, 100);
        vm.warp(closeOf(WEEK) + 1 hours);
        market.voidWeek(WEEK, address(solo), keeper);
        _assertSplit(position, costOf(1_000, 20e6), 1_000e6);
        _assertSplit(second, 3e6, 100e6);
        market.payout(two(position, second), keeper);
        assertEq(usdg.balanceOf(alice), costOf(1_000, 20e6));
        assertEq(usdg.balanceOf(writer), 1_000e6);
        assertEq(usdg.balanceOf(bob), 3e6);
        assertEq(usdg.balanceOf(scribe), 100e6);
        assertEq(usdg.balanceOf(address(market)), 0);
        assertEq(market.feePool(), 0);
    }

    // ---------------------------------------------------------------- who is paid for it

    function test_no_protocol_address_is_an_executor() public {
        address[5] memory own =
            [address(market), address(usdg), address(oracle), address(registry), address(pause)];
        vm.warp(closeOf(WEEK));
        for (uint256 i; i < own.length; ++i) {
            bytes memory refusal = abi.encodeWithSelector(ICoverMarket.BadExecutor.selector, own[i]);
            vm.expectRevert(refusal);
            market.snapshot(WEEK, address(solo), own[i]);
            vm.expectRevert(refusal);
            market.settle(WEEK, address(solo), own[i]);
            vm.expectRevert(refusal);
            market.voidWeek(WEEK, address(solo), own[i]);
            vm.expectRevert(refusal);
            market.payout(one(position), own[i]);
        }
    }

    // ---------------------------------------------------------------- steps

    function _hourOf(uint256 time, bool close) private {
        vm.warp(time - 1);
        vm.expectRevert(error_(ICoverMarket.TooEarly.selector, time));
        _step(close);
        vm.warp(time + 3_600);
        vm.expectRevert(error_(ICoverMarket.TooLate.selector, time + 3_600));
        _step(close);
    }

    function _step(bool close) private {
        if (close) market.snapshot(WEEK, address(solo), keeper);
        else market.settle(WEEK, address(solo), keeper);
    }

    function _wrong(ICoverMarket.Outcome outcome) private {
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.WrongOutcome.selector, WEEK, solo, outcome));
    }

    /// A second at a hundred times the price: no sub-window around it is calm.
    function _spoil() private {
        uint256 price = poolPrice(india.pool, address(india.token));
        movePrice(india.pool, address(india.token), price * 100);
        skip(1);
        movePrice(india.pool, address(india.token), price);
    }

    function _navAt(uint256 endsAt) private view returns (uint256 nav) {
        (nav,,) = oracle.tryNavAt(address(solo), endsAt);
    }

    function _assertSplit(uint256 id, uint256 toBuyer, uint256 toUnderwriter) private view {
        (uint256 buyer, uint256 underwriter) = market.payoutOf(id);
        assertEq(buyer, toBuyer);
        assertEq(underwriter, toUnderwriter);
    }
}
