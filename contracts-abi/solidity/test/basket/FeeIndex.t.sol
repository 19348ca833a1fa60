// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Test} from "../support/Test.sol";
import {FeeIndex} from "../../src/libraries/FeeIndex.sol";

contract FeeIndexTest is Test {
    uint256 private constant RAY = 1e27;

    function test_aYearCostsTheFeeToEighteenDigitsAtEveryFee() public pure {
        for (uint256 bps = 50; bps <= 95; ++bps) {
            uint256 index = FeeIndex.indexAt(FeeIndex.ratePerYear(bps), 365 days);
            assertApproxEqAbs(index, RAY * (10_000 - bps) / 10_000, 1e9);
        }
    }

    function test_aCenturyCompoundsYearByYear() public pure {
        uint256 expected = RAY;
        for (uint256 year; year < 100; ++year) {
            expected = expected * 9_905 / 10_000;
        }
        uint256 index = FeeIndex.indexAt(FeeIndex.ratePerYear(95), 100 * 365 days);
        assertApproxEqRel(index, expected, 100);
    }

    /// Beyond the power series' range the exponent is halved.
    function test_aThousandYearsCompoundYearByYear() public pure {
        uint256 expected = RAY;
        for (uint256 year; year < 1_000; ++year) {
            expected = expected * 9_905 / 10_000;
        }
        uint256 index = FeeIndex.indexAt(FeeIndex.ratePerYear(95), 1_000 * 365 days);
        assertApproxEqRel(index, expected, 1e5);
    }

    function test_genesisIsExactlyRay() public pure {
        assertEq(FeeIndex.indexAt(FeeIndex.ratePerYear(95), 0), RAY);
    }

    function testFuzz_strictlyFallsEverySecond(uint256 bps, uint256 elapsed) public pure {
        uint256 rate = FeeIndex.ratePerYear(bound(bps, 50, 95));
        elapsed = bound(elapsed, 0, 100 * 365 days);
        assertLt(FeeIndex.indexAt(rate, elapsed + 1), FeeIndex.indexAt(rate, elapsed));
    }

    function testFuzz_twoSpansMultiplyIntoOne(uint256 bps, uint256 first, uint256 second) public pure {
        uint256 rate = FeeIndex.ratePerYear(bound(bps, 50, 95));
        first = bound(first, 0, 50 * 365 days);
        second = bound(second, 0, 50 * 365 days);
        uint256 product = FeeIndex.indexAt(rate, first) * FeeIndex.indexAt(rate, second) / RAY;
        assertApproxEqRel(FeeIndex.indexAt(rate, first + second), product, 10);
    }
}
