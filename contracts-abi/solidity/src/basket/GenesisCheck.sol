// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {Constants} from "../Constants.sol";
import {IBasketVault} from "../interfaces/IBasketVault.sol";
import {IUniswapV3Factory} from "../interfaces/uniswap/IUniswapV3Factory.sol";
import {IUniswapV3Pool} from "../interfaces/uniswap/IUniswapV3Pool.sol";
import {PoolPrice} from "../libraries/PoolPrice.sol";
import {VaultConfig} from "./VaultConfig.sol";

/// What must hold before a vault may exist (rule 3): distinct live tokens, the factory's own pools, and pools that
/// quote what the deployer stated. Runs inside the vault's constructor only.
library GenesisCheck {
    uint256 internal constant MAX_CONSTITUENTS = 32;
    uint8 internal constant MAX_DECIMALS = 18; // so that no price of a v3 pool can overflow

    /// Decimals per constituent; reverts InvalidConstituents, or PriceOffStated beyond 3%.
    function check(VaultConfig memory config) internal view returns (uint8[] memory decimals) {
        uint256 count = config.constituents.length;
        if (
            count == 0 || count > MAX_CONSTITUENTS || config.statedPrices.length != count
                || config.managementFeeBps < Constants.MIN_MANAGEMENT_FEE_BPS
                || config.managementFeeBps > Constants.MAX_MANAGEMENT_FEE_BPS
                || config.registry.code.length == 0
        ) revert IBasketVault.InvalidConstituents();

        uint256 wethPrice = _wethPrice(config);
        decimals = new uint8[](count);
        for (uint256 i; i < count; ++i) {
            IBasketVault.Constituent memory part = config.constituents[i];
            for (uint256 j; j < i; ++j) {
                if (config.constituents[j].token == part.token) revert IBasketVault.InvalidConstituents();
            }
            if (
                part.token.code.length == 0 || part.genesisUnits == 0 || part.genesisUnits > type(uint128).max
            ) {
                revert IBasketVault.InvalidConstituents();
            }
            decimals[i] = IERC20Metadata(part.token).decimals();
            if (decimals[i] > MAX_DECIMALS) revert IBasketVault.InvalidConstituents();
            _checkPool(config, part, decimals[i], config.statedPrices[i], wethPrice);
        }
    }

    function _checkPool(
        VaultConfig memory config,
        IBasketVault.Constituent memory part,
        uint8 decimals,
        uint256 statedPrice,
        uint256 wethPrice
    ) private view {
        if (part.pool == address(0)) return;
        address quoteToken = part.viaWeth ? config.weth : config.usdg;
        // USDG is its own price and needs no pool; a floor of zero would undo rule 1.
        if (
            part.token == quoteToken || part.token == config.usdg || part.minLiquidity == 0
                || statedPrice == 0
        ) {
            revert IBasketVault.InvalidConstituents();
        }
        _requireFactoryPool(config.uniswapFactory, part.pool, part.token, quoteToken);
        uint160 sqrtPriceX96 = PoolPrice.sqrtPriceNow(part.pool);
        uint256 price;
        if (part.viaWeth) {
            if (wethPrice == 0) revert IBasketVault.InvalidConstituents();
            price = PoolPrice.ofWethPair(sqrtPriceX96, part.token, decimals, config.weth, wethPrice);
        } else {
            price = PoolPrice.ofUsdgPair(sqrtPriceX96, part.token, decimals, config.usdg);
        }
        uint256 difference = price > statedPrice ? price - statedPrice : statedPrice - price;
        if (difference * Constants.BPS > statedPrice * Constants.MAX_SPOT_DEVIATION_BPS) {
            revert IBasketVault.PriceOffStated(part.token, price, statedPrice);
        }
    }

    /// Zero where the basket names no WETH pool.
    function _wethPrice(VaultConfig memory config) private view returns (uint256) {
        if (config.wethUsdgPool == address(0)) return 0;
        _requireFactoryPool(config.uniswapFactory, config.wethUsdgPool, config.weth, config.usdg);
        return PoolPrice.ofUsdgPair(PoolPrice.sqrtPriceNow(config.wethUsdgPool), config.weth, 18, config.usdg);
    }

    function _requireFactoryPool(address factory, address pool, address tokenA, address tokenB) private view {
        if (IUniswapV3Factory(factory).getPool(tokenA, tokenB, IUniswapV3Pool(pool).fee()) != pool) {
            revert IBasketVault.InvalidConstituents();
        }
    }
}
