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

    function test_both_navs_in_one_look_are_those_of_two() public {
        movePrices(10_100);
        skip(100);
        (uint256 average, uint256 spot) = oracle.navs(address(tech));
        assertEq(average, oracle.referenceNav(address(tech)));
        assertEq(spot, oracle.spotNav(address(tech)));
        assertGt(spot, average);
    }

    function test_no_reference_is_said_before_no_spot() public {
        vm.expectRevert(
            abi.encodeWithSelector(
                INavOracle.NoReference.selector, blind, INavOracle.Invalid.NoPool, address(0)
            )
        );
        oracle.navs(address(blind));
    }

    /// Each constituent's value and the fee round down, to the last unit.
    function testFuzz_a_nav_rounds_down_at_every_step(uint256 time) public {
        skip(bound(time, 1, 365 days));
        uint256[] memory prices = oracle.spotPrices(address(tech));
        uint8[] memory decimals = tech.tokenDecimals();
        uint256 value;
        for (uint256 i; i < prices.length; ++i) {
            value += tech.constituents()[i].genesisUnits * prices[i] / 10 ** decimals[i];
        }
        assertEq(oracle.spotNav(address(tech)), value * tech.feeIndex() / 1e27);
    }

    /// Half of the pools' clock is the last age that they are asked about.
    function test_the_last_age_within_the_pools_clock() public {
        uint256 endsAt = vm.getBlockTimestamp();
        vm.warp(endsAt + type(uint32).max / 2);
        (, INavOracle.Invalid reason, address pool) = oracle.tryNavAt(address(stock), endsAt);
        assertTrue(reason == INavOracle.Invalid.Cardinality);
        assertEq(pool, address(bravo.pool));
        skip(1);
        (, reason, pool) = oracle.tryNavAt(address(stock), endsAt);
        assertTrue(reason == INavOracle.Invalid.TooYoung);
        assertEq(pool, address(0));
    }
}
