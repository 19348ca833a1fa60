// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";

contract NavOracleMutantsTest is ProtocolFixture {
    function setUp() public {
        deployProtocol();
    }

    /// A constituent pushed to where it is worth less than a unit of account leaves no spot, though the ten minutes
    /// before it are sound.
    function test_a_price_of_nothing_is_no_spot() public {
        bool first = alfa.pool.token0() == address(alfa.token);
        uint160 bottom = first ? MIN_SQRT_RATIO + 1 : MAX_SQRT_RATIO - 1;
        alfa.pool.swap(address(this), first, type(int256).max, bottom, "");
        (, INavOracle.Invalid reason,) = oracle.tryReferenceNav(address(tech));
        assertTrue(reason == INavOracle.Invalid.None);
        assertEq(oracle.spotPrices(address(tech))[0], 0);
        (uint256 spot, bool ok) = oracle.trySpotNav(address(tech));
        assertEq(spot, 0);
        assertFalse(ok);
        vm.expectRevert(abi.encodeWithSelector(INavOracle.NoSpot.selector, tech));
        oracle.navs(address(tech));
        vm.expectRevert(abi.encodeWithSelector(INavOracle.NoSpot.selector, tech));
        oracle.spotNav(address(tech));
    }
}
