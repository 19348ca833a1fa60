// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {CoverFixture} from "./CoverFixture.sol";

/// Taking offers and filling requests.
contract CoverSalesTest is CoverFixture {
    function setUp() public {
        deployCover();
    }

    // ---------------------------------------------------------------- taking

    function test_a_buyer_pays_the_premium_and_one_percent_on_top() public {
        uint256 id = placeOffer(1_000, 29_700_000);
        fund(alice, 100e6);
        vm.expectEmit();
        emit ICoverMarket.CoverSold(1, alice, writer, id, 1_000, 29_700_000, 297_000);
        vm.prank(alice);
        (uint256 taken, uint256 cost) = market.take(one(id), one64(1_000), 1_000, 29_997_000);
        assertEq(taken, 1_000);
        assertEq(cost, 29_997_000); // 2.9997% of the cover
        assertEq(usdg.balanceOf(alice), 100e6 - cost);
        assertEq(usdg.balanceOf(address(market)), 1_000e6 + cost);
        assertEq(market.listingOf(id).openUsd, 0);
        ICoverMarket.Position memory position = market.positionOf(1);
        assertEq(position.buyer, alice);
        assertEq(position.underwriter, writer);
        assertFalse(position.paid);
        assertEq(position.coverUsd, 1_000);
        assertEq(position.week, WEEK);
        assertEq(position.fromBps, 100);
        assertEq(position.toBps, 1_000);
        assertEq(position.vault, address(solo));
        assertEq(position.premium, 29_700_000);
        assertEq(position.fee, 297_000);
        ICoverMarket.Market memory sold = market.marketOf(WEEK, address(solo));
        assertEq(sold.soldUsd, 1_000);
        assertEq(sold.fees, 297_000);
        assertEq(market.marketOf(WEEK, address(duo)).soldUsd, 0);
        assertEq(market.marketOf(WEEK + 1, address(solo)).soldUsd, 0);
    }

    function test_one_take_buys_from_several_offers() public {
        uint256 first = placeOffer(100, 10e6);
        uint256 second = placeOffer(scribe, terms(300, 20e6), false);
        uint256 cost = costOf(100, 10e6) + costOf(150, 20e6);
        fund(alice, cost);
        vm.prank(alice);
        (uint256 taken, uint256 paid) = market.take(two(first, second), two64(100, 150), 250, cost);
        assertEq(taken, 250);
        assertEq(paid, cost);
        assertEq(market.positionCount(), 2);
        assertEq(market.positionOf(1).underwriter, writer);
        assertEq(market.positionOf(2).underwriter, scribe);
        assertEq(market.listingOf(second).openUsd, 150);
        assertEq(market.marketOf(WEEK, address(solo)).fees, 10_000 + 30_000);
    }

    function test_what_an_offer_no_longer_has_is_left_out() public {
        uint256 first = placeOffer(100, 10e6);
        uint256 second = placeOffer(scribe, terms(100, 20e6), false);
        buy(bob, first, 60);
        vm.prank(scribe);
        market.cancel(second);
        fund(alice, 100e6);
        vm.startPrank(alice);
        vm.expectRevert(error_(ICoverMarket.TooLittleCover.selector, 40, 41));
        market.take(two(first, second), two64(100, 100), 41, 100e6);
        (uint256 taken,) = market.take(two(first, second), two64(100, 100), 40, 100e6);
        assertEq(taken, 40);
        assertEq(market.positionCount(), 2); // bob's and this one: nothing of the second
        vm.expectRevert(error_(ICoverMarket.TooLittleCover.selector, 0, 0));
        market.take(two(first, second), two64(100, 100), 0, 100e6);
    }

    function test_a_take_costs_no_more_than_its_limit() public {
        uint256 id = placeOffer(100, 10e6);
        uint256 cost = costOf(100, 10e6);
        fund(alice, cost);
        vm.startPrank(alice);
        vm.expectRevert(error_(ICoverMarket.TooDear.selector, cost, cost - 1));
        market.take(one(id), one64(100), 100, cost - 1);
        market.take(one(id), one64(100), 100, cost);
    }

    function test_a_part_is_of_fifty_dollars_or_all_that_is_left() public {
        uint256 id = placeOffer(120, 10e6);
        fund(alice, 100e6);
        vm.startPrank(alice);
        vm.expectRevert(error_(ICoverMarket.BelowMinimum.selector, 49, 50));
        market.take(one(id), one64(49), 0, 100e6);
        vm.expectRevert(error_(ICoverMarket.BelowMinimum.selector, 0, 50));
        market.take(one(id), one64(0), 0, 100e6);
        market.take(one(id), one64(50), 50, 100e6);
        market.take(one(id), one64(50), 50, 100e6);
        vm.expectRevert(error_(ICoverMarket.BelowMinimum.selector, 19, 50));
        market.take(one(id), one64(19), 0, 100e6);
        market.take(one(id), one64(20), 20, 100e6);
        assertEq(market.listingOf(id).openUsd, 0);
    }

    function test_the_same_offer_may_be_named_twice() public {
        uint256 id = placeOffer(120, 10e6);
        fund(alice, 100e6);
        vm.prank(alice);
        (uint256 taken,) = market.take(two(id, id), two64(100, 100), 120, 100e6);
        assertEq(taken, 120);
        assertEq(market.positionCount(), 2);
    }

    function test_a_take_is_of_one_basket_and_one_week() public {
        uint256 first = placeOffer(100, 10e6);
        ICoverMarket.Terms memory other = terms(100, 10e6);
        other.week = WEEK + 1;
        uint256 nextWeek = placeOffer(writer, other, false);
        other = terms(100, 10e6);
        other.vault = address(duo);
        uint256 otherVault = placeOffer(writer, other, false);
        fund(alice, 100e6);
        vm.startPrank(alice);
        vm.expectRevert(ICoverMarket.MixedListings.selector);
        market.take(two(first, nextWeek), two64(50, 50), 50, 100e6);
        vm.expectRevert(ICoverMarket.MixedListings.selector);
        market.take(two(first, otherVault), two64(50, 50), 50, 100e6);
        market.take(one(nextWeek), one64(50), 50, 100e6);
        market.take(one(otherVault), one64(50), 50, 100e6);
    }

    function test_a_take_that_names_nothing_or_too_much_is_refused() public {
        uint256 id = placeOffer(100, 10e6);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "lengths"));
        market.take(one(id), two64(50, 50), 50, 100e6);
        vm.expectRevert(error_(ICoverMarket.TooLittleCover.selector, 0, 0));
        market.take(new uint256[](0), new uint64[](0), 0, 100e6);
        uint256 wanted = placeRequest(alice, terms(100, 10e6));
        vm.expectRevert(error_(ICoverMarket.WrongSide.selector, wanted));
        market.take(two(id, wanted), two64(50, 50), 50, 100e6);
    }

    function test_nobody_buys_from_himself() public {
        uint256 mine = placeOffer(alice, terms(100, 10e6), false);
        uint256 wanted = placeRequest(writer, terms(100, 10e6));
        uint256 id = placeOffer(100, 10e6);
        fund(alice, 100e6);
        vm.expectRevert(error_(ICoverMarket.OwnListing.selector, mine));
        vm.prank(alice);
        market.take(two(id, mine), two64(50, 50), 50, 100e6);
        fund(writer, 100e6);
        vm.expectRevert(error_(ICoverMarket.OwnListing.selector, wanted));
        vm.prank(writer);
        market.fill(wanted, 50);
    }

    // ---------------------------------------------------------------- filling

    function test_a_request_is_filled_in_parts_and_the_fee_is_inside() public {
        uint256 id = placeRequest(alice, terms(200, 30e6)); // locks $6
        fund(writer, 200e6);
        vm.expectEmit();
        emit ICoverMarket.CoverSold(1, alice, writer, id, 70, 2_079_000, 21_000);
        vm.prank(writer);
        assertEq(market.fill(id, 70), 1);
        assertEq(usdg.balanceOf(writer), 130e6);
        assertEq(usdg.balanceOf(address(market)), 70e6 + 6e6);
        ICoverMarket.Position memory position = market.positionOf(1);
        assertEq(position.buyer, alice);
        assertEq(position.underwriter, writer);
        assertEq(position.premium + position.fee, 2_100_000);
        vm.prank(writer);
        assertEq(market.fill(id, 130), 2);
        assertEq(market.listingOf(id).openUsd, 0);
        vm.expectRevert(error_(ICoverMarket.NotOpen.selector, id));
        vm.prank(writer);
        market.fill(id, 50);
    }

    function test_a_fill_is_exactly_what_was_asked_for() public {
        uint256 id = placeRequest(alice, terms(120, 30e6));
        uint256 offered = placeOffer(120, 30e6);
        fund(scribe, 500e6);
        vm.startPrank(scribe);
        vm.expectRevert(error_(ICoverMarket.TooLittleCover.selector, 120, 121));
        market.fill(id, 121);
        vm.expectRevert(error_(ICoverMarket.BelowMinimum.selector, 49, 50));
        market.fill(id, 49);
        vm.expectRevert(error_(ICoverMarket.BelowMinimum.selector, 0, 50));
        market.fill(id, 0);
        vm.expectRevert(error_(ICoverMarket.WrongSide.selector, offered));
        market.fill(offered, 50);
        market.fill(id, 80);
        market.fill(id, 40); // all that is left
    }

    // ---------------------------------------------------------------- the cap

    function test_no_more_is_sold_of_a_week_than_its_cap() public {
        _sellUpTo(SOLO_CAP - 60);
        uint256 id = placeOffer(200, 10e6);
        uint256 wanted = placeRequest(bob, terms(100, 10e6));
        fund(writer, 100e6);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.CapReached.selector, WEEK, solo, 60));
        vm.prank(writer);
        market.fill(wanted, 61);
        fund(alice, 100e6);
        vm.startPrank(alice);
        vm.expectRevert(error_(ICoverMarket.TooLittleCover.selector, 60, 200));
        market.take(one(id), one64(200), 200, 100e6);
        (uint256 taken,) = market.take(one(id), one64(200), 50, 100e6);
        assertEq(taken, 60);
        assertEq(market.marketOf(WEEK, address(solo)).soldUsd, SOLO_CAP);
        vm.expectRevert(error_(ICoverMarket.TooLittleCover.selector, 0, 1));
        market.take(one(id), one64(100), 1, 100e6);
    }

    function test_a_cap_is_sold_to_the_last_dollar() public {
        _sellUpTo(SOLO_CAP - 110);
        underwrite(writer, placeRequest(bob, terms(60, 10e6)), 60);
        uint256 id = placeOffer(200, 10e6);
        fund(alice, 100e6);
        vm.prank(alice);
        (uint256 taken,) = market.take(one(id), one64(200), 0, 100e6);
        assertEq(taken, 50);
        assertEq(market.marketOf(WEEK, address(solo)).soldUsd, SOLO_CAP);
        // exactly what a request wants
        _sellUpToIn(WEEK + 1, SOLO_CAP - 70);
        underwrite(writer, placeRequest(bob, _inNextWeek(terms(70, 10e6))), 70);
        assertEq(market.marketOf(WEEK + 1, address(solo)).soldUsd, SOLO_CAP);
    }

    /// Less than the minimum, when that is all of an offer and all of the cap.
    function test_the_rest_of_an_offer_may_be_the_rest_of_the_cap() public {
        _sellUpTo(SOLO_CAP - 90);
        uint256 id = placeOffer(90, 10e6);
        buy(alice, id, 50);
        buy(alice, id, 40);
        assertEq(market.marketOf(WEEK, address(solo)).soldUsd, SOLO_CAP);
    }

    function test_the_cap_leaves_no_crumbs_either() public {
        _sellUpTo(SOLO_CAP - 49);
        uint256 id = placeOffer(100, 10e6);
        fund(alice, 100e6);
        vm.expectRevert(error_(ICoverMarket.TooLittleCover.selector, 0, 0));
        vm.prank(alice);
        market.take(one(id), one64(100), 0, 100e6);
        // ... but the rest of an offer that fits is sold
        uint256 rest = placeOffer(scribe, _inNextWeek(terms(90, 10e6)), true);
        buy(alice, rest, 50);
        vm.warp(cutoffOf(WEEK + 1));
        rest = market.roll(rest);
        _sellUpToIn(WEEK + 2, SOLO_CAP - 49);
        buy(alice, rest, 40);
        assertEq(market.marketOf(WEEK + 2, address(solo)).soldUsd, SOLO_CAP - 9);
    }

    function test_a_cap_is_of_one_week() public {
        _sellUpTo(SOLO_CAP);
        uint256 id = placeOffer(writer, _inNextWeek(terms(100, 10e6)), false);
        buy(alice, id, 100);
    }

    /// Rule 27: a forced transaction may carry an old time, and must not buy what is already known.
    function test_nothing_is_sold_once_a_snapshot_is_known_whatever_the_time() public {
        uint256 id = placeOffer(200, 10e6);
        uint256 wanted = placeRequest(bob, terms(100, 10e6));
        buy(alice, id, 50);
        vm.warp(closeOf(WEEK));
        market.snapshot(WEEK, address(solo), keeper);
        vm.warp(cutoffOf(WEEK) - 1);
        fund(alice, 100e6);
        vm.expectRevert(error_(ICoverMarket.TradingClosed.selector, WEEK));
        vm.prank(alice);
        market.take(one(id), one64(50), 50, 100e6);
        fund(writer, 100e6);
        vm.expectRevert(error_(ICoverMarket.TradingClosed.selector, WEEK));
        vm.prank(writer);
        market.fill(wanted, 50);
    }

    // ---------------------------------------------------------------- steps

    function _inNextWeek(ICoverMarket.Terms memory of_) private pure returns (ICoverMarket.Terms memory) {
        of_.week += 1;
        return of_;
    }

    function _sellUpTo(uint64 coverUsd) private {
        _sellUpToIn(WEEK, coverUsd);
    }

    function _sellUpToIn(uint32 week, uint64 coverUsd) private {
        ICoverMarket.Terms memory much = terms(coverUsd, 10_000);
        much.week = week;
        buy(bob, placeOffer(writer, much, false), coverUsd);
    }
}
