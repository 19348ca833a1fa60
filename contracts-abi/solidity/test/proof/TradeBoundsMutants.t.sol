// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {TradeBounds} from "../../src/accounts/TradeBounds.sol";
import {Test} from "../support/Test.sol";

contract TradeBoundsMutantsTest is Test {
    function test_a_days_fee_cap_rounds_against_the_key() public pure {
        assertEq(TradeBounds.dailyFeeCap(10e6 + 4), 2e6);
        assertEq(TradeBounds.dailyFeeCap(10e6 + 5), 2e6 + 1);
    }
}
