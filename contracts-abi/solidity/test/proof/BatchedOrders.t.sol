// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {FillPricing} from "../../src/orders/FillPricing.sol";
import {OrderFixture} from "../orders/OrderFixture.sol";
import {FixedZapper} from "./OrderFloors.t.sol";

/// Orders of one basket in one transaction: a test is one. What an earlier one, or anyone, had the oracle keep changes
/// neither the floor nor the trigger of a later one, and saves it the look.
contract BatchedOrdersTest is OrderFixture {
    uint256 private constant SHARES = 10e18;
    uint256 private constant AMOUNT = 1_000e6;

    function setUp() public {
        deployWorld();
        settleReference();
    }

    /// `floorOf` looks anew.
    function testFuzz_a_fill_has_the_floor_of_its_moment(uint256 before, uint256 first, uint256 second)
        public
    {
        bytes32 exit = createExit(alice, SHARES, 1_000e18, 0);
        bytes32 limit = createLimit(alice, AMOUNT, 0);
        bytes32 schedule = createSchedule(alice, AMOUNT, 2);
        movePrices(bound(before, 9_900, 10_100));
        skip(60);
        vm.etch(address(zapper), address(new FixedZapper(0, 1)).code);
        movePrices(bound(first, 9_000, 11_000));
        oracle.navsOnce(address(vault));
        movePrices(bound(second, 9_000, 11_000));
        _assertFloor(exits, exit, 1, exits.floorOf(exit));
        _assertFloor(limits, limit, 0, limits.floorOf(limit));
        _assertFloor(schedules, schedule, 0, schedules.floorOf(schedule));
    }

    /// To the last unit of the reference, however spot is pushed between.
    function testFuzz_an_arming_has_the_trigger_of_its_moment(uint256 before, uint256 push) public {
        movePrices(bound(before, 9_900, 10_100));
        skip(60);
        uint256 nav = oracle.referenceNav(address(vault));
        bytes32 below = createExit(alice, SHARES, nav - 1, 0);
        bytes32 exact = createExit(alice, SHARES, nav, 0);
        bytes32 takes = createExit(bob, SHARES, 0, nav);
        bytes32 above = createExit(bob, SHARES, 0, nav + 1);
        oracle.navsOnce(address(vault));
        movePrices(bound(push, 9_000, 11_000));
        exits.arm(exact);
        exits.arm(takes);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotTriggered.selector, below, nav));
        exits.arm(below);
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.NotTriggered.selector, above, nav));
        exits.arm(above);
    }

    /// Everything is warm by then: what the second one lacks is the look.
    function test_the_second_of_a_batch_is_spared_the_look() public {
        bytes32[3] memory ids;
        for (uint256 i; i < 3; ++i) {
            ids[i] = createLimit(alice, AMOUNT, 0);
        }
        _fillCost(ids[0]);
        skip(1);
        refreshPools();
        uint256 look = gasleft();
        oracle.navs(address(vault));
        look -= gasleft();
        uint256 first = _fillCost(ids[1]);
        assertLt(_fillCost(ids[2]) + look / 2, first);

        skip(1);
        for (uint256 i; i < 3; ++i) {
            ids[i] = createLimit(bob, AMOUNT, 0);
        }
        first = _armCost(ids[0]);
        assertLt(_armCost(ids[1]) + look / 2, first);
    }

    function _fillCost(bytes32 id) private returns (uint256 cost) {
        SwapCall[] memory swaps = buySwaps(FillPricing.grossWithin(AMOUNT));
        cost = gasleft();
        limits.fill(id, swaps, keeper);
        cost -= gasleft();
    }

    function _armCost(bytes32 id) private returns (uint256 cost) {
        cost = gasleft();
        limits.arm(id);
        cost -= gasleft();
    }

    function _assertFloor(IOrderEscrow escrow, bytes32 id, uint256 got, uint256 floor) private {
        vm.expectRevert(abi.encodeWithSelector(IOrderEscrow.BelowFloor.selector, id, got, floor));
        escrow.fill(id, new SwapCall[](0), keeper);
    }
}
