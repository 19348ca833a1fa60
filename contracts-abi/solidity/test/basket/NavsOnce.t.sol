// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";

/// A test is one transaction, as a batch of fills is: what the first question keeps, the next ones find.
contract NavsOnceTest is ProtocolFixture {
    function setUp() public {
        deployProtocol();
    }

    /// Whatever was traded before and is traded within the second: `navs`, which keeps nothing, is the judge.
    function testFuzz_a_kept_reference_is_what_a_new_look_finds(
        uint256 wait,
        uint256 before,
        uint256[4] memory pushes
    ) public {
        movePrices(bound(before, 9_900, 10_100));
        skip(bound(wait, 0, 700));
        (uint256 reference_, uint256 spot) = oracle.navs(address(tech));
        _assertOnce(reference_, spot);
        for (uint256 i; i < pushes.length; ++i) {
            movePrices(bound(pushes[i], 9_000, 11_000));
            (uint256 again, uint256 moved) = oracle.navs(address(tech));
            assertEq(again, reference_, "a swap moved the reference of its own second");
            _assertOnce(reference_, moved);
        }
    }

    function test_the_spot_is_read_each_time() public {
        (, uint256 spot) = oracle.navsOnce(address(tech));
        movePrices(10_500);
        (, uint256 moved) = oracle.navsOnce(address(tech));
        assertApproxEqRel(moved, spot * 105 / 100, 1e13);
    }

    function test_another_second_is_looked_at_anew() public {
        (uint256 kept,) = oracle.navsOnce(address(tech));
        movePrices(9_500);
        skip(1);
        (uint256 reference_, uint256 spot) = oracle.navs(address(tech));
        assertLt(reference_, kept * 99_999 / 100_000); // by a tick of a part, and not by the fee alone
        _assertOnce(reference_, spot);
    }

    function test_each_vault_has_its_own() public {
        movePrices(10_200);
        skip(60);
        oracle.navsOnce(address(tech));
        (uint256 reference_, uint256 spot) = oracle.navs(address(stock));
        (uint256 once, uint256 spotOnce) = oracle.navsOnce(address(stock));
        assertEq(once, reference_);
        assertEq(spotOnce, spot);
        assertTrue(once != oracle.referenceNav(address(tech)));
    }

    /// The fee index is of the moment, as everywhere.
    function test_what_is_kept_is_before_fees() public {
        skip(30 days);
        refreshPools();
        skip(600);
        (uint256 reference_, uint256 spot) = oracle.navs(address(tech));
        assertLt(tech.feeIndex(), 1e27);
        _assertOnce(reference_, spot);
        _assertOnce(reference_, spot);
    }

    function test_the_second_question_costs_less_than_half() public {
        uint256 left = gasleft();
        oracle.navs(address(tech)); // every slot is warm after this
        left = gasleft();
        oracle.navsOnce(address(tech));
        uint256 first = left - gasleft();
        left = gasleft();
        oracle.navsOnce(address(tech));
        uint256 second = left - gasleft();
        assertLt(second * 2, first);
    }

    function test_what_is_unsound_is_not_kept() public {
        bytes memory refusal = abi.encodeWithSelector(
            INavOracle.NoReference.selector, blind, INavOracle.Invalid.NoPool, address(0)
        );
        for (uint256 i; i < 2; ++i) {
            vm.expectRevert(refusal);
            oracle.navsOnce(address(blind));
        }
    }

    /// Of every part: what the parts before it are worth is no spot.
    function test_a_kept_reference_needs_a_spot_too() public {
        oracle.navsOnce(address(tech));
        bool first = bravo.pool.token0() == address(bravo.token);
        uint160 bottom = first ? MIN_SQRT_RATIO + 1 : MAX_SQRT_RATIO - 1;
        bravo.pool.swap(address(this), first, type(int256).max, bottom, "");
        assertGt(oracle.spotPrices(address(tech))[0], 0);
        assertEq(oracle.spotPrices(address(tech))[1], 0);
        vm.expectRevert(abi.encodeWithSelector(INavOracle.NoSpot.selector, tech));
        oracle.navsOnce(address(tech));
    }

    function _assertOnce(uint256 reference_, uint256 spot) private {
        (uint256 once, uint256 spotOnce) = oracle.navsOnce(address(tech));
        assertEq(once, reference_);
        assertEq(spotOnce, spot);
    }
}
