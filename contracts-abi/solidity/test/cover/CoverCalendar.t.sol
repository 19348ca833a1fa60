// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {NavOracle} from "../../src/basket/NavOracle.sol";
import {CoverMarket} from "../../src/cover/CoverMarket.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {TestToken} from "../support/TestToken.sol";
import {IUniPool} from "../support/UniswapFixture.sol";
import {CoverFixture} from "./CoverFixture.sol";

contract CoverCalendarTest is CoverFixture {
    function setUp() public {
        deployCover();
    }

    // ---------------------------------------------------------------- weeks

    function test_a_weekend_lies_within_one_id() public view {
        ICoverMarket.WeekTimes memory times = market.weekOf(WEEK);
        assertEq(times.close, closeOf(WEEK));
        assertEq(times.settle, settleOf(WEEK));
        assertEq(times.close / 7 days, WEEK);
        assertEq(times.settle / 7 days, WEEK);
        uint32[] memory ids = market.publishedWeeks();
        assertEq(ids.length, 5);
        assertEq(ids[0], WEEK);
        assertEq(ids[4], WEEK + 4);
        assertEq(market.weekOf(WEEK + 5).close, 0);
    }

    function test_only_the_owner_publishes_and_lists() public {
        bytes memory refusal = abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, keeper);
        vm.startPrank(keeper);
        vm.expectRevert(refusal);
        market.publishWeeks(calendar(WEEK + 5, 1));
        vm.expectRevert(refusal);
        market.listVault(address(solo), 50);
    }

    function test_ownership_moves_in_two_steps() public {
        vm.prank(protocolOwner);
        market.transferOwnership(keeper);
        assertEq(market.owner(), protocolOwner);
        vm.prank(keeper);
        market.acceptOwnership();
        assertEq(market.owner(), keeper);
        vm.prank(keeper);
        market.publishWeeks(calendar(WEEK + 5, 1));
    }

    function test_publishing_says_what_was_published() public {
        vm.expectEmit();
        emit ICoverMarket.WeekPublished(WEEK + 5, closeOf(WEEK + 5), settleOf(WEEK + 5));
        vm.prank(protocolOwner);
        market.publishWeeks(calendar(WEEK + 5, 1));
    }

    function test_a_published_week_is_never_published_again() public {
        _refuse(closeOf(WEEK + 4), settleOf(WEEK + 4));
        _refuse(closeOf(WEEK + 4) + 1, settleOf(WEEK + 4) + 1);
        _refuse(closeOf(WEEK + 1), settleOf(WEEK + 1));
    }

    function test_a_week_closes_after_the_one_before_has_settled() public {
        uint48 start = uint48(uint256(WEEK + 6) * 7 days);
        _publish(start - 2 days, start + 2 days); // id WEEK + 5
        _refuse(start + 2 days, start + 4 days); // the second it settles
        _publish(start + 2 days + 1, start + 4 days);
    }

    function test_two_weekends_of_one_id_are_refused() public {
        uint48 start = uint48(uint256(WEEK + 6) * 7 days);
        _publish(start, start + 1 days);
        _refuse(start + 2 days, start + 3 days);
    }

    function test_a_weekend_lasts_one_to_four_days() public {
        uint48 close = closeOf(WEEK + 5);
        _refuse(close, close + 1 days - 1);
        _refuse(close, close + 4 days + 1);
        _refuse(close, close);
        _refuse(close, close - 1);
        _publish(close, close + 1 days);
        close = closeOf(WEEK + 6);
        _publish(close, close + 4 days);
    }

    function test_a_week_is_published_a_day_before_its_cutoff() public {
        CoverMarket fresh = _fresh();
        vm.warp(cutoffOf(WEEK) - 1 days + 1);
        vm.expectRevert(error_(ICoverMarket.BadWeek.selector, closeOf(WEEK), settleOf(WEEK)));
        fresh.publishWeeks(calendar(WEEK, 1));
        vm.warp(cutoffOf(WEEK) - 1 days);
        fresh.publishWeeks(calendar(WEEK, 1));
    }

    function test_nobody_can_jump_the_calendar() public {
        uint48 most = closeOf(WEEK + 4) + 14 days;
        _refuse(most + 1, most + 2 days);
        _refuse(type(uint48).max - 4 days, type(uint48).max);
        _publish(most, most + 2 days);

        CoverMarket fresh = _fresh();
        most = uint48(vm.getBlockTimestamp() + 14 days);
        ICoverMarket.WeekTimes[] memory first = new ICoverMarket.WeekTimes[](1);
        first[0] = ICoverMarket.WeekTimes(most + 1, most + 2 days);
        vm.expectRevert(error_(ICoverMarket.BadWeek.selector, most + 1, most + 2 days));
        fresh.publishWeeks(first);
        first[0].close = most;
        fresh.publishWeeks(first);
        // Once the calendar has run out it goes on from the present.
        vm.warp(settleOf(WEEK + 20));
        fresh.publishWeeks(calendar(WEEK + 21, 1));
    }

    function test_weeks_are_published_for_200_days_at_most() public {
        vm.warp(closeOf(WEEK + 5) - 8 days);
        vm.startPrank(protocolOwner);
        market.publishWeeks(calendar(WEEK + 5, 28)); // the last closes in 8 + 27 x 7 days
        vm.expectRevert();
        market.publishWeeks(calendar(WEEK + 33, 1));
        vm.warp(closeOf(WEEK + 33) - 200 days - 1);
        vm.expectRevert(error_(ICoverMarket.BadWeek.selector, closeOf(WEEK + 33), settleOf(WEEK + 33)));
        market.publishWeeks(calendar(WEEK + 33, 1));
        vm.warp(closeOf(WEEK + 33) - 200 days);
        market.publishWeeks(calendar(WEEK + 33, 1));
    }

    function test_nothing_is_published_when_one_week_is_bad() public {
        ICoverMarket.WeekTimes[] memory times = calendar(WEEK + 5, 2);
        times[1] = times[0];
        vm.expectRevert(error_(ICoverMarket.BadWeek.selector, times[1].close, times[1].settle));
        vm.prank(protocolOwner);
        market.publishWeeks(times);
        assertEq(market.publishedWeeks().length, 5);
    }

    // ---------------------------------------------------------------- what trades

    function test_a_week_trades_until_the_second_of_its_cutoff() public {
        vm.warp(cutoffOf(WEEK) - 1);
        assertTrue(market.tradingOpen(WEEK));
        _assertCurrent(WEEK);
        uint256 id = placeOffer(100, 10e6);
        buy(alice, id, 50);

        vm.warp(cutoffOf(WEEK));
        assertFalse(market.tradingOpen(WEEK));
        _assertCurrent(WEEK + 1);
        fund(alice, 1_000e6);
        vm.startPrank(alice);
        vm.expectRevert(error_(ICoverMarket.TradingClosed.selector, WEEK));
        market.take(one(id), one64(50), 50, 1_000e6);
        vm.expectRevert(error_(ICoverMarket.TradingClosed.selector, WEEK));
        market.request(terms(100, 10e6));
        vm.expectRevert(error_(ICoverMarket.TradingClosed.selector, WEEK));
        market.offer(terms(100, 10e6), false);
    }

    function test_a_request_is_filled_until_the_second_of_the_cutoff() public {
        uint256 id = placeRequest(alice, terms(100, 10e6));
        vm.warp(cutoffOf(WEEK) - 1);
        underwrite(writer, id, 50);
        vm.warp(cutoffOf(WEEK));
        fund(writer, 100e6);
        vm.expectRevert(error_(ICoverMarket.TradingClosed.selector, WEEK));
        vm.prank(writer);
        market.fill(id, 50);
    }

    function test_the_current_week_and_the_next_two_trade() public {
        _assertOpen([true, true, true, false, false]);
        vm.warp(cutoffOf(WEEK) - 1);
        _assertOpen([true, true, true, false, false]);
        vm.warp(cutoffOf(WEEK));
        _assertOpen([false, true, true, true, false]);
        vm.warp(cutoffOf(WEEK + 1));
        _assertOpen([false, false, true, true, true]);
        vm.warp(cutoffOf(WEEK + 3));
        _assertOpen([false, false, false, false, true]);
        vm.warp(cutoffOf(WEEK + 4));
        _assertOpen([false, false, false, false, false]);
        (bool some,) = market.currentWeek();
        assertFalse(some);
    }

    function test_a_week_never_published_does_not_trade() public {
        assertFalse(market.tradingOpen(0));
        assertFalse(market.tradingOpen(WEEK - 1));
        (bool some, uint32 week) = _fresh().currentWeek();
        assertFalse(some);
        assertEq(week, 0);
    }

    function testFuzz_the_current_week_is_the_first_whose_cutoff_is_ahead(uint256 count, uint256 time)
        public
    {
        CoverMarket fresh = _fresh();
        count = bound(count, 0, 12);
        fresh.publishWeeks(calendar(WEEK, count));
        vm.warp(bound(time, vm.getBlockTimestamp(), cutoffOf(WEEK + 13)));
        uint32 expected = WEEK;
        while (expected < WEEK + count && cutoffOf(expected) <= vm.getBlockTimestamp()) ++expected;
        (bool some, uint32 week) = fresh.currentWeek();
        assertEq(some, expected < WEEK + count);
        assertEq(week, some ? expected : 0);
        for (uint32 i = WEEK; i < WEEK + count; ++i) {
            assertEq(fresh.tradingOpen(i), some && i >= expected && i <= expected + 2);
        }
    }

    // ---------------------------------------------------------------- baskets

    function test_a_basket_is_listed_once_for_good() public {
        vm.startPrank(protocolOwner);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.AlreadyListed.selector, solo));
        market.listVault(address(solo), 50);
        address[] memory listed = market.coverVaults();
        assertEq(listed.length, 2);
        assertEq(listed[0], address(duo));
        assertEq(listed[1], address(solo));
        assertEq(market.capOf(address(solo)), SOLO_CAP);
        assertEq(market.capOf(address(this)), 0);
    }

    function test_a_basket_comes_from_the_registry_and_is_set_up_for_orders() public {
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.UnknownVault.selector, keeper));
        vm.prank(protocolOwner);
        market.listVault(keeper, 50);
        Asset[] memory parts = new Asset[](1);
        uint256[] memory dollars = new uint256[](1);
        (parts[0], dollars[0]) = (india, 100);
        address idle = address(_found("IDLE", parts, dollars, false));
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "orders disabled"));
        vm.prank(protocolOwner);
        market.listVault(idle, 50);
    }

    function test_a_basket_is_listed_at_no_more_than_its_pools_carry() public {
        CoverMarket fresh = _fresh();
        uint64 most = fresh.depthCapOf(address(solo));
        vm.expectRevert(error_(ICoverMarket.CapTooHigh.selector, most + 1, most));
        fresh.listVault(address(solo), most + 1);
        vm.expectRevert(error_(ICoverMarket.BelowMinimum.selector, 49, 50));
        fresh.listVault(address(solo), 49);
        vm.expectEmit();
        emit ICoverMarket.VaultListed(address(solo), most);
        fresh.listVault(address(solo), most);
        assertEq(fresh.capOf(address(solo)), most);
        fresh.listVault(address(duo), 50);
    }

    function test_every_pool_of_a_listed_basket_remembers_a_snapshots_hour() public {
        Asset memory short;
        short.token = new TestToken("Short", "SHORT", 18);
        short.price = 50e18;
        short.pool = createThinPool(address(short.token), address(usdg), 10_000, 50e18);
        short.minLiquidity = addDepth(short.pool, address(usdg), COVER_DEPTH) / 2;
        growCardinality(short.pool, 4_499);
        Asset[] memory parts = new Asset[](2);
        uint256[] memory dollars = new uint256[](2);
        (parts[0], parts[1]) = (india, short);
        (dollars[0], dollars[1]) = (50, 50);
        address vault = address(_found("SHORT", parts, dollars, true));
        vm.startPrank(protocolOwner);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "cardinality"));
        market.listVault(vault, 50);
        vm.stopPrank();
        growCardinality(short.pool, 4_500);
        for (uint256 i; i < 4_499; ++i) {
            skip(1);
            writeObservation(short.pool); // a ring grows once it is full
        }
        vm.prank(protocolOwner);
        market.listVault(vault, 50);
    }

    function test_a_basket_of_more_constituents_than_a_snapshot_can_read_carries_no_cover() public {
        _listOf(10, "cardinality"); // read, and found without what a snapshot needs
        _listOf(11, "constituents");
    }

    /// A basket of `count` tokens, the first of a pool that forgets, is refused for `why`.
    function _listOf(uint256 count, string memory why) private {
        Asset[] memory parts = new Asset[](count);
        uint256[] memory dollars = new uint256[](count);
        for (uint256 i; i < count; ++i) {
            parts[i].token = new TestToken("Many", "MANY", 18);
            parts[i].price = 50e18;
            dollars[i] = 10;
        }
        parts[0].pool = createPool(address(parts[0].token), address(usdg), 3_000, 50e18, COVER_DEPTH);
        parts[0].minLiquidity = 1;
        address vault = address(_found(why, parts, dollars, true));
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, why));
        vm.prank(protocolOwner);
        market.listVault(vault, 50);
    }

    function test_the_WETH_pool_remembers_too_where_a_basket_needs_it() public {
        IUniPool forgetful = createPool(address(weth), address(usdg), 3_000, ETH_PRICE, COVER_DEPTH);
        NavOracle other = new NavOracle(address(usdg), address(weth), address(forgetful), 1);
        CoverMarket fresh =
            new CoverMarket(address(usdg), address(registry), address(other), address(pause), address(this));
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "cardinality"));
        fresh.listVault(address(duo), 50);
        fresh.listVault(address(solo), 50);
    }

    function test_a_basket_with_a_constituent_that_has_no_pool_carries_no_cover() public {
        Asset[] memory parts = new Asset[](2);
        uint256[] memory dollars = new uint256[](2);
        (parts[0], parts[1]) = (india, golf);
        (dollars[0], dollars[1]) = (75, 25);
        (parts[1].pool, parts[1].price) = (IUniPool(address(0)), 0);
        address vault = address(_found("BLIND", parts, dollars, true));
        vm.expectRevert(error_(ICoverMarket.CapTooHigh.selector, 50, 0));
        vm.prank(protocolOwner);
        market.listVault(vault, 50);
    }

    function test_an_unlisted_basket_has_no_market() public {
        address none = address(foundOf("NONE", india));
        ICoverMarket.Terms memory bad = terms(100, 10e6);
        bad.vault = none;
        fund(writer, 100e6);
        vm.startPrank(writer);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.UnknownVault.selector, none));
        market.offer(bad, false);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.UnknownVault.selector, none));
        market.request(bad);
    }

    function test_a_market_is_built_over_one_USDG_and_real_contracts() public {
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "usdg"));
        new CoverMarket(
            address(golf.token), address(registry), address(oracle), address(pause), protocolOwner
        );
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "registry"));
        new CoverMarket(address(usdg), keeper, address(oracle), address(pause), protocolOwner);
        vm.expectRevert(abi.encodeWithSelector(ICoverMarket.BadTerms.selector, "pause"));
        new CoverMarket(address(usdg), address(registry), address(oracle), keeper, protocolOwner);
        assertEq(address(market.usdg()), address(usdg));
        assertEq(address(market.registry()), address(registry));
        assertEq(address(market.oracle()), address(oracle));
        assertEq(address(market.pause()), address(pause));
    }

    // ---------------------------------------------------------------- steps

    function _fresh() private returns (CoverMarket) {
        return
            new CoverMarket(address(usdg), address(registry), address(oracle), address(pause), address(this));
    }

    function _publish(uint48 close, uint48 settle) private {
        ICoverMarket.WeekTimes[] memory times = new ICoverMarket.WeekTimes[](1);
        times[0] = ICoverMarket.WeekTimes(close, settle);
        vm.prank(protocolOwner);
        market.publishWeeks(times);
    }

    function _refuse(uint48 close, uint48 settle) private {
        ICoverMarket.WeekTimes[] memory times = new ICoverMarket.WeekTimes[](1);
        times[0] = ICoverMarket.WeekTimes(close, settle);
        vm.expectRevert(error_(ICoverMarket.BadWeek.selector, close, settle));
        vm.prank(protocolOwner);
        market.publishWeeks(times);
    }

    function _assertCurrent(uint32 expected) private view {
        (bool some, uint32 week) = market.currentWeek();
        assertTrue(some);
        assertEq(week, expected);
    }

    function _assertOpen(bool[5] memory expected) private view {
        for (uint32 i; i < 5; ++i) {
            assertEq(market.tradingOpen(WEEK + i), expected[i]);
        }
    }
}
