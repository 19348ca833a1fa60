// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {IBasketVault} from "../interfaces/IBasketVault.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {PoolPrice} from "../libraries/PoolPrice.sol";
import {ReferenceWindow} from "../libraries/ReferenceWindow.sol";
import {TickPrice} from "../libraries/TickPrice.sol";

/// NAVs from units per share and pool prices alone: no balance, no supply and no constituent token is ever read
/// (rule 2). Prices round down and the reference's mean tick rounds down, so a reference is exact to one tick (0.01%).
contract NavOracle is INavOracle {
    address public immutable usdg;
    address public immutable weth;
    address public immutable wethUsdgPool;
    uint128 public immutable wethMinLiquidity;

    uint8 private constant WETH_DECIMALS = 18;

    constructor(address usdg_, address weth_, address wethUsdgPool_, uint128 wethMinLiquidity_) {
        usdg = usdg_;
        weth = weth_;
        wethUsdgPool = wethUsdgPool_;
        wethMinLiquidity = wethMinLiquidity_;
    }

    /// Dollars x 1e18 per share, averaged over the last 600 s; reverts NoReference when there is none now (rule 1).
    function referenceNav(address vault) external view returns (uint256 nav) {
        (uint256 nav_, Invalid reason, address pool) = tryReferenceNav(vault);
        if (reason != Invalid.None) revert NoReference(vault, reason, pool);
        return nav_;
    }

    function tryReferenceNav(address vault) public view returns (uint256 nav, Invalid reason, address pool) {
        IBasketVault.Constituent[] memory parts = IBasketVault(vault).constituents();
        uint8[] memory decimals = IBasketVault(vault).tokenDecimals();
        uint256 wethPrice;
        uint256 value;
        for (uint256 i; i < parts.length; ++i) {
            if (parts[i].viaWeth && wethPrice == 0 && parts[i].pool != address(0)) {
                (reason, wethPrice) = _averageWethPrice();
                if (reason != Invalid.None) return (0, reason, wethUsdgPool);
            }
            uint256 price;
            (reason, price) = _averagePrice(parts[i], decimals[i], wethPrice);
            if (reason != Invalid.None) return (0, reason, parts[i].pool);
            value += Math.mulDiv(parts[i].genesisUnits, price, 10 ** decimals[i]);
        }
        return (_afterFees(vault, value), Invalid.None, address(0));
    }

    /// Dollars x 1e18 per share at the pools' prices of this moment. Anyone can move these within a transaction.
    function spotNav(address vault) external view returns (uint256 nav) {
        (uint256 nav_, bool ok) = trySpotNav(vault);
        if (!ok) revert NoSpot(vault);
        return nav_;
    }

    function trySpotNav(address vault) public view returns (uint256 nav, bool ok) {
        IBasketVault.Constituent[] memory parts = IBasketVault(vault).constituents();
        uint8[] memory decimals = IBasketVault(vault).tokenDecimals();
        uint256 wethPrice = _spotWethPrice();
        uint256 value;
        for (uint256 i; i < parts.length; ++i) {
            uint256 price = _spotPrice(parts[i], decimals[i], wethPrice);
            if (price == 0) return (0, false);
            value += Math.mulDiv(parts[i].genesisUnits, price, 10 ** decimals[i]);
        }
        return (_afterFees(vault, value), true);
    }

    function spotPrices(address vault) external view returns (uint256[] memory prices) {
        IBasketVault.Constituent[] memory parts = IBasketVault(vault).constituents();
        uint8[] memory decimals = IBasketVault(vault).tokenDecimals();
        uint256 wethPrice = _spotWethPrice();
        prices = new uint256[](parts.length);
        for (uint256 i; i < parts.length; ++i) {
            prices[i] = _spotPrice(parts[i], decimals[i], wethPrice);
        }
    }

    function ethPrice() external view returns (uint256 spotPrice, uint256 averagePrice) {
        spotPrice = _spotWethPrice();
        (, averagePrice) = _averageWethPrice();
    }

    /// Units per share fall with the fee index alone, so the index applies once, to the whole.
    function _afterFees(address vault, uint256 value) private view returns (uint256) {
        return Math.mulDiv(value, IBasketVault(vault).feeIndex(), Constants.RAY);
    }

    function _averagePrice(IBasketVault.Constituent memory part, uint8 decimals, uint256 wethPrice)
        private
        view
        returns (Invalid, uint256)
    {
        if (part.token == usdg) return (Invalid.None, PoolPrice.ONE);
        if (part.pool == address(0)) return (Invalid.NoPool, 0);
        (Invalid reason, int24 tick) = ReferenceWindow.meanTick(part.pool, part.minLiquidity);
        if (reason != Invalid.None) return (reason, 0);
        return (Invalid.None, _price(part, decimals, TickPrice.sqrtPriceX96At(tick), wethPrice));
    }

    function _spotPrice(IBasketVault.Constituent memory part, uint8 decimals, uint256 wethPrice)
        private
        view
        returns (uint256)
    {
        if (part.token == usdg) return PoolPrice.ONE;
        if (part.pool == address(0)) return 0;
        return _price(part, decimals, PoolPrice.sqrtPriceNow(part.pool), wethPrice);
    }

    function _price(
        IBasketVault.Constituent memory part,
        uint8 decimals,
        uint160 sqrtPriceX96,
        uint256 wethPrice
    ) private view returns (uint256) {
        return part.viaWeth
            ? PoolPrice.ofWethPair(sqrtPriceX96, part.token, decimals, weth, wethPrice)
            : PoolPrice.ofUsdgPair(sqrtPriceX96, part.token, decimals, usdg);
    }

    function _spotWethPrice() private view returns (uint256) {
        return PoolPrice.ofUsdgPair(PoolPrice.sqrtPriceNow(wethUsdgPool), weth, WETH_DECIMALS, usdg);
    }

    function _averageWethPrice() private view returns (Invalid reason, uint256 price) {
        int24 tick;
        (reason, tick) = ReferenceWindow.meanTick(wethUsdgPool, wethMinLiquidity);
        if (reason != Invalid.None) return (reason, 0);
        return (reason, PoolPrice.ofUsdgPair(TickPrice.sqrtPriceX96At(tick), weth, WETH_DECIMALS, usdg));
    }
}
