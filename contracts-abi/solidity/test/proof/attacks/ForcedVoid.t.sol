// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketVault} from "../../../src/basket/BasketVault.sol";
import {ICoverMarket} from "../../../src/interfaces/ICoverMarket.sol";
import {PoolWhale} from "./PoolWhale.sol";

/// An underwriter whose cover is about to pay in full makes the four windows of the settlement invalid: one push in
/// each, of one constituent's pool, however little it weighs. The week is void, and he has his cover back.
contract ForcedVoidTest is PoolWhale {
    int24 private constant JUMP = 610; // more than sub-windows may differ by
    uint128 private constant PRICE = 20e6;

    BasketVault private vault;
    Asset private juliet;
    Asset private kilo;

    function setUp() public {
        deployCover();
        juliet = listCoverAsset("Juliet", 18, 10_000, 80e18, COVER_DEPTH, false);
        kilo = listCoverAsset("Kilo", 18, 10_000, 20e18, COVER_DEPTH, false);
        age(pools);
        Asset[] memory parts = new Asset[](4);
        uint256[] memory dollars = new uint256[](4);
        (parts[0], parts[1], parts[2], parts[3]) = (golf, india, juliet, kilo);
        (dollars[0], dollars[1], dollars[2], dollars[3]) = (10, 30, 30, 30);
        vault = _found("FOUR", parts, dollars, true);
        BasketVault[] memory vaults = new BasketVault[](1);
        vaults[0] = vault;
        openMarket(vaults);
    }

    function test_making_every_window_invalid_costs_more_than_the_cover() public {
        (uint256 id,) = sellAll(vault, writer, alice, PRICE);
        uint256 before = vm.snapshotState();
        uint256 honest = _settle(id, false);
        vm.revertToState(before);
        uint256 voided = _settle(id, true);
        assertTrue(int256(voided) - int256(honest) + traded <= 0, "the underwriter gained");
    }

    /// What the underwriter has in the end, everything having fallen by 3%.
    function _settle(uint256 id, bool pushing) private returns (uint256) {
        toFloor(golf);
        vm.warp(closeOf(WEEK));
        full.snapshot(WEEK, address(vault), keeper);
        movePrice(golf.pool, address(golf.token), 125e18 * 97 / 100);
        movePrice(india.pool, address(india.token), 40e18 * 97 / 100);
        movePrice(juliet.pool, address(juliet.token), 80e18 * 97 / 100);
        movePrice(kilo.pool, address(kilo.token), 20e18 * 97 / 100);
        for (uint256 i; pushing && i < 4; ++i) {
            vm.warp(settleOf(WEEK) - 600 + i * 600 + 300);
            push(golf, JUMP, 50, true);
        }
        if (pushing) {
            vm.warp(settleOf(WEEK) + 30 minutes);
            try full.settle(WEEK, address(vault), keeper) {}
            catch {
                vm.warp(settleOf(WEEK) + 1 hours);
                full.voidWeek(WEEK, address(vault), keeper);
            }
        } else {
            vm.warp(settleOf(WEEK));
            full.settle(WEEK, address(vault), keeper);
        }
        full.payout(one(id), keeper);
        return usdg.balanceOf(writer);
    }
}
