// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccountsFixture} from "../accounts/AccountsFixture.sol";

contract SessionGrantsMutantsTest is AccountsFixture {
    function setUp() public {
        deployAccounts();
    }

    /// Rule 27: what a block with an old clock uses counts to the latest day that was seen, and that day stays.
    function test_usage_under_an_old_clock_does_not_take_the_day_back() public {
        uint256 today = vm.getBlockTimestamp();
        run(buyAction(tech, 1e18));
        (uint256 turnover,) = module.usageOf(account, key);
        vm.warp(today - 1 days);
        vm.prank(address(coverModule));
        module.countFee(account, key, 1e6);
        vm.warp(today);
        (uint256 after_, uint256 fees) = module.usageOf(account, key);
        assertEq(after_, turnover, "the day was taken back");
        assertEq(fees, 1e6);
    }
}
