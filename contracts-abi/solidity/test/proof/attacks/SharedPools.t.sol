// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {BasketVault} from "../../../src/basket/BasketVault.sol";
import {PoolWhale} from "./PoolWhale.sol";

/// Baskets that hang on one pool. A push moves the NAV of all of them and is paid for once, so what their cover wins
/// together is what the cap has to stay under (rule 23).
contract SharedPoolsTest is PoolWhale {
    BasketVault[] private _vaults;

    function setUp() public {
        deployCover();
        _vaults.push(solo);
        _vaults.push(foundOf("TWIN", india));
        _vaults.push(foundOf("TRIPLET", india));
        openMarket(_vaults);
    }

    function test_a_push_of_one_pool_under_several_baskets_is_no_business() public {
        uint256[] memory ids = new uint256[](_vaults.length);
        for (uint256 i; i < _vaults.length; ++i) {
            if (full.capOf(address(_vaults[i])) == 0) continue;
            (ids[i],) = sellAll(_vaults[i], writer, alice, 10_000);
        }
        uint256 before = vm.snapshotState();
        uint256 honest = _settle(ids, false);
        vm.revertToState(before);
        uint256 pushed = _settle(ids, true);
        assertTrue(int256(pushed) - int256(honest) + traded <= 0, "the whale gained");
    }

    /// What the whale's positions pay after a true fall of 1%, where the range begins.
    function _settle(uint256[] memory ids, bool pushing) private returns (uint256) {
        vm.warp(closeOf(WEEK));
        toFloor(india);
        skip(600);
        for (uint256 i; i < _vaults.length; ++i) {
            if (ids[i] != 0) full.snapshot(WEEK, address(_vaults[i]), keeper);
        }
        moveSolo(9_900);
        vm.warp(settleOf(WEEK) - 600);
        for (uint256 i; pushing && i < 12; ++i) {
            push(india, -100, 50, false);
        }
        vm.warp(settleOf(WEEK));
        for (uint256 i; i < _vaults.length; ++i) {
            if (ids[i] != 0) full.settle(WEEK, address(_vaults[i]), keeper);
        }
        full.payout(ids, keeper);
        return usdg.balanceOf(alice);
    }
}
