// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketRegistry} from "../../src/basket/BasketRegistry.sol";
import {BasketVault} from "../../src/basket/BasketVault.sol";
import {NavOracle} from "../../src/basket/NavOracle.sol";
import {CoverMarket} from "../../src/cover/CoverMarket.sol";
import {ProtocolPause} from "../../src/governance/ProtocolPause.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";
import {TestToken} from "../support/TestToken.sol";
import {IUniPool} from "../support/UniswapFixture.sol";

/// The cover market over genuine pools that remember 4,500 observations, and little else.
///
/// | basket | constituents |
/// |---|---|
/// | `duo` | golf (USDG 0.30%, $50), hotel (through WETH 1%, $30), USDG ($20) |
/// | `solo` | india of 8 decimals (USDG 1%) |
///
/// It is a Monday; WEEK closes on the Friday at 20:00 UTC and settles on the Monday after at 14:00.
abstract contract CoverFixture is ProtocolFixture {
    uint32 internal constant WEEK = 2_960; // 2026-09-25
    uint256 internal constant COVER_DEPTH = 500_000_000e6;
    uint64 internal constant DUO_CAP = 10_000;
    uint64 internal constant SOLO_CAP = 50_000;

    CoverMarket internal market;
    BasketVault internal duo;
    BasketVault internal solo;
    Asset internal golf;
    Asset internal hotel;
    Asset internal india;

    address internal writer; // an underwriter
    address internal scribe; // another
    address internal alice; // a buyer
    address internal bob; // another
    address internal keeper;

    function deployCover() internal {
        deployPools();
        deployMarket();
    }

    function deployPools() internal {
        deployUniswap();
        protocolOwner = makeAddr("protocol owner");
        guardian = makeAddr("guardian");
        treasury = makeAddr("treasury");
        writer = makeAddr("writer");
        scribe = makeAddr("scribe");
        alice = makeAddr("alice");
        bob = makeAddr("bob");
        keeper = makeAddr("keeper");

        ether_.token = TestToken(address(weth));
        ether_.fee = 500;
        ether_.price = ETH_PRICE;
        ether_.pool = createThinPool(address(weth), address(usdg), 500, ETH_PRICE);
        ether_.minLiquidity = addDepth(ether_.pool, address(usdg), COVER_DEPTH) / 2;
        growCardinality(ether_.pool, 4_500);
        pools.push(ether_.pool);
        golf = listCoverAsset("Golf", 18, 3_000, 125e18, COVER_DEPTH, false);
        hotel = listCoverAsset("Hotel", 18, 10_000, 400e18, COVER_DEPTH, true);
        india = listCoverAsset("India", 8, 10_000, 40e18, COVER_DEPTH, false);
        age(pools);
    }

    function deployMarket() internal {
        pause = new ProtocolPause(protocolOwner, guardian);
        registry = new BasketRegistry(protocolOwner, treasury);
        oracle = new NavOracle(address(usdg), address(weth), address(ether_.pool), ether_.minLiquidity);
        Asset memory cash;
        cash.token = usdg;
        cash.price = 1e18;
        Asset[] memory parts = new Asset[](3);
        uint256[] memory dollars = new uint256[](3);
        (parts[0], parts[1], parts[2]) = (golf, hotel, cash);
        (dollars[0], dollars[1], dollars[2]) = (50, 30, 20);
        duo = _found("DUO", parts, dollars, true);
        solo = foundOf("SOLO", india);

        market =
            new CoverMarket(address(usdg), address(registry), address(oracle), address(pause), protocolOwner);
        vm.label(address(market), "CoverMarket");
        vm.startPrank(protocolOwner);
        market.publishWeeks(calendar(WEEK, 5));
        market.listVault(address(duo), DUO_CAP);
        market.listVault(address(solo), SOLO_CAP);
        vm.stopPrank();
    }

    function foundOf(string memory ticker, Asset memory asset) internal returns (BasketVault) {
        Asset[] memory parts = new Asset[](1);
        uint256[] memory dollars = new uint256[](1);
        (parts[0], dollars[0]) = (asset, 100);
        return _found(ticker, parts, dollars, true);
    }

    // ---------------------------------------------------------------- time

    function closeOf(uint32 week) internal pure returns (uint48) {
        return uint48(uint256(week) * 7 days + 1 days + 20 hours);
    }

    function settleOf(uint32 week) internal pure returns (uint48) {
        return uint48(uint256(week) * 7 days + 4 days + 14 hours);
    }

    function cutoffOf(uint32 week) internal pure returns (uint256) {
        return closeOf(week) - 1 hours;
    }

    function calendar(uint32 first, uint256 count)
        internal
        pure
        returns (ICoverMarket.WeekTimes[] memory times)
    {
        times = new ICoverMarket.WeekTimes[](count);
        for (uint32 i; i < count; ++i) {
            times[i] = ICoverMarket.WeekTimes(closeOf(first + i), settleOf(first + i));
        }
    }

    /// The price of what `solo` holds, in bps of $40, from now on.
    function moveSolo(uint256 bps) internal {
        movePrice(india.pool, address(india.token), 40e18 * bps / 10_000);
    }

    /// Takes both snapshots of `solo`, its NAV having fallen by `dropBps` over the weekend.
    function runWeekend(uint32 week, uint256 dropBps) internal {
        vm.warp(closeOf(week));
        market.snapshot(week, address(solo), keeper);
        moveSolo(10_000 - dropBps);
        vm.warp(settleOf(week));
        market.settle(week, address(solo), keeper);
    }

    // ---------------------------------------------------------------- listings

    function terms(uint64 coverUsd, uint128 pricePer1k) internal view returns (ICoverMarket.Terms memory) {
        return ICoverMarket.Terms(WEEK, address(solo), 100, 1_000, coverUsd, pricePer1k);
    }

    function fund(address who, uint256 amount) internal {
        usdg.mint(who, amount);
        vm.prank(who);
        usdg.approve(address(market), type(uint256).max);
    }

    function placeOffer(address owner, ICoverMarket.Terms memory terms_, bool repeats)
        internal
        returns (uint256 id)
    {
        fund(owner, uint256(terms_.coverUsd) * 1e6);
        vm.prank(owner);
        return market.offer(terms_, repeats);
    }

    function placeOffer(uint64 coverUsd, uint128 pricePer1k) internal returns (uint256 id) {
        return placeOffer(writer, terms(coverUsd, pricePer1k), false);
    }

    function placeRequest(address owner, ICoverMarket.Terms memory terms_) internal returns (uint256 id) {
        fund(owner, uint256(terms_.coverUsd) * terms_.pricePer1k / 1_000);
        vm.prank(owner);
        return market.request(terms_);
    }

    /// Buys `coverUsd` of one offer, paying exactly its cost; the new position's id.
    function buy(address buyer, uint256 id, uint64 coverUsd) internal returns (uint256 positionId) {
        uint256 cost = costOf(coverUsd, market.listingOf(id).terms.pricePer1k);
        fund(buyer, cost);
        vm.prank(buyer);
        market.take(one(id), one64(coverUsd), coverUsd, cost);
        return market.positionCount();
    }

    function underwrite(address underwriter, uint256 id, uint64 coverUsd) internal returns (uint256) {
        fund(underwriter, uint256(coverUsd) * 1e6);
        vm.prank(underwriter);
        return market.fill(id, coverUsd);
    }

    /// Premium and fee of an offer.
    function costOf(uint256 coverUsd, uint256 pricePer1k) internal pure returns (uint256) {
        uint256 premium = coverUsd * pricePer1k / 1_000;
        return premium + (premium + 99) / 100;
    }

    function pay(uint256 positionId) internal returns (uint256 reward) {
        (, reward) = market.payout(one(positionId), keeper);
    }

    function one(uint256 value) internal pure returns (uint256[] memory list) {
        list = new uint256[](1);
        list[0] = value;
    }

    function two(uint256 first, uint256 second) internal pure returns (uint256[] memory list) {
        list = new uint256[](2);
        (list[0], list[1]) = (first, second);
    }

    function one64(uint64 value) internal pure returns (uint64[] memory list) {
        list = new uint64[](1);
        list[0] = value;
    }

    function two64(uint64 first, uint64 second) internal pure returns (uint64[] memory list) {
        list = new uint64[](2);
        (list[0], list[1]) = (first, second);
    }

    function outcomeOf(uint32 week, BasketVault vault) internal view returns (ICoverMarket.Outcome) {
        return market.marketOf(week, address(vault)).outcome;
    }

    function assertOutcome(ICoverMarket.Outcome expected) internal view {
        assertEq(uint256(outcomeOf(WEEK, solo)), uint256(expected));
    }

    function pauseProtocol() internal {
        vm.prank(guardian);
        pause.pause();
    }

    function error_(bytes4 selector, uint256 a) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(selector, a);
    }

    function error_(bytes4 selector, uint256 a, uint256 b) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(selector, a, b);
    }
}
