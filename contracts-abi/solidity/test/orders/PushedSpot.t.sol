// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {OrderFixture} from "./OrderFixture.sol";

/// The floor of an exit reads spot at the moment of the fill (rule 10). What that leaves to a keeper who pushes spot
/// within his own transaction, as README.md states it: the tolerance, and the gap between the prices that stood and the
/// reference.
contract PushedSpotTest is OrderFixture {
    uint256 private constant SHARES = 10e18;
    uint256 private standing;
    uint256 private nav;

    function setUp() public {
        deployWorld();
        settleReference();
    }

    function test_pushed_to_the_reference_a_fill_pays_the_reference_less_the_tolerance() public {
        bytes32 id = _riseAndExit();
        uint256 standingFloor = exits.floorOf(id);
        movePrices(nav * 10_000 / standing);
        uint256 floor = exits.floorOf(id);
        assertLt(floor, standingFloor * 97 / 100, "the push gains nothing");
        uint256 gross = _fill(id);
        uint256 worth = SHARES * standing / 1e30;
        assertGe(gross, SHARES * nav / 1e30 * 99 / 100, "less than the reference less 1%");
        uint256 gap = (standing - nav) * 10_000 / standing;
        assertGe((worth - gross) * 10_000 / worth, gap, "the attack does not bite");
        assertLe((worth - gross) * 10_000 / worth, gap + 100, "more than the tolerance and the gap");
    }

    /// Further down there is nothing: the reference is the floor's then.
    function test_pushed_below_the_reference_the_floor_stays() public {
        bytes32 id = _riseAndExit();
        movePrices(nav * 10_000 / standing);
        uint256 floor = exits.floorOf(id);
        movePrices(9_500);
        assertApproxEqRel(exits.floorOf(id), floor, 1e15);
    }

    /// A market that has just risen by 5%, and a take-profit whose trigger the reference has passed.
    function _riseAndExit() private returns (bytes32 id) {
        id = createExit(alice, SHARES, 0, 101e18);
        movePrices(10_500);
        skip(65);
        refreshPools();
        skip(65);
        refreshPools();
        standing = oracle.spotNav(address(vault));
        nav = oracle.referenceNav(address(vault));
        assertGt(standing, nav * 103 / 100);
    }

    function _fill(bytes32 id) private returns (uint256 gross) {
        SwapCall[] memory swaps;
        (swaps, gross) = quoteSell(vault, SHARES);
        exits.fill(id, swaps, keeper);
    }
}
