// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {PriceAuction} from "../../src/orders/PriceAuction.sol";
import {Test} from "../support/Test.sol";

contract PriceAuctionTest is Test {
    uint256 private constant ARMED = 1_790_000_000;

    function test_an_order_never_armed_keeps_its_own_tolerance() public pure {
        assertEq(PriceAuction.toleranceBps(100, 500, 0, ARMED), 100);
        assertFalse(PriceAuction.isArmed(0, ARMED));
    }

    function test_the_tolerance_widens_linearly_to_the_cap_in_30_minutes() public pure {
        assertEq(PriceAuction.toleranceBps(100, 500, ARMED, ARMED), 100);
        assertEq(PriceAuction.toleranceBps(100, 500, ARMED, ARMED + 450), 200);
        assertEq(PriceAuction.toleranceBps(100, 500, ARMED, ARMED + 900), 300);
        assertEq(PriceAuction.toleranceBps(100, 500, ARMED, ARMED + 1_799), 499);
        assertEq(PriceAuction.toleranceBps(100, 500, ARMED, ARMED + 1_800), 500);
    }

    function test_the_cap_holds_until_one_second_before_60_minutes_then_the_base_is_back() public pure {
        assertEq(PriceAuction.toleranceBps(100, 500, ARMED, ARMED + 3_599), 500);
        assertTrue(PriceAuction.isArmed(ARMED, ARMED + 3_599));
        assertEq(PriceAuction.toleranceBps(100, 500, ARMED, ARMED + 3_600), 100);
        assertFalse(PriceAuction.isArmed(ARMED, ARMED + 3_600));
    }

    function test_a_cap_equal_to_the_base_never_widens() public pure {
        assertEq(PriceAuction.toleranceBps(70, 70, ARMED, ARMED + 1_234), 70);
    }

    function testFuzz_the_tolerance_is_monotone_while_armed_and_between_base_and_cap(
        uint256 base,
        uint256 cap,
        uint256 early,
        uint256 late
    ) public pure {
        cap = bound(cap, 0, 500);
        base = bound(base, 0, cap);
        late = bound(late, 0, 3_599);
        early = bound(early, 0, late);
        uint256 before = PriceAuction.toleranceBps(base, cap, ARMED, ARMED + early);
        uint256 afterwards = PriceAuction.toleranceBps(base, cap, ARMED, ARMED + late);
        assertLe(base, before);
        assertLe(before, afterwards);
        assertLe(afterwards, cap);
    }

    function testFuzz_the_tolerance_is_the_base_once_the_arming_ran_out(
        uint256 base,
        uint256 cap,
        uint256 late
    ) public pure {
        cap = bound(cap, 0, 500);
        base = bound(base, 0, cap);
        late = bound(late, 3_600, 365 days);
        assertEq(PriceAuction.toleranceBps(base, cap, ARMED, ARMED + late), base);
    }
}
