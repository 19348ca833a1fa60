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
    uint256 private constant LATEST = type(uint256).max; // the window that ends now, by the rules of orders

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
        (nav, reason, pool) = _averageValue(vault, LATEST);
        if (reason == Invalid.None) nav = _afterFees(nav, IBasketVault(vault).feeIndex());
    }

    /// @inheritdoc INavOracle
    function tryNavAt(address vault, uint256 endsAt)
        external
        view
        returns (uint256 nav, Invalid reason, address pool)
    {
        if (endsAt > block.timestamp) revert NotYet(endsAt);
        // A moment beyond the pools' 32-bit clock is older than any observation.
        if (block.timestamp - endsAt > type(uint32).max / 2) return (0, Invalid.TooYoung, address(0));
        (nav, reason, pool) = _averageValue(vault, block.timestamp - endsAt);
        if (reason == Invalid.None) nav = _afterFees(nav, IBasketVault(vault).feeIndexAt(endsAt));
    }

    /// Before fees. `endsAgo` is LATEST or the age of a snapshot's window.
    function _averageValue(address vault, uint256 endsAgo)
        private
        view
        returns (uint256 value, Invalid reason, address pool)
    {
        IBasketVault.Constituent[] memory parts = IBasketVault(vault).constituents();
        uint8[] memory decimals = IBasketVault(vault).tokenDecimals();
        uint256 wethPrice;
        for (uint256 i; i < parts.length; ++i) {
            if (parts[i].viaWeth && wethPrice == 0 && parts[i].pool != address(0)) {
                (reason, wethPrice) = _averageWethPrice(endsAgo);
                if (reason != Invalid.None) return (0, reason, wethUsdgPool);
            }
            uint256 price;
            (reason, price) = _averagePrice(parts[i], decimals[i], wethPrice, endsAgo);
            if (reason != Invalid.None) return (0, reason, parts[i].pool);
            value += Math.mulDiv(parts[i].genesisUnits, price, 10 ** decimals[i]);
        }
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
        return (_afterFees(value, IBasketVault(vault).feeIndex()), true);
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
        (, averagePrice) = _averageWethPrice(LATEST);
    }

    /// Units per share fall with the fee index alone, so the index applies once, to the whole.
    function _afterFees(uint256 value, uint256 feeIndex) private pure returns (uint256) {
        return Math.mulDiv(value, feeIndex, Constants.RAY);
    }

    function _averagePrice(
        IBasketVault.Constituent memory part,
        uint8 decimals,
        uint256 wethPrice,
        uint256 endsAgo
    ) private view returns (Invalid, uint256) {
        if (part.token == usdg) return (Invalid.None, PoolPrice.ONE);
        if (part.pool == address(0)) return (Invalid.NoPool, 0);
        (Invalid reason, int24 tick) = _meanTick(part.pool, part.minLiquidity, endsAgo);
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

    function _averageWethPrice(uint256 endsAgo) private view returns (Invalid reason, uint256 price) {
        int24 tick;
        (reason, tick) = _meanTick(wethUsdgPool, wethMinLiquidity, endsAgo);
        if (reason != Invalid.None) return (reason, 0);
        return (reason, PoolPrice.ofUsdgPair(TickPrice.sqrtPriceX96At(tick), weth, WETH_DECIMALS, usdg));
    }

    function _meanTick(address pool, uint128 minLiquidity, uint256 endsAgo)
        private
        view
        returns (Invalid, int24)
    {
        return endsAgo == LATEST
            ? ReferenceWindow.latest(pool, minLiquidity)
            : ReferenceWindow.ended(pool, minLiquidity, endsAgo);
    }
}
