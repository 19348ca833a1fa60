// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {CoverFixture} from "../cover/CoverFixture.sol";

contract CoverDepthMutantsTest is CoverFixture {
    function setUp() public {
        deployCover();
    }

    /// Every constituent has a pool and the WETH pool comes on top: as many pools as there can be.
    function test_a_basket_that_hangs_on_one_pool_more_than_it_has_constituents_is_listed() public {
        address vault = address(foundOf("HOTEL", hotel));
        uint64 cap = market.depthCapOf(vault);
        assertGt(cap, 0);
        vm.prank(protocolOwner);
        market.listVault(vault, cap);
        assertEq(market.depthCapOf(address(foundOf("AGAIN", hotel))), 0);
    }
}
