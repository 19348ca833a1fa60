// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {TradeBounds} from "../../src/accounts/TradeBounds.sol";
import {Test} from "../support/Test.sol";

/// Every rounding goes against the key: it may spend no fraction more and must bring no fraction less.
contract TradeBoundsTest is Test {
    uint256 private constant PER_USDG = 1e30; // shares 1e18 x nav 1e18 over USDG 1e6

    function testFuzz_a_buy_bound_is_the_exact_product_rounded_down(uint256 shares, uint256 nav, uint256 bps)
        public
        pure
    {
        (shares, nav, bps) = _inputs(shares, nav, bps);
        uint256 most = TradeBounds.mostSpent(shares, nav, bps);
        uint256 exact = shares * nav * (10_000 + bps);
        assertLe(most * PER_USDG * 10_000, exact);
        assertGt((most + 1) * PER_USDG * 10_000, exact);
    }

    function testFuzz_a_sale_bound_is_the_exact_product_rounded_up(uint256 shares, uint256 nav, uint256 bps)
        public
        pure
    {
        (shares, nav, bps) = _inputs(shares, nav, bps);
        uint256 least = TradeBounds.leastReceived(shares, nav, bps);
        uint256 exact = shares * nav * (10_000 - bps);
        assertGe(least * PER_USDG * 10_000, exact);
        if (least != 0) assertLt((least - 1) * PER_USDG * 10_000, exact);
    }

    function testFuzz_values_round_as_asked(uint256 shares, uint256 nav) public pure {
        (shares, nav,) = _inputs(shares, nav, 0);
        uint256 floor = TradeBounds.value(shares, nav, Math.Rounding.Floor);
        assertEq(floor, shares * nav / PER_USDG);
        uint256 ceil = TradeBounds.value(shares, nav, Math.Rounding.Ceil);
        assertEq(ceil, shares * nav % PER_USDG == 0 ? floor : floor + 1);
    }

    function test_one_share_at_a_hundred_dollars_and_one_percent() public pure {
        assertEq(TradeBounds.value(1e18, 100e18, Math.Rounding.Floor), 100e6);
        assertEq(TradeBounds.mostSpent(1e18, 100e18, 100), 101e6);
        assertEq(TradeBounds.leastReceived(1e18, 100e18, 100), 99e6);
    }

    function test_spot_is_near_up_to_exactly_three_percent() public pure {
        assertTrue(TradeBounds.spotIsNear(103e18, 100e18));
        assertTrue(TradeBounds.spotIsNear(97e18, 100e18));
        assertFalse(TradeBounds.spotIsNear(103e18 + 1, 100e18));
        assertFalse(TradeBounds.spotIsNear(97e18 - 1, 100e18));
    }

    /// Up to a billion shares at a million dollars.
    function _inputs(uint256 shares, uint256 nav, uint256 bps)
        private
        pure
        returns (uint256, uint256, uint256)
    {
        return (bound(shares, 0, 1e27), bound(nav, 0, 1e24), bound(bps, 0, 1_000));
    }
}
