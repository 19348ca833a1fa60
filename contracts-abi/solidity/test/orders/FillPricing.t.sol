// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {FillPricing} from "../../src/orders/FillPricing.sol";
import {Test} from "../support/Test.sol";

contract FillPricingTest is Test {
    uint256 private constant MOST = 1e18; // a million million dollars
    uint256 private constant MOST_NAV = 1e30; // a million million dollars a share

    function test_the_executor_fee_follows_its_three_regimes() public pure {
        assertEq(FillPricing.executorFee(0), 0);
        assertEq(FillPricing.executorFee(99), 0); // under one unit at 1%
        assertEq(FillPricing.executorFee(5e6), 50_000); // 1%: an order too small for $0.25
        assertEq(FillPricing.executorFee(25e6 - 1), 249_999);
        assertEq(FillPricing.executorFee(25e6), 250_000); // $0.25
        assertEq(FillPricing.executorFee(166_666_666), 250_000);
        assertEq(FillPricing.executorFee(200e6), 300_000); // 0.15%
        assertEq(FillPricing.executorFee(1_000_000e6), 1_500e6);
    }

    function testFuzz_the_executor_fee_is_the_formula_and_never_above_one_percent(uint256 gross) public pure {
        gross = bound(gross, 0, MOST);
        uint256 fee = FillPricing.executorFee(gross);
        assertLe(fee * 100, gross);
        if (gross >= 25e6) {
            assertGe(fee, 250_000);
            if (fee > 250_000) {
                assertLe(fee * 10_000, gross * 15);
                assertGt((fee + 1) * 10_000, gross * 15);
            } else {
                assertLt(gross * 15, (250_000 + 1) * 10_000);
            }
        } else {
            assertEq(fee, gross / 100);
        }
    }

    function testFuzz_the_executor_fee_never_falls_as_the_fill_grows(uint256 gross, uint256 more)
        public
        pure
    {
        gross = bound(gross, 0, MOST);
        more = bound(more, 0, MOST);
        assertLe(FillPricing.executorFee(gross), FillPricing.executorFee(gross + more));
    }

    function testFuzz_the_gross_within_a_total_is_the_largest_whose_fees_still_fit(uint256 total)
        public
        pure
    {
        total = bound(total, 0, MOST);
        uint256 gross = FillPricing.grossWithin(total);
        assertLe(_allIn(gross), total);
        assertGt(_allIn(gross + 1), total);
    }

    /// The fee changes its regime at $25 and $166.67 of gross: the corners of the inverse.
    function test_the_gross_within_a_total_is_exact_around_every_corner() public pure {
        uint256[3] memory corners = [uint256(25e6), 166_666_667, 5e6];
        for (uint256 c; c < corners.length; c++) {
            uint256 middle = _allIn(corners[c]);
            for (uint256 total = middle - 700; total < middle + 700; total++) {
                uint256 gross = FillPricing.grossWithin(total);
                assertLe(_allIn(gross), total);
                assertGt(_allIn(gross + 1), total);
            }
        }
    }

    function test_totals_too_small_to_buy_anything_leave_no_gross() public pure {
        assertEq(FillPricing.grossWithin(0), 0);
        assertEq(FillPricing.grossWithin(1), 0);
        assertEq(FillPricing.grossWithin(2), 1); // one for the swap, one for the mint fee
    }

    function test_floors_are_the_figures_a_person_would_write_down() public pure {
        // 10 shares at $100, 1%: $990. 10 shares, hard floor $99.50: $995.
        assertEq(FillPricing.exitFloor(10e18, 100e18, 100, 0), 990e6);
        assertEq(FillPricing.exitFloor(10e18, 100e18, 100, 99.5e18), 995e6);
        // $1,010 at $100 a share and 1%: 10 shares.
        assertEq(FillPricing.buyFloor(1_010e6, 100e18, 100), 10e18);
        assertEq(FillPricing.valueOf(10e18, 99.5e18), 995e6);
    }

    function testFuzz_an_exit_floor_rounds_up_towards_the_owner(
        uint256 shares,
        uint256 nav,
        uint256 tolerance,
        uint256 hard
    ) public pure {
        shares = bound(shares, 1, 1e36);
        nav = bound(nav, 1, MOST_NAV);
        tolerance = bound(tolerance, 0, 500);
        hard = bound(hard, 0, MOST_NAV);
        uint256 floor = FillPricing.exitFloor(shares, nav, tolerance, hard);
        assertGe(floor * 1e30 * 10_000, shares * nav * (10_000 - tolerance));
        assertGe(floor * 1e30, shares * hard);
        assertTrue(
            floor == 0 || (floor - 1) * 1e30 * 10_000 < shares * nav * (10_000 - tolerance)
                || (floor - 1) * 1e30 < shares * hard
        );
    }

    function testFuzz_a_wider_tolerance_never_asks_for_more(
        uint256 amount,
        uint256 nav,
        uint256 tight,
        uint256 wide
    ) public pure {
        amount = bound(amount, 1, 1e24);
        nav = bound(nav, 1e12, MOST_NAV);
        wide = bound(wide, 0, 500);
        tight = bound(tight, 0, wide);
        assertGe(FillPricing.exitFloor(amount, nav, tight, 0), FillPricing.exitFloor(amount, nav, wide, 0));
        assertGe(FillPricing.buyFloor(amount, nav, tight), FillPricing.buyFloor(amount, nav, wide));
    }

    function testFuzz_a_buy_floor_rounds_up_towards_the_owner(uint256 gross, uint256 nav, uint256 tolerance)
        public
        pure
    {
        gross = bound(gross, 1, MOST);
        nav = bound(nav, 1e12, MOST_NAV);
        tolerance = bound(tolerance, 0, 500);
        uint256 floor = FillPricing.buyFloor(gross, nav, tolerance);
        assertGe(floor * nav * (10_000 + tolerance), gross * 1e30 * 10_000);
        assertLt((floor - 1) * nav * (10_000 + tolerance), gross * 1e30 * 10_000);
    }

    function _allIn(uint256 gross) private pure returns (uint256) {
        return gross + FillPricing.mintFee(gross) + FillPricing.executorFee(gross);
    }
}
