// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {PoolPrice} from "../../src/libraries/PoolPrice.sol";
import {Test} from "../support/Test.sol";

/// Every division rounds down.
contract PoolPriceMutantsTest is Test {
    uint160 private constant ONE_AND_A_HALF = 3 << 95; // a price of 2.25

    function test_a_quote_rounds_down_both_ways() public pure {
        assertEq(PoolPrice.quote(ONE_AND_A_HALF, true, 4), 9);
        assertEq(PoolPrice.quote(ONE_AND_A_HALF, true, 5), 11); // 11.25
        assertEq(PoolPrice.quote(ONE_AND_A_HALF, false, 9), 4);
        assertEq(PoolPrice.quote(ONE_AND_A_HALF, false, 5), 2); // 2.22
    }

    function test_a_quote_beyond_half_the_word_rounds_down_both_ways() public pure {
        uint160 root = (1 << 128) + 1; // a price of 2^64 + 2^-63 + 2^-192
        assertEq(PoolPrice.quote(root, true, 1), 1 << 64);
        assertEq(PoolPrice.quote(root, true, 1 << 128), (1 << 192) + (1 << 65));
        assertEq(PoolPrice.quote(root, false, 1 << 64), 0);
        assertEq(PoolPrice.quote(root, false, 1 << 65), 1);
    }

    /// The last root whose square fits into a word is squared whole.
    function test_the_last_root_that_fits_is_exact() public pure {
        uint160 root = type(uint128).max;
        assertEq(PoolPrice.quote(root, true, 1 << 192), uint256(root) * root);
    }

    function test_a_price_through_weth_rounds_down() public pure {
        uint160 par = 1 << 96;
        assertEq(PoolPrice.ofWethPair(par, address(1), 0, address(2), 2_500e18 + 1e17), 2_500);
        assertEq(PoolPrice.ofWethPair(par, address(1), 0, address(2), 2_501e18), 2_501);
    }
}
