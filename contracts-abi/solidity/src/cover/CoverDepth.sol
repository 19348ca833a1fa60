// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";
import {NavOracle} from "../basket/NavOracle.sol";
import {IBasketVault} from "../interfaces/IBasketVault.sol";
import {IUniswapV3Pool} from "../interfaces/uniswap/IUniswapV3Pool.sol";
import {PoolPrice} from "../libraries/PoolPrice.sol";

/// How much cover a basket's pools can carry (rule 23): so much that moving a snapshot costs more than it pays.
///
/// A pool of liquidity L at price P takes Q(m) = L sqrt(P) m / 2 of its quote side, or more, to move by the share m,
/// and its fee f of that. A snapshot is the mean of twelve sub-windows, in each of which the harmonic mean liquidity is
/// at least the floor L. However an attacker shapes his push there, s seconds long and over liquidity l, it must be
/// u = 50 m / s high to move the sub-window's mean by m, and l >= L s / 50 or the window is thin; so l u >= L m, and he
/// trades at least Q(m) in each sub-window after which the market has brought the price back: 12 f Q(m) in all.
///
/// What that wins: a constituent of weight w moves the NAV by w m, and the narrowest range, R = 100 bps wide, pays C for
/// R, so at most C w m / R. With D = Q(R), the depth to move the pool by R, pushing loses money at every m when
///   C <= 12 f D / w,
/// for each pool by itself, hence for any set of pools and for both snapshots together. What arbitrage takes from a
/// pushed price comes on top, and grows with m squared. One push moves every basket on the pool and is paid for once, so
/// it is the sum of C w over all listed baskets that stays within 12 f D: what a cap needs of a pool is pledged.
///
/// An underwriter may rather want a week void: one push of 600 ticks in each of four windows makes a pool jumpy, whatever
/// its weight. There and back that is about 49 f D, so no pool counts for less than half of the NAV: then all the cover
/// that hangs on it is at most 24 f D.
///
/// What this leaves, for underwriters and buyers to price. The argument needs a market that corrects the pool once in
/// each 50 s, which is why weeks close Friday 16:00 and settle Monday 10:00 in New York: exchanges trade then, but not on
/// a holiday, when the argument rests on those who trade the tokens alone. A nudge smaller than the fee draws no
/// arbitrage and can shift a NAV by about the fees of its pools. Fees bind no one who owns most of a pool's liquidity.
/// Where liquidity lies in a range narrower than 600 ticks, a push past its end makes a window thin, for less than the
/// void above is reckoned at. Weights and prices are those of the day of listing; the cap never changes.
library CoverDepth {
    uint256 private constant PUSHES = Constants.REFERENCE_WINDOW / Constants.SNAPSHOT_SUB_WINDOW;
    uint256 private constant FEE_UNIT = 1e6; // Uniswap v3: hundredths of a basis point
    uint256 private constant Q96 = 1 << 96;
    uint256 private constant WETH_USD_SCALE = 1e30; // WETH base units x (dollars x 1e18) per USDG base unit

    struct Route {
        NavOracle oracle;
        address usdg;
        address weth;
        address wethPool;
        uint256 wethPrice; // dollars x 1e18; zero until needed
        uint256 wethValue; // per share, of all that the WETH pool prices
        uint128 wethFloor;
        uint256 value; // per share, of everything
        Load[] loads;
        uint256 count;
    }

    /// What hangs on one pool, and what pushing it by the narrowest range costs in fees, in USDG base units.
    struct Load {
        address pool;
        uint256 fees;
        uint256 value;
    }

    /// The cap in whole dollars that the pools carry beside what other baskets' cover has taken of them (`pledged`: in
    /// USDG base units of cover times weight); zero where a constituent has no pool or no price.
    function capUsd(address vault, address oracle, mapping(address pool => uint256) storage pledged)
        internal
        view
        returns (uint64)
    {
        Route memory route = _loaded(vault, oracle);
        uint256 cap = type(uint256).max;
        if (route.value == 0) return 0;
        for (uint256 i; i < route.count; ++i) {
            Load memory load = route.loads[i];
            uint256 left = load.fees - Math.min(load.fees, pledged[load.pool]);
            cap = Math.min(cap, Math.mulDiv(left, route.value, load.value));
        }
        return uint64(Math.min(cap / Constants.USD, type(uint64).max));
    }

    /// Takes what a cap needs of each pool out of what later baskets may use.
    function pledge(
        address vault,
        address oracle,
        uint64 cap,
        mapping(address pool => uint256) storage pledged
    ) internal {
        Route memory route = _loaded(vault, oracle);
        for (uint256 i; i < route.count; ++i) {
            Load memory load = route.loads[i];
            pledged[
                load.pool
            ] += Math.mulDiv(uint256(cap) * Constants.USD, load.value, route.value, Math.Rounding.Ceil);
        }
    }

    /// The basket's pools and what of it hangs on each; `value` zero where something has no price.
    function _loaded(address vault, address oracle) private view returns (Route memory route) {
        IBasketVault.Constituent[] memory parts = IBasketVault(vault).constituents();
        uint256[] memory values = _values(vault, oracle, parts);
        route = _route(oracle);
        route.loads = new Load[](parts.length + 1);
        uint256 total;
        for (uint256 i; i < parts.length; ++i) {
            if (values[i] == 0) return route;
            total += values[i];
        }
        for (uint256 i; i < parts.length; ++i) {
            _carry(route, parts[i], values[i]);
        }
        if (route.wethValue != 0) {
            uint256 depth = _depth(route.wethPool, route.weth < route.usdg, route.wethFloor);
            _load(route, route.wethPool, depth, route.wethValue);
        }
        // Half at least, for whoever would void the week by it.
        for (uint256 i; i < route.count; ++i) {
            route.loads[i].value = Math.max(route.loads[i].value, total / 2);
        }
        route.value = total;
    }

    /// Whether every pool that a snapshot reads remembers the whole time in which it may be taken (rule 22).
    function remembers(address vault, address oracle) internal view returns (bool) {
        IBasketVault.Constituent[] memory parts = IBasketVault(vault).constituents();
        for (uint256 i; i < parts.length; ++i) {
            if (parts[i].pool == address(0)) continue;
            if (!_remembers(parts[i].pool)) return false;
            if (parts[i].viaWeth && !_remembers(NavOracle(oracle).wethUsdgPool())) return false;
        }
        return true;
    }

    function _carry(Route memory route, IBasketVault.Constituent memory part, uint256 value) private view {
        if (part.token == route.usdg) return; // a dollar moves with no pool
        if (part.pool == route.wethPool) {
            route.wethValue += value;
            route.wethFloor = uint128(Math.min(route.wethFloor, part.minLiquidity));
            return;
        }
        address quoteToken = part.viaWeth ? route.weth : route.usdg;
        uint256 depth = _depth(part.pool, part.token < quoteToken, part.minLiquidity);
        if (part.viaWeth) {
            depth = Math.mulDiv(depth, route.wethPrice, WETH_USD_SCALE);
            route.wethValue += value;
        }
        _load(route, part.pool, depth, value);
    }

    function _load(Route memory route, address pool, uint256 depth, uint256 value) private view {
        uint256 fees = Math.mulDiv(depth, PUSHES * IUniswapV3Pool(pool).fee(), FEE_UNIT);
        route.loads[route.count++] = Load(pool, fees, value);
    }

    /// Base units of the quote side that move a pool at its floor by the narrowest range.
    function _depth(address pool, bool quoteIsToken1, uint128 floor) private view returns (uint256) {
        uint256 root = PoolPrice.sqrtPriceNow(pool);
        uint256 side = quoteIsToken1 ? Math.mulDiv(floor, root, Q96) : Math.mulDiv(floor, Q96, root);
        uint256 moved = Math.sqrt(1e36 * (Constants.BPS + Constants.MIN_COVER_WIDTH_BPS) / Constants.BPS);
        return Math.mulDiv(side, moved - 1e18, 1e18);
    }

    /// Dollars x 1e18 per share before fees, by constituent, at spot.
    function _values(address vault, address oracle, IBasketVault.Constituent[] memory parts)
        private
        view
        returns (uint256[] memory values)
    {
        uint256[] memory prices = NavOracle(oracle).spotPrices(vault);
        uint8[] memory decimals = IBasketVault(vault).tokenDecimals();
        values = new uint256[](parts.length);
        for (uint256 i; i < parts.length; ++i) {
            values[i] = Math.mulDiv(parts[i].genesisUnits, prices[i], 10 ** decimals[i]);
        }
    }

    function _route(address oracle) private view returns (Route memory route) {
        route.oracle = NavOracle(oracle);
        route.usdg = route.oracle.usdg();
        route.weth = route.oracle.weth();
        route.wethPool = route.oracle.wethUsdgPool();
        route.wethFloor = route.oracle.wethMinLiquidity();
        (route.wethPrice,) = route.oracle.ethPrice();
    }

    function _remembers(address pool) private view returns (bool) {
        (,,, uint16 cardinality,,,) = IUniswapV3Pool(pool).slot0();
        return cardinality >= Constants.MIN_COVER_CARDINALITY;
    }
}
