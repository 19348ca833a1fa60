// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {BasketVault} from "../../../src/basket/BasketVault.sol";
import {CoverMarket} from "../../../src/cover/CoverMarket.sol";
import {ICoverMarket} from "../../../src/interfaces/ICoverMarket.sol";
import {TickPrice} from "../../../src/libraries/TickPrice.sol";
import {CoverFixture} from "../../cover/CoverFixture.sol";
import {IUniPool} from "../../support/UniswapFixture.sol";

/// Somebody with all the cover that a market sells, and what he gains or loses by pushing pools, reckoned at the price
/// that holds while nobody pushes.
abstract contract PoolWhale is CoverFixture {
    CoverMarket internal full; // every cap as high as it may be
    int256 internal traded; // USDG base units gained by trading

    function openMarket(BasketVault[] memory vaults) internal {
        full =
            new CoverMarket(address(usdg), address(registry), address(oracle), address(pause), address(this));
        full.publishWeeks(calendar(WEEK, 1));
        for (uint256 i; i < vaults.length; ++i) {
            uint64 most = full.depthCapOf(address(vaults[i]));
            if (most >= 50) full.listVault(address(vaults[i]), most);
        }
    }

    /// The whole cap of the week, of 100 to 200 bps, sold by `underwriter` to `buyer`; the position's id.
    function sellAll(BasketVault vault, address underwriter, address buyer, uint128 pricePer1k)
        internal
        returns (uint256 positionId, uint64 cap)
    {
        cap = full.capOf(address(vault));
        usdg.mint(underwriter, uint256(cap) * 1e6);
        vm.startPrank(underwriter);
        usdg.approve(address(full), type(uint256).max);
        uint256 id = full.offer(ICoverMarket.Terms(WEEK, address(vault), 100, 200, cap, pricePer1k), false);
        vm.stopPrank();
        uint256 cost = costOf(cap, pricePer1k);
        usdg.mint(buyer, cost);
        vm.startPrank(buyer);
        usdg.approve(address(full), type(uint256).max);
        full.take(one(id), one64(cap), cap, cost);
        vm.stopPrank();
        positionId = full.positionCount();
    }

    /// No more liquidity than the floor, but for a hair.
    function toFloor(Asset memory asset) internal {
        uint128 target = asset.minLiquidity + asset.minLiquidity / 1e6;
        removeLiquidity(asset.pool, asset.pool.liquidity() - target);
    }

    /// The whale moves a USDG pool by `ticks` of the asset's price (negative: down) and after `length` seconds brings
    /// it back himself, or the market does.
    function push(Asset memory asset, int24 ticks, uint256 length, bool alone) internal {
        (uint160 root,,,,,,) = asset.pool.slot0();
        int24 shift = asset.pool.token0() == address(asset.token) ? ticks : -ticks;
        uint160 far = uint160(Math.mulDiv(root, TickPrice.sqrtPriceX96At(shift), 1 << 96));
        _tradeTo(asset, far, root, true);
        skip(length);
        _tradeTo(asset, root, root, alone);
    }

    function _tradeTo(Asset memory asset, uint160 to, uint160 trueRoot, bool whale) private {
        IUniPool pool = asset.pool;
        (uint160 now_,,,,,,) = pool.slot0();
        (int256 amount0, int256 amount1) = pool.swap(address(this), to < now_, type(int256).max, to, "");
        if (!whale) return;
        bool first = pool.token0() == address(asset.token);
        (int256 token, int256 cash) = first ? (amount0, amount1) : (amount1, amount0);
        uint256 size = uint256(token < 0 ? -token : token);
        uint256 worth = first
            ? Math.mulDiv(Math.mulDiv(size, trueRoot, 1 << 96), trueRoot, 1 << 96)
            : Math.mulDiv(Math.mulDiv(size, 1 << 96, trueRoot), 1 << 96, trueRoot);
        traded -= cash + (token < 0 ? -int256(worth) : int256(worth));
    }
}
