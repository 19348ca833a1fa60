// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {CoverMath} from "../../src/cover/CoverMath.sol";
import {Test} from "../support/Test.sol";

contract CoverMathTest is Test {
    function test_the_example_of_the_interface() public pure {
        // 300 to 1000 pays from -3% and in full at -10%.
        assertEq(CoverMath.payout(1_000, 300, 1_000, 100e18, 97e18), 0);
        assertEq(CoverMath.payout(1_000, 300, 1_000, 100e18, 93.5e18), 500e6);
        assertEq(CoverMath.payout(1_000, 300, 1_000, 100e18, 90e18), 1_000e6);
        assertEq(CoverMath.payout(1_000, 300, 1_000, 100e18, 0), 1_000e6);
    }

    function test_nothing_is_paid_for_a_rise_or_a_standstill() public pure {
        assertEq(CoverMath.payout(1_000, 100, 200, 100e18, 100e18), 0);
        assertEq(CoverMath.payout(1_000, 100, 200, 100e18, 100e18 + 1), 0);
        assertEq(CoverMath.payout(1_000, 100, 200, 0, 0), 0);
    }

    function test_the_last_unit_of_NAV_decides_at_either_end() public pure {
        // $1 of NAV, so that one unit of it is worth less than one unit of $1,000 of cover: down it rounds.
        assertEq(CoverMath.payout(1_000, 100, 200, 1e18, 0.99e18), 0);
        assertEq(CoverMath.payout(1_000, 100, 200, 1e18, 0.99e18 - 1), 0);
        assertEq(CoverMath.payout(1_000, 100, 200, 1e18, 0.99e18 - 1e7), 1);
        assertEq(CoverMath.payout(1_000, 100, 200, 1e18, 0.99e18 - 1e7 + 1), 0);
        assertEq(CoverMath.payout(1_000, 100, 200, 1e18, 0.98e18 + 1), 1_000e6 - 1);
        assertEq(CoverMath.payout(1_000, 100, 200, 1e18, 0.98e18), 1_000e6);
    }

    /// Invariant 18: the payout never exceeds the cover, never falls with the drop, and is the exact quotient rounded
    /// down once.
    function testFuzz_a_payout_is_within_the_cover_and_monotone_in_the_drop(
        uint64 coverUsd,
        uint256 from,
        uint256 to,
        uint128 close,
        uint128 settle,
        uint128 lower
    ) public pure {
        from = bound(from, 1, 2_999);
        to = bound(to, from + 1, 3_000);
        uint256 paid = CoverMath.payout(coverUsd, from, to, close, settle);
        assertLe(paid, uint256(coverUsd) * 1e6);
        assertGe(CoverMath.payout(coverUsd, from, to, close, bound(lower, 0, settle)), paid);
        assertLe(CoverMath.payout(coverUsd, from, to, bound(lower, 0, close), settle), paid);
        if (paid == 0 || paid == uint256(coverUsd) * 1e6) return;
        uint256 width = uint256(close) * (to - from);
        uint256 above = uint256(close - settle) * 10_000 - uint256(close) * from;
        // paid <= cover x above / width < paid + 1, in whole numbers
        (uint256 high, uint256 low) = _product(paid, width);
        (uint256 high2, uint256 low2) = _product(uint256(coverUsd) * 1e6, above);
        assertTrue(high < high2 || (high == high2 && low <= low2), "more than the quotient");
        (high, low) = _product(paid + 1, width);
        assertTrue(high > high2 || (high == high2 && low > low2), "a whole unit less than the quotient");
    }

    function testFuzz_parts_of_a_listing_cost_what_the_whole_costs(uint64 whole, uint64 part, uint256 price)
        public
        pure
    {
        price = bound(price, 1, 100_000) * 10_000;
        part = uint64(bound(part, 0, whole));
        assertEq(
            CoverMath.premium(part, price) + CoverMath.premium(whole - part, price),
            CoverMath.premium(whole, price)
        );
        assertEq(CoverMath.premium(whole, price) * 1_000, uint256(whole) * price);
        assertLe(CoverMath.premium(whole, price), CoverMath.locked(whole));
    }

    function test_the_fee_is_one_percent_rounded_up() public pure {
        assertEq(CoverMath.fee(0), 0);
        assertEq(CoverMath.fee(1), 1);
        assertEq(CoverMath.fee(100), 1);
        assertEq(CoverMath.fee(101), 2);
        assertEq(CoverMath.fee(29_700_000), 297_000);
    }

    /// Both snapshots and every payout together take no more than the fees of a market.
    function testFuzz_rewards_of_a_settled_market_stay_within_its_fees(uint64[] memory fees) public pure {
        uint256 sum;
        uint256 rewards;
        for (uint256 i; i < fees.length; ++i) {
            sum += fees[i];
            rewards += CoverMath.payoutReward(fees[i]);
            assertLe(CoverMath.payoutReward(fees[i]), 50_000);
        }
        assertLe(CoverMath.stepReward(sum), 100_000);
        assertLe(rewards + 2 * CoverMath.stepReward(sum), sum);
    }

    function test_rewards_are_what_they_are_named_once_fees_bear_them() public pure {
        assertEq(CoverMath.stepReward(400_000), 100_000);
        assertEq(CoverMath.stepReward(399_999), 99_999);
        assertEq(CoverMath.stepReward(1e12), 100_000);
        assertEq(CoverMath.payoutReward(100_000), 50_000);
        assertEq(CoverMath.payoutReward(99_999), 49_999);
        assertEq(CoverMath.payoutReward(1e12), 50_000);
    }

    /// The whole product, as two words.
    function _product(uint256 a, uint256 b) private pure returns (uint256 high, uint256 low) {
        unchecked {
            uint256 mod = mulmod(a, b, type(uint256).max);
            low = a * b;
            high = mod - low - (mod < low ? 1 : 0);
        }
    }
}
