// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ICoverMarket} from "../../src/interfaces/ICoverMarket.sol";
import {ICoverModule} from "../../src/interfaces/ICoverModule.sol";
import {ISessionModule} from "../../src/interfaces/ISessionModule.sol";
import {CoverActions} from "../accounts/CoverActions.sol";

/// What the limits of a key's cover are measured over: the ceiling over a whole take, the daily limit over the days
/// that were seen.
contract CoverModuleLimitsTest is CoverActions {
    function setUp() public {
        deployAccounts();
        openCover();
        ISessionModule.GrantTerms memory terms = coverTerms();
        terms.coverDailyLimit = 60e6;
        grantAgain(terms);
        giveShares(covered, account, 1e18); // $100
    }

    /// wire.md, kind 0: `limit` is at most 3% of the sum of the cover. Beside cheap cover, dear cover fits.
    function test_the_ceiling_of_a_take_binds_the_sum_of_its_offers_and_not_each_of_them() public {
        uint256[] memory ids = new uint256[](2);
        uint64[] memory amounts = new uint64[](2);
        (ids[0], amounts[0]) = (placeOffer(weekTerms(900, 10_000)), 900); // $0.01 per $1,000
        (ids[1], amounts[1]) = (placeOffer(weekTerms(50, 500e6)), 50); // $500 per $1,000
        uint256 cost = costOf(900, 10_000) + costOf(50, 500e6);
        uint256 ceiling = 28_500_000; // 3% of $950
        ICoverModule.CoverAction memory action = _take(ids, amounts, 950, ceiling + 1);
        runCoverRefused(
            action, abi.encodeWithSelector(ICoverModule.CostAboveCeiling.selector, ceiling + 1, ceiling)
        );
        action = _take(ids, amounts, 950, ceiling);
        assertEq(runCover(action), cost);
        ICoverMarket.Position memory dear = market.positionOf(2);
        assertEq(dear.coverUsd, 50);
        assertEq(dear.premium, 25e6);
        assertEq(coverModule.usageOf(account, key), cost, "the daily limit counts all of it");

        // By itself the dear offer is above its own ceiling.
        uint256 alone = placeOffer(weekTerms(50, 500e6));
        action = takeAction(alone, 50, costOf(50, 500e6));
        action.nonce++;
        runCoverRefused(
            action, abi.encodeWithSelector(ICoverModule.CostAboveCeiling.selector, 25_250_000, 1_500_000)
        );
    }

    /// Rule 27: what a block with an old clock locks counts to the latest day that was seen, and that day stays.
    function test_a_take_under_an_old_clock_does_not_take_the_day_back() public {
        uint256 today = vm.getBlockTimestamp();
        uint256 id = placeOffer(weekTerms(300, 20e6));
        ICoverModule.CoverAction memory action = takeAction(id, 60, costOf(60, 20e6));
        runCover(action);
        vm.warp(today - 1 days);
        action.nonce++;
        action.deadline = uint48(vm.getBlockTimestamp() + 5 minutes);
        runCover(action);
        vm.warp(today);
        assertEq(coverModule.usageOf(account, key), 2 * costOf(60, 20e6), "the day was taken back");
    }

    /// The limits are counted apart: an owner who lowers that of trades under what the day has seen leaves cover its own,
    /// though its network fee is counted beside the trades.
    function test_a_take_pays_its_fee_though_the_day_has_traded_more_than_is_allowed_by_now() public {
        run(buyAction(tech, 1e18));
        ISessionModule.GrantTerms memory terms = coverTerms();
        (terms.dailyLimit, terms.coverDailyLimit) = (50e6, 60e6);
        grantAgain(terms);
        uint256 id = placeOffer(weekTerms(300, 20e6));
        ICoverModule.CoverAction memory action = takeAction(id, 60, costOf(60, 20e6));
        action.fee = 100_000;
        runCover(action);
        (uint256 turnover, uint256 fees) = module.usageOf(account, key);
        assertGt(turnover, terms.dailyLimit);
        assertEq(fees, 100_000);
    }

    function _take(uint256[] memory ids, uint64[] memory amounts, uint256 coverUsd, uint256 limit)
        private
        view
        returns (ICoverModule.CoverAction memory)
    {
        return coverAction(TAKE, abi.encode(ids, amounts, coverUsd, limit));
    }
}
