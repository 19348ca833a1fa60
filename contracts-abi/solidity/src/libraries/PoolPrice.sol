// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IUniswapV3Pool} from "../interfaces/uniswap/IUniswapV3Pool.sol";
import {Constants} from "../Constants.sol";
import {TickPrice} from "./TickPrice.sol";

/// Dollar prices out of Uniswap v3 square-root prices: dollars x 1e18 for one whole token (10**decimals base units).
library PoolPrice {
    uint256 internal constant ONE = 1e18;
    uint256 private constant WETH_QUOTE_SCALE = 1e36; // keeps 18 digits of a token worth far less than one WETH

    /// Price of a token in its USDG pool.
    function ofUsdgPair(uint160 sqrtPriceX96, address token, uint8 decimals, address usdg)
        internal
        pure
        returns (uint256)
    {
        return quote(sqrtPriceX96, token < usdg, 10 ** decimals * (ONE / Constants.USD));
    }

    /// Price of a token in its WETH pool, given WETH's own price in dollars x 1e18.
    function ofWethPair(uint160 sqrtPriceX96, address token, uint8 decimals, address weth, uint256 wethPrice)
        internal
        pure
        returns (uint256)
    {
        uint256 inWeth = quote(sqrtPriceX96, token < weth, 10 ** decimals * (WETH_QUOTE_SCALE / ONE));
        return Math.mulDiv(inWeth, wethPrice, WETH_QUOTE_SCALE);
    }

    /// The pool's price now; zero for a pool that was never initialised.
    function sqrtPriceNow(address pool) internal view returns (uint160 sqrtPriceX96) {
        (sqrtPriceX96,,,,,,) = IUniswapV3Pool(pool).slot0();
    }

    /// What `amount` base units of one side are worth in base units of the other, rounded down.
    /// slot0's price is token1 per token0, so the order of the two addresses decides the direction.
    function quote(uint160 sqrtPriceX96, bool baseIsToken0, uint256 amount) internal pure returns (uint256) {
        uint256 root = sqrtPriceX96;
        if (root == 0) return 0;
        if (root <= type(uint128).max) {
            uint256 ratioX192 = root * root;
            return baseIsToken0
                ? Math.mulDiv(ratioX192, amount, 1 << 192)
                : Math.mulDiv(1 << 192, amount, ratioX192);
        }
        uint256 ratioX128 = Math.mulDiv(root, root, 1 << 64);
        return
            baseIsToken0 ? Math.mulDiv(ratioX128, amount, 1 << 128) : Math.mulDiv(1 << 128, amount, ratioX128);
    }
}
