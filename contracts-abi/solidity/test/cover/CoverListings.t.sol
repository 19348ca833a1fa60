// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {CoverMarket} from "../../src/cover/CoverMarket.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {TestToken} from "../support/TestToken.sol";
import {CoverFixture} from "./CoverFixture.sol";

/// Offers and requests from their beginning to every end but a sale.
contract CoverListingsTest is CoverFixture {
    function setUp() public {
        deployCover();
    }

    // ---------------------------------------------------------------- placing

    function test_an_offer_locks_its_cover_whole() public {
        uint256 id = placeOffer(100, 10e6);
        assertEq(usdg.balanceOf(address(market)), 100e6);
        assertEq(usdg.balanceOf(writer), 0);
        ICoverMarket.Listing memory listing = market.listingOf(id);
        assertEq(listing.owner, writer);
        assertEq(uint256(listing.side), uint256(ICoverMarket.Side.Offer));
        assertEq(listing.openUsd, 100);
        assertFalse(listing.repeats);
        assertEq(keccak256(abi.encode(listing.terms)), keccak256(abi.encode(terms(100, 10e6))));
    }

    function test_a_request_locks_its_premium_alone() public {
        uint256 id = placeRequest(alice, terms(100, 12_340_000));
        assertEq(usdg.balanceOf(address(market)), 1_234_000);
        ICoverMarket.Listing memory listing = market.listingOf(id);
        assertEq(uint256(listing.side), uint256(ICoverMarket.Side.Request));
        assertEq(listing.openUsd, 100);
    }

    function test_placing_says_what_was_placed() public {
        fund(writer, 100e6);
        uint256 id = _idOf(writer, ICoverMarket.Side.Offer, terms(100, 10e6), 0);
        vm.expectEmit();
        emit ICoverMarket.Listed(id, writer, ICoverMarket.Side.Offer, true, terms(100, 10e6));
        vm.prank(writer);
        assertEq(market.offer(terms(100, 10e6), true), id);
    }

    /// Rule 24: an id that somebody signed cannot come to mean other terms, another chain, market or owner.
    function test_an_id_binds_all_that_a_counterparty_agrees_to() public {
        uint256[] memory ids = new uint256[](11);
        ids[0] = placeOffer(100, 10e6);
        assertEq(ids[0], _idOf(writer, ICoverMarket.Side.Offer, terms(100, 10e6), 0));
        ids[1] = placeOffer(100, 10e6); // the counter
        assertEq(ids[1], _idOf(writer, ICoverMarket.Side.Offer, terms(100, 10e6), 1));
        ICoverMarket.Terms memory other = terms(100, 10e6);
        other.week = WEEK + 1;
        ids[2] = _idOf(writer, ICoverMarket.Side.Offer, other, 0);
        other = terms(100, 10e6);
        other.vault = address(duo);
        ids[3] = _idOf(writer, ICoverMarket.Side.Offer, other, 0);
        other = terms(100, 10e6);
        other.fromBps = 150;
        ids[4] = _idOf(writer, ICoverMarket.Side.Offer, other, 0);
        other = terms(100, 10e6);
        other.toBps = 1_050;
        ids[5] = _idOf(writer, ICoverMarket.Side.Offer, other, 0);
        ids[6] = _idOf(writer, ICoverMarket.Side.Offer, terms(100, 20e6), 0);
        ids[7] = _idOf(writer, ICoverMarket.Side.Request, terms(100, 10e6), 0);
        ids[8] = _idOf(scribe, ICoverMarket.Side.Offer, terms(100, 10e6), 0);
        vm.chainId(1);
        ids[9] = _idOf(writer, ICoverMarket.Side.Offer, terms(100, 10e6), 0);
        vm.chainId(4663);
        CoverMarket second =
            new CoverMarket(address(usdg), address(registry), address(oracle), address(pause), address(this));
        second.publishWeeks(calendar(WEEK, 1));
        second.listVault(address(solo), 50);
        usdg.mint(writer, 100e6);
        vm.startPrank(writer);
        usdg.approve(address(second), 100e6);
        ids[10] = second.offer(terms(100, 10e6), false);
        for (uint256 i; i < ids.length; ++i) {
            for (uint256 j; j < i; ++j) {
                assertNotEq(ids[i], ids[j]);
            }
        }
    }

    function testFuzz_only_ranges_of_the_grid_are_listed(uint16 from, uint16 to) public {
        if (from % 3 == 0) (from, to) = (from / 50 * 50, to / 50 * 50);
        if (from % 5 == 0) (from, to) = (from % 1_500, to % 3_100);
        ICoverMarket.Terms memory listed = terms(100, 10e6);
        (listed.fromBps, listed.toBps) = (from, to);
        bool onGrid = from % 50 == 0 && to % 50 == 0;
        bool fits = from >= 100 && uint256(to) >= uint256(from) + 100 && to <= 3_000;
        fund(writer, 100e6);
        if (!onGrid) {
            vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "range off the grid"));
        } else if (!fits) {
            vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "range"));
        }
        vm.prank(writer);
        market.offer(listed, false);
    }

    function test_the_corners_of_the_grid() public {
        _place(100, 200);
        _place(100, 3_000);
        _place(2_900, 3_000);
        _refuse(50, 200, "range");
        _refuse(100, 150, "range");
        _refuse(2_950, 3_050, "range");
        _refuse(2_950, 3_000, "range");
        _refuse(3_000, 100, "range");
        _refuse(101, 300, "range off the grid");
        _refuse(100, 301, "range off the grid");
    }

    function test_a_price_is_whole_cents_and_at_most_the_cover() public {
        placeOffer(100, 10_000);
        placeOffer(100, 1_000e6);
        fund(writer, 100e6);
        vm.startPrank(writer);
        bytes memory refusal = abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "price");
        uint128[4] memory bad = [uint128(0), 9_999, 10_001, 1_000e6 + 10_000];
        for (uint256 i; i < bad.length; ++i) {
            vm.expectRevert(refusal);
            market.offer(terms(100, bad[i]), false);
            vm.expectRevert(refusal);
            market.request(terms(100, bad[i]));
        }
    }

    function test_a_listing_is_of_fifty_dollars_or_more() public {
        placeOffer(50, 10e6);
        fund(writer, 100e6);
        vm.startPrank(writer);
        vm.expectRevert(error_(ICoverMarket.BelowMinimum.selector, 49, 50));
        market.offer(terms(49, 10e6), false);
        vm.expectRevert(error_(ICoverMarket.BelowMinimum.selector, 49, 50));
        market.request(terms(49, 10e6));
    }

    /// Underwriters come before there is a reference, too.
    function test_an_offer_needs_no_reference() public {
        removeLiquidity(india.pool, india.pool.liquidity());
        skip(1_000);
        placeOffer(100, 10e6);
    }

    function test_the_pause_stops_all_that_is_new_and_nothing_else() public {
        uint256 offered = placeOffer(200, 10e6);
        uint256 requested = placeRequest(alice, terms(100, 10e6));
        uint256 repeating = placeOffer(writer, terms(100, 10e6), true);
        uint256 expiring = placeOffer(100, 10e6);
        fund(alice, 1_000e6);
        fund(writer, 1_000e6);
        pauseProtocol();
        vm.startPrank(alice);
        vm.expectRevert(ICoverMarket.Paused.selector);
        market.take(one(offered), one64(50), 50, 10e6);
        vm.expectRevert(ICoverMarket.Paused.selector);
        market.request(terms(100, 10e6));
        vm.stopPrank();
        vm.startPrank(writer);
        vm.expectRevert(ICoverMarket.Paused.selector);
        market.offer(terms(100, 10e6), false);
        vm.expectRevert(ICoverMarket.Paused.selector);
        market.fill(requested, 50);
        market.cancel(offered);
        vm.stopPrank();
        vm.prank(alice);
        market.cancel(requested);
        vm.warp(cutoffOf(WEEK));
        vm.expectRevert(ICoverMarket.Paused.selector);
        market.roll(repeating);
        market.sendBack(expiring);
        vm.prank(writer);
        market.stopRepeating(repeating);
        market.sendBack(repeating);
        assertEq(usdg.balanceOf(address(market)), 0);
    }

    function test_a_token_that_keeps_part_of_a_transfer_is_refused() public {
        fund(writer, 100e6);
        usdg.setMisbehaviour(TestToken.Misbehaviour.FeeOnTransfer);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "transfer"));
        vm.prank(writer);
        market.offer(terms(100, 10e6), false);
    }

    function test_a_token_cannot_come_back_in_the_middle_of_a_listing() public {
        uint256 id = placeOffer(100, 10e6);
        fund(writer, 100e6);
        usdg.setMisbehaviour(TestToken.Misbehaviour.Reenters);
        usdg.setHook(address(market), abi.encodeCall(ICoverMarket.cancel, (id)), false);
        vm.prank(writer);
        market.offer(terms(100, 10e6), false);
        assertFalse(usdg.hookSucceeded());
        assertEq(
            usdg.hookResult(), abi.encodeWithSelector(ReentrancyGuard.ReentrancyGuardReentrantCall.selector)
        );
    }

    // ---------------------------------------------------------------- cancelling

    function test_a_cancelled_offer_gives_its_open_cover_back() public {
        uint256 id = placeOffer(200, 10e6);
        buy(alice, id, 80);
        vm.expectEmit();
        emit ICoverMarket.ListingCancelled(id, writer, 120e6);
        vm.prank(writer);
        market.cancel(id);
        assertEq(usdg.balanceOf(writer), 120e6);
        assertEq(market.listingOf(id).openUsd, 0);
        vm.expectRevert(error_(ICoverMarket.NotOpen.selector, id));
        vm.prank(writer);
        market.cancel(id);
    }

    function test_a_cancelled_request_gives_its_open_premium_back() public {
        uint256 id = placeRequest(alice, terms(200, 12_340_000));
        underwrite(writer, id, 80);
        vm.prank(alice);
        market.cancel(id);
        assertEq(usdg.balanceOf(alice), 120 * 12_340);
        assertEq(usdg.balanceOf(address(market)), 80e6 + 80 * 12_340);
    }

    function test_a_listing_can_be_cancelled_long_after_its_week() public {
        uint256 id = placeOffer(100, 10e6);
        vm.warp(settleOf(WEEK) + 100 days);
        vm.prank(writer);
        market.cancel(id);
        assertEq(usdg.balanceOf(writer), 100e6);
    }

    function test_only_its_owner_cancels_or_stops_a_listing() public {
        uint256 id = placeOffer(writer, terms(100, 10e6), true);
        vm.startPrank(alice);
        vm.expectRevert(error_(ICoverMarket.NotOwner.selector, id));
        market.cancel(id);
        vm.expectRevert(error_(ICoverMarket.NotOwner.selector, id));
        market.stopRepeating(id);
    }

    function test_what_never_existed_cannot_be_touched() public {
        bytes memory refusal = error_(ICoverMarket.UnknownListing.selector, 7);
        vm.expectRevert(refusal);
        market.cancel(7);
        vm.expectRevert(refusal);
        market.stopRepeating(7);
        vm.expectRevert(refusal);
        market.roll(7);
        vm.expectRevert(refusal);
        market.sendBack(7);
        vm.expectRevert(refusal);
        market.fill(7, 50);
        vm.expectRevert(refusal);
        market.take(one(7), one64(50), 50, 10e6);
        assertEq(market.listingOf(7).owner, address(0));
    }

    /// Whatever USDG thinks of him, the owner gets his money, to an address of his choice.
    function test_a_blocked_owners_cancel_becomes_a_credit() public {
        uint256 id = placeOffer(100, 10e6);
        usdg.setBlocked(writer, true);
        vm.expectEmit();
        emit ICoverMarket.Credited(writer, 100e6);
        vm.prank(writer);
        market.cancel(id);
        assertEq(market.credits(writer), 100e6);
        vm.prank(writer);
        assertEq(market.claim(scribe), 100e6);
        assertEq(usdg.balanceOf(scribe), 100e6);
    }

    // ---------------------------------------------------------------- sending back

    function test_anyone_sends_back_what_did_not_sell_from_the_cutoff_on() public {
        uint256 offered = placeOffer(100, 10e6);
        uint256 requested = placeRequest(alice, terms(100, 10e6));
        vm.warp(cutoffOf(WEEK) - 1);
        vm.expectRevert(error_(ICoverMarket.StillTrading.selector, WEEK));
        market.sendBack(offered);
        vm.warp(cutoffOf(WEEK));
        vm.expectEmit();
        emit ICoverMarket.ListingSentBack(offered, writer, 100e6);
        vm.prank(keeper);
        market.sendBack(offered);
        market.sendBack(requested);
        assertEq(usdg.balanceOf(writer), 100e6);
        assertEq(usdg.balanceOf(alice), 1e6);
        vm.expectRevert(error_(ICoverMarket.NotOpen.selector, offered));
        market.sendBack(offered);
    }

    function test_a_blocked_owner_cannot_stop_his_listing_from_going_back() public {
        uint256 id = placeOffer(100, 10e6);
        vm.warp(cutoffOf(WEEK));
        usdg.setMisbehaviourFor(TestToken.Misbehaviour.BurnsGas, writer);
        market.sendBack(id);
        assertEq(market.credits(writer), 100e6);
    }

    // ---------------------------------------------------------------- repeating

    function test_a_repeating_offer_goes_on_to_the_next_week_under_a_new_id() public {
        uint256 id = placeOffer(writer, terms(200, 10e6), true);
        buy(alice, id, 170);
        vm.warp(cutoffOf(WEEK) - 1);
        vm.expectRevert(error_(ICoverMarket.StillTrading.selector, WEEK));
        market.roll(id);
        vm.warp(cutoffOf(WEEK));
        vm.expectRevert(error_(ICoverMarket.Repeats.selector, id));
        market.sendBack(id);
        ICoverMarket.Terms memory rest = terms(30, 10e6);
        rest.week = WEEK + 1;
        uint256 expected = _idOf(writer, ICoverMarket.Side.Offer, rest, 1);
        vm.expectEmit();
        emit ICoverMarket.Listed(expected, writer, ICoverMarket.Side.Offer, true, rest);
        vm.expectEmit();
        emit ICoverMarket.ListingRolled(id, expected);
        vm.prank(keeper);
        assertEq(market.roll(id), expected);
        assertEq(market.listingOf(id).openUsd, 0);
        assertEq(market.listingOf(expected).openUsd, 30);
        assertTrue(market.listingOf(expected).repeats);
        vm.expectRevert(error_(ICoverMarket.NotOpen.selector, id));
        market.roll(id);
        buy(alice, expected, 30); // all that is left, though below the minimum
        assertEq(usdg.balanceOf(address(market)), 200e6 + costOf(170, 10e6) + costOf(30, 10e6));
    }

    function test_an_offer_that_was_forgotten_rolls_to_the_week_that_trades() public {
        uint256 id = placeOffer(writer, terms(100, 10e6), true);
        vm.warp(cutoffOf(WEEK + 3));
        uint256 next = market.roll(id);
        assertEq(market.listingOf(next).terms.week, WEEK + 4);
    }

    function test_an_offer_stays_its_owners_when_no_week_is_left() public {
        uint256 id = placeOffer(writer, terms(100, 10e6), true);
        vm.warp(cutoffOf(WEEK + 4));
        vm.expectRevert(error_(ICoverMarket.TradingClosed.selector, WEEK));
        market.roll(id);
        vm.prank(writer);
        market.cancel(id);
        assertEq(usdg.balanceOf(writer), 100e6);
    }

    function test_a_stopped_offer_goes_back_instead() public {
        uint256 id = placeOffer(writer, terms(100, 10e6), true);
        vm.expectEmit();
        emit ICoverMarket.RepeatStopped(id);
        vm.prank(writer);
        market.stopRepeating(id);
        vm.expectRevert(error_(ICoverMarket.DoesNotRepeat.selector, id));
        vm.prank(writer);
        market.stopRepeating(id);
        vm.warp(cutoffOf(WEEK));
        vm.expectRevert(error_(ICoverMarket.DoesNotRepeat.selector, id));
        market.roll(id);
        market.sendBack(id);
        assertEq(usdg.balanceOf(writer), 100e6);
        vm.expectRevert(error_(ICoverMarket.NotOpen.selector, id));
        vm.prank(writer);
        market.stopRepeating(id);
    }

    // ---------------------------------------------------------------- steps

    function _idOf(address owner, ICoverMarket.Side side, ICoverMarket.Terms memory of_, uint256 counter)
        private
        view
        returns (uint256)
    {
        return uint256(
            keccak256(
                abi.encode(
                    block.chainid,
                    market,
                    owner,
                    side,
                    of_.week,
                    of_.vault,
                    of_.fromBps,
                    of_.toBps,
                    of_.pricePer1k,
                    counter
                )
            )
        );
    }

    function _place(uint16 from, uint16 to) private {
        ICoverMarket.Terms memory listed = terms(50, 10e6);
        (listed.fromBps, listed.toBps) = (from, to);
        placeOffer(writer, listed, false);
    }

    function _refuse(uint16 from, uint16 to, string memory why) private {
        ICoverMarket.Terms memory listed = terms(50, 10e6);
        (listed.fromBps, listed.toBps) = (from, to);
        fund(writer, 50e6);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, why));
        vm.prank(writer);
        market.offer(listed, false);
    }
}
