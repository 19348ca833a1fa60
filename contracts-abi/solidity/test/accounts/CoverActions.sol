// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketVault} from "../../src/basket/BasketVault.sol";
import {Constants} from "../../src/Constants.sol";
import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {TestToken} from "../support/TestToken.sol";
import {Vm} from "../support/Vm.sol";
import {AccountsFixture} from "./AccountsFixture.sol";

/// Cover actions of the session key, as wire.md writes them, over a basket with cover:
///
/// | basket | constituents (pool) | cap of a week |
/// |---|---|---|
/// | `covered` | foxtrot 70% (USDG 0.30%), golf 30% (USDG 1%) | what CoverDepth allows, some $6,000 |
abstract contract CoverActions is AccountsFixture {
    uint8 internal constant TAKE = 0;
    uint8 internal constant REQUEST = 1;
    uint8 internal constant CANCEL = 4;
    uint256 private constant WEEKS = 20;

    BasketVault internal covered;
    Asset internal foxtrot;
    Asset internal golf;
    address internal underwriter;
    uint32[] internal coverWeeks;

    /// The basket, its cover and the weeks' calendar: Friday 20:00 to Monday 14:00 UTC.
    function openCover() internal {
        Asset[] memory parts = new Asset[](2);
        uint256[] memory dollars = new uint256[](2);
        foxtrot = _deepAsset("Foxtrot", 3_000, 50e18);
        golf = _deepAsset("Golf", 10_000, 20e18);
        age(pools);
        (parts[0], parts[1]) = (foxtrot, golf);
        (dollars[0], dollars[1]) = (70, 30);
        covered = _found("COVERED", parts, dollars, true);

        ICoverMarket.WeekTimes[] memory times = new ICoverMarket.WeekTimes[](WEEKS);
        uint256 friday = vm.getBlockTimestamp() / 7 days * 7 days + 1 days + 20 hours;
        if (friday < vm.getBlockTimestamp() + 2 days) friday += 7 days;
        for (uint256 i; i < WEEKS; i++) {
            uint256 close = friday + i * 7 days;
            times[i] = ICoverMarket.WeekTimes(uint48(close), uint48(close + 66 hours));
            coverWeeks.push(uint32(close / 7 days));
        }
        vm.startPrank(protocolOwner);
        market.publishWeeks(times);
        market.listVault(address(covered), market.depthCapOf(address(covered)));
        vm.stopPrank();

        underwriter = makeAddr("underwriter");
        usdg.mint(underwriter, 1_000_000e6);
        vm.prank(underwriter);
        usdg.approve(address(market), type(uint256).max);
    }

    /// A pool of ten times the usual liquidity, with the observations that cover needs.
    function _deepAsset(string memory name, uint24 fee, uint256 price) private returns (Asset memory asset) {
        asset.token = new TestToken(name, name, 18);
        (asset.fee, asset.price) = (fee, price);
        asset.pool = createThinPool(address(asset.token), address(usdg), fee, price);
        asset.minLiquidity = addDepth(asset.pool, address(usdg), 10 * DEPTH) / 2;
        growCardinality(asset.pool, uint16(Constants.MIN_COVER_CARDINALITY));
        pools.push(asset.pool);
    }

    function weekTerms(uint64 coverUsd, uint128 pricePer1k)
        internal
        view
        returns (ICoverMarket.Terms memory)
    {
        (, uint32 week) = market.currentWeek();
        return ICoverMarket.Terms(week, address(covered), 300, 1_000, coverUsd, pricePer1k);
    }

    /// The underwriter's.
    function placeOffer(ICoverMarket.Terms memory terms) internal returns (uint256 id) {
        vm.prank(underwriter);
        return market.offer(terms, false);
    }

    /// The market's latest listing since the last call; call `vm.recordLogs` before.
    function lastListing() internal returns (uint256 id) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; i++) {
            if (logs[i].emitter == address(market) && logs[i].topics[0] == ICoverMarket.Listed.selector) {
                id = uint256(logs[i].topics[1]);
            }
        }
        assertGt(id, 0, "nothing listed");
    }

    /// Runs a request; the listing that it made.
    function runRequest(ICoverModule.CoverAction memory action) internal returns (uint256 id) {
        vm.recordLogs();
        runCover(action);
        return lastListing();
    }

    /// Premium and the 1% fee, rounded up, of cover taken from an offer.
    function costOf(uint256 coverUsd, uint256 pricePer1k) internal pure returns (uint256) {
        uint256 premium = coverUsd * pricePer1k / 1_000;
        return premium + (premium + 99) / 100;
    }

    /// The usual grant with cover on, $40 a day.
    function coverTerms() internal view returns (ISessionModule.GrantTerms memory terms) {
        terms = defaultTerms();
        terms.coverEnabled = true;
        terms.coverDailyLimit = 40e6;
    }

    function coverAction(uint8 kind, bytes memory data)
        internal
        view
        returns (ICoverModule.CoverAction memory action)
    {
        action.account = account;
        action.key = key;
        action.kind = kind;
        action.data = data;
        action.nonce = nonceFor(key, 1);
        action.deadline = uint48(vm.getBlockTimestamp() + 5 minutes);
    }

    /// All of `coverUsd` from one offer.
    function takeAction(uint256 id, uint64 coverUsd, uint256 limit)
        internal
        view
        returns (ICoverModule.CoverAction memory)
    {
        uint256[] memory ids = new uint256[](1);
        uint64[] memory amounts = new uint64[](1);
        (ids[0], amounts[0]) = (id, coverUsd);
        return coverAction(TAKE, abi.encode(ids, amounts, uint256(coverUsd), limit));
    }

    function requestAction(ICoverMarket.Terms memory terms)
        internal
        view
        returns (ICoverModule.CoverAction memory)
    {
        return coverAction(
            REQUEST,
            abi.encode(terms.week, terms.vault, terms.fromBps, terms.toBps, terms.coverUsd, terms.pricePer1k)
        );
    }

    function cancelAction(uint256 id) internal view returns (ICoverModule.CoverAction memory) {
        return coverAction(CANCEL, abi.encode(id));
    }

    function signedCover(ICoverModule.CoverAction memory action) internal view returns (bytes memory) {
        return signature(keyKey, coverModule.hashAction(action));
    }

    /// Signs and sends as the relayer.
    function runCover(ICoverModule.CoverAction memory action) internal returns (uint256) {
        bytes memory sig = signedCover(action);
        vm.prank(relayer);
        return coverModule.execute(action, sig);
    }

    /// Signs, expects exactly `revertData`, sends as the relayer, and finds the nonce unused afterwards.
    function runCoverRefused(ICoverModule.CoverAction memory action, bytes memory revertData) internal {
        bytes memory sig = signedCover(action);
        bool usedBefore = coverModule.nonceUsed(action.account, action.nonce);
        vm.expectRevert(revertData);
        vm.prank(relayer);
        coverModule.execute(action, sig);
        assertEq(coverModule.nonceUsed(action.account, action.nonce), usedBefore);
    }
}
