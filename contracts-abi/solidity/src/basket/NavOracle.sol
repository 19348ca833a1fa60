// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SlotDerivation} from "@openzeppelin/contracts/utils/SlotDerivation.sol";
import {TransientSlot} from "@openzeppelin/contracts/utils/TransientSlot.sol";
import {Constants} from "../Constants.sol";
import {IBasketVault} from "../interfaces/IBasketVault.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {PoolPrice} from "../libraries/PoolPrice.sol";
import {ReferenceWindow} from "../libraries/ReferenceWindow.sol";
import {TickPrice} from "../libraries/TickPrice.sol";

/// NAVs from units per share and pool prices alone: no balance, no supply and no constituent token is ever read
/// (rule 2). Prices round down and the reference's mean tick rounds down, so a reference is exact to one tick (0.01%).
contract NavOracle is INavOracle {
    using SlotDerivation for bytes32;
    using TransientSlot for *;

    address public immutable usdg;
    address public immutable weth;
    address public immutable wethUsdgPool;
    uint128 public immutable wethMinLiquidity;

    uint8 private constant WETH_DECIMALS = 18;
    uint256 private constant LATEST = type(uint256).max; // the window that ends now, by the rules of orders

    bytes32 private constant KEPT_AVERAGES = keccak256("NavOracle.keptAverages"); // vault => second => before fees

    struct Prices {
        uint256 average;
        uint256 spot;
    }

    struct Basket {
        IBasketVault.Constituent[] parts;
        uint8[] decimals;
        uint256 feeIndex;
        Prices ether_; // read when the first constituent needs it
    }

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
        Basket memory basket = _basketOf(vault);
        (nav,, reason, pool) = _values(basket, LATEST);
        nav = _afterFees(nav, basket.feeIndex);
    }

    /// @inheritdoc INavOracle
    function navs(address vault) external view returns (uint256 referenceNav_, uint256 spotNav_) {
        Basket memory basket = _basketOf(vault);
        (uint256 average, uint256 spot) = _soundValues(vault, basket);
        return (_afterFees(average, basket.feeIndex), _afterFees(spot, basket.feeIndex));
    }

    /// Kept before fees, by vault and second. Within one second no swap moves an average: a pool writes an observation
    /// before its price changes, and what it writes is what the average was worked out from. Only what was found sound
    /// is kept; zero is none.
    /// @inheritdoc INavOracle
    function navsOnce(address vault) external returns (uint256 referenceNav_, uint256 spotNav_) {
        Basket memory basket = _basketOf(vault);
        TransientSlot.Uint256Slot kept =
            KEPT_AVERAGES.deriveMapping(vault).deriveMapping(block.timestamp).asUint256();
        uint256 average = kept.tload();
        uint256 spot;
        if (average == 0) {
            (average, spot) = _soundValues(vault, basket);
            kept.tstore(average);
        } else {
            (spot,) = _spotValue(basket);
            if (spot == 0) revert NoSpot(vault);
        }
        return (_afterFees(average, basket.feeIndex), _afterFees(spot, basket.feeIndex));
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
        Basket memory basket = _basketOf(vault);
        (nav,, reason, pool) = _values(basket, block.timestamp - endsAt);
        if (reason == Invalid.None) nav = _afterFees(nav, IBasketVault(vault).feeIndexAt(endsAt));
    }

    /// Dollars x 1e18 per share at the pools' prices of this moment. Anyone can move these within a transaction.
    function spotNav(address vault) external view returns (uint256 nav) {
        (uint256 nav_, bool ok) = trySpotNav(vault);
        if (!ok) revert NoSpot(vault);
        return nav_;
    }

    function trySpotNav(address vault) public view returns (uint256 nav, bool ok) {
        Basket memory basket = _basketOf(vault);
        (nav, ok) = _spotValue(basket);
        nav = _afterFees(nav, basket.feeIndex);
    }

    function spotPrices(address vault) external view returns (uint256[] memory prices) {
        Basket memory basket = _basketOf(vault);
        return _spotPrices(basket);
    }

    function ethPrice() external view returns (uint256 spotPrice, uint256 averagePrice) {
        ReferenceWindow.Reading memory weth_ = _read(wethUsdgPool, wethMinLiquidity, LATEST);
        spotPrice = _wethPriceAt(weth_.spot);
        if (weth_.reason == Invalid.None) averagePrice = _wethPriceAt(TickPrice.sqrtPriceX96At(weth_.tick));
    }

    function _basketOf(address vault) private view returns (Basket memory basket) {
        (basket.parts, basket.decimals, basket.feeIndex) = IBasketVault(vault).composition();
    }

    /// Both before fees; reverts NoReference or NoSpot.
    function _soundValues(address vault, Basket memory basket)
        private
        view
        returns (uint256 average, uint256 spot)
    {
        Invalid reason;
        address pool;
        (average, spot, reason, pool) = _values(basket, LATEST);
        if (reason != Invalid.None) revert NoReference(vault, reason, pool);
        if (spot == 0) revert NoSpot(vault);
    }

    /// Before fees; zero and false where a constituent has no price.
    function _spotValue(Basket memory basket) private view returns (uint256 value, bool ok) {
        uint256[] memory prices = _spotPrices(basket);
        for (uint256 i; i < prices.length; ++i) {
            if (prices[i] == 0) return (0, false);
            value += _valueOf(basket, i, prices[i]);
        }
        return (value, true);
    }

    /// Both before fees, from one look at every pool; zero unless `reason` is None. `endsAgo` is LATEST or the age of
    /// a snapshot's window. `spot` is zero too where a price is.
    function _values(Basket memory basket, uint256 endsAgo)
        private
        view
        returns (uint256 average, uint256 spot, Invalid reason, address pool)
    {
        bool unpriced;
        for (uint256 i; i < basket.parts.length; ++i) {
            Prices memory prices;
            (prices, reason, pool) = _prices(basket, i, endsAgo);
            if (reason != Invalid.None) return (0, 0, reason, pool);
            average += _valueOf(basket, i, prices.average);
            spot += _valueOf(basket, i, prices.spot);
            if (prices.spot == 0) unpriced = true;
        }
        if (unpriced) spot = 0;
    }

    function _prices(Basket memory basket, uint256 i, uint256 endsAgo)
        private
        view
        returns (Prices memory prices, Invalid reason, address pool)
    {
        IBasketVault.Constituent memory part = basket.parts[i];
        if (part.token == usdg) return (Prices(PoolPrice.ONE, PoolPrice.ONE), Invalid.None, address(0));
        if (part.pool == address(0)) return (prices, Invalid.NoPool, address(0));
        if (part.viaWeth && basket.ether_.average == 0) {
            ReferenceWindow.Reading memory leg = _read(wethUsdgPool, wethMinLiquidity, endsAgo);
            if (leg.reason != Invalid.None) return (prices, leg.reason, wethUsdgPool);
            basket.ether_ = Prices(_wethPriceAt(TickPrice.sqrtPriceX96At(leg.tick)), _wethPriceAt(leg.spot));
        }
        ReferenceWindow.Reading memory reading = _read(part.pool, part.minLiquidity, endsAgo);
        if (reading.reason != Invalid.None) return (prices, reading.reason, part.pool);
        uint8 decimals = basket.decimals[i];
        prices.average = _price(part, decimals, TickPrice.sqrtPriceX96At(reading.tick), basket.ether_.average);
        prices.spot = _price(part, decimals, reading.spot, basket.ether_.spot);
    }

    /// Zero where there is no pool.
    function _spotPrices(Basket memory basket) private view returns (uint256[] memory prices) {
        uint256 wethPrice;
        prices = new uint256[](basket.parts.length);
        for (uint256 i; i < prices.length; ++i) {
            IBasketVault.Constituent memory part = basket.parts[i];
            if (part.token == usdg) {
                prices[i] = PoolPrice.ONE;
            } else if (part.pool != address(0)) {
                if (part.viaWeth && wethPrice == 0) {
                    wethPrice = _wethPriceAt(PoolPrice.sqrtPriceNow(wethUsdgPool));
                }
                prices[i] = _price(part, basket.decimals[i], PoolPrice.sqrtPriceNow(part.pool), wethPrice);
            }
        }
    }

    function _valueOf(Basket memory basket, uint256 i, uint256 price) private pure returns (uint256) {
        return Math.mulDiv(basket.parts[i].genesisUnits, price, 10 ** basket.decimals[i]);
    }

    /// Units per share fall with the fee index alone, so the index applies once, to the whole.
    function _afterFees(uint256 value, uint256 feeIndex) private pure returns (uint256) {
        return Math.mulDiv(value, feeIndex, Constants.RAY);
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

    function _wethPriceAt(uint160 sqrtPriceX96) private view returns (uint256) {
        return PoolPrice.ofUsdgPair(sqrtPriceX96, weth, WETH_DECIMALS, usdg);
    }

    function _read(address pool, uint128 minLiquidity, uint256 endsAgo)
        private
        view
        returns (ReferenceWindow.Reading memory)
    {
        return endsAgo == LATEST
            ? ReferenceWindow.latest(pool, minLiquidity)
            : ReferenceWindow.ended(pool, minLiquidity, endsAgo);
    }
}
