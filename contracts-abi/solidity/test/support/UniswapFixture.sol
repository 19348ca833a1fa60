// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Test} from "./Test.sol";
import {TestToken, TestWeth} from "./TestToken.sol";

interface IUniFactory {
    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address pool);
    function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address pool);
    function feeAmountTickSpacing(uint24 fee) external view returns (int24);
}

interface IUniPool {
    function initialize(uint160 sqrtPriceX96) external;
    function mint(address recipient, int24 tickLower, int24 tickUpper, uint128 amount, bytes calldata data)
        external
        returns (uint256 amount0, uint256 amount1);
    function burn(int24 tickLower, int24 tickUpper, uint128 amount)
        external
        returns (uint256 amount0, uint256 amount1);
    function collect(
        address recipient,
        int24 tickLower,
        int24 tickUpper,
        uint128 requested0,
        uint128 requested1
    ) external returns (uint128 amount0, uint128 amount1);
    function swap(
        address recipient,
        bool zeroForOne,
        int256 amount,
        uint160 sqrtPriceLimitX96,
        bytes calldata data
    ) external returns (int256 amount0, int256 amount1);
    function increaseObservationCardinalityNext(uint16 next) external;
    function slot0()
        external
        view
        returns (
            uint160 sqrtPriceX96,
            int24 tick,
            uint16 observationIndex,
            uint16 observationCardinality,
            uint16 observationCardinalityNext,
            uint8 feeProtocol,
            bool unlocked
        );
    function observe(uint32[] calldata secondsAgos) external view returns (int56[] memory, uint160[] memory);
    function token0() external view returns (address);
    function token1() external view returns (address);
    function fee() external view returns (uint24);
    function liquidity() external view returns (uint128);
    function tickSpacing() external view returns (int24);
}

/// Deploys the bytecode that Uniswap published on npm and trades on it. The test contract is its own liquidity
/// provider and trader (pool callbacks mint what the pool asks for), so no position manager stands between.
abstract contract UniswapFixture is Test {
    uint160 internal constant MIN_SQRT_RATIO = 4295128739; // TickMath of v3-core
    uint160 internal constant MAX_SQRT_RATIO = 1461446703485210103287273052203988822378723970342;
    string private constant NPM = "../../node_modules/";

    IUniFactory internal uniFactory;
    address internal swapRouter; // genuine SwapRouter02, without a v2 factory and a position manager
    address internal quoter; // genuine QuoterV2 of swap-router-contracts
    TestWeth internal weth;
    TestToken internal usdg;

    /// Deploys WETH, USDG (6 decimals), the factory, the router and the quoter.
    function deployUniswap() internal {
        weth = new TestWeth();
        usdg = new TestToken("Global Dollar", "USDG", 6);
        uniFactory = IUniFactory(
            deployArtifact(
                "@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json", ""
            )
        );
        swapRouter = deployArtifact(
            "@uniswap/swap-router-contracts/artifacts/contracts/SwapRouter02.sol/SwapRouter02.json",
            abi.encode(address(0), uniFactory, address(0), weth)
        );
        quoter = deployArtifact(
            "@uniswap/swap-router-contracts/artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json",
            abi.encode(uniFactory, weth)
        );
        vm.label(address(weth), "WETH");
        vm.label(address(usdg), "USDG");
        vm.label(address(uniFactory), "UniswapV3Factory");
        vm.label(swapRouter, "SwapRouter02");
        vm.label(quoter, "QuoterV2");
    }

    /// Deploys creation bytecode of an npm artifact; `path` is relative to node_modules.
    function deployArtifact(string memory path, bytes memory arguments) internal returns (address deployed) {
        bytes memory code = abi.encodePacked(artifactBytecode(path), arguments);
        assembly ("memory-safe") {
            deployed := create(0, add(code, 0x20), mload(code))
        }
        require(deployed != address(0), string.concat("cannot deploy ", path));
    }

    function artifactBytecode(string memory path) internal view returns (bytes memory) {
        return vm.parseJsonBytes(vm.readFile(string.concat(NPM, path)), ".bytecode");
    }

    /// A pool of `token` against USDG or WETH at `price` (quote units x 1e18 per whole token: dollars for USDG,
    /// ether for WETH), full-range liquidity worth `depth` quote base units a side, observation cardinality 700.
    /// The reference window still has to age: call `age`.
    function createPool(address token, address quote, uint24 fee, uint256 price, uint256 depth)
        internal
        returns (IUniPool pool)
    {
        pool = createThinPool(token, quote, fee, price);
        addDepth(pool, quote, depth);
        growCardinality(pool, 700);
    }

    /// Initialised at `price`, without liquidity, cardinality 1.
    function createThinPool(address token, address quote, uint24 fee, uint256 price)
        internal
        returns (IUniPool pool)
    {
        pool = IUniPool(uniFactory.createPool(token, quote, fee));
        pool.initialize(sqrtPriceOf(token, quote, price));
        vm.label(address(pool), string.concat(TestToken(token).symbol(), "/", TestToken(quote).symbol()));
    }

    /// Grows the ring buffer and makes the pool write once at a later second, which is when cardinality follows.
    function growCardinality(IUniPool pool, uint16 cardinality) internal {
        pool.increaseObservationCardinalityNext(cardinality);
        skip(1);
        writeObservation(pool);
        skip(1);
        writeObservation(pool);
    }

    /// Writes an observation at this second without moving the price: a dust position over the current tick.
    function writeObservation(IUniPool pool) internal {
        (int24 lower, int24 upper) = fullRange(pool);
        pool.mint(address(this), lower, upper, 1, "");
    }

    /// Ages pools past the reference window, with an observation written each 100 seconds.
    function age(IUniPool[] memory pools) internal {
        age(pools, 1_000);
    }

    function age(IUniPool[] memory pools, uint256 secondsAhead) internal {
        for (uint256 passed; passed < secondsAhead; passed += 100) {
            skip(100);
            for (uint256 i; i < pools.length; i++) {
                writeObservation(pools[i]);
            }
        }
    }

    /// Adds full-range liquidity worth `depth` base units of `quote` (and as much of the other side).
    function addDepth(IUniPool pool, address quote, uint256 depth) internal returns (uint128 liquidity) {
        liquidity = liquidityFor(pool, quote, depth);
        (int24 lower, int24 upper) = fullRange(pool);
        pool.mint(address(this), lower, upper, liquidity, "");
    }

    /// Withdraws full-range liquidity that this contract holds.
    function removeLiquidity(IUniPool pool, uint128 liquidity) internal {
        (int24 lower, int24 upper) = fullRange(pool);
        pool.burn(lower, upper, liquidity);
        pool.collect(address(this), lower, upper, type(uint128).max, type(uint128).max);
    }

    function addRange(IUniPool pool, int24 lower, int24 upper, uint128 liquidity) internal {
        pool.mint(address(this), lower, upper, liquidity, "");
    }

    /// Full-range liquidity whose side in `quote` is `depth` base units at the current price.
    function liquidityFor(IUniPool pool, address quote, uint256 depth) internal view returns (uint128) {
        (uint160 sqrtPrice,,,,,,) = pool.slot0();
        uint256 liquidity = quote == pool.token1()
            ? Math.mulDiv(depth, 1 << 96, sqrtPrice)
            : Math.mulDiv(depth, sqrtPrice, 1 << 96);
        require(liquidity <= type(uint128).max, "liquidity overflows");
        return uint128(liquidity);
    }

    function fullRange(IUniPool pool) internal view returns (int24 lower, int24 upper) {
        int24 spacing = pool.tickSpacing();
        upper = (887272 / spacing) * spacing;
        lower = -upper;
    }

    /// Trades until one whole `token` costs `price` (quote units x 1e18).
    function movePrice(IUniPool pool, address token, uint256 price) internal {
        address quote = pool.token0() == token ? pool.token1() : pool.token0();
        uint160 target = sqrtPriceOf(token, quote, price);
        (uint160 current,,,,,,) = pool.slot0();
        if (target == current) return;
        pool.swap(address(this), target < current, type(int256).max, target, "");
    }

    /// Price of one whole `token` in the pool's other token x 1e18, from slot0.
    function poolPrice(IUniPool pool, address token) internal view returns (uint256) {
        (uint160 sqrtPrice,,,,,,) = pool.slot0();
        bool isToken0 = pool.token0() == token;
        address quote = isToken0 ? pool.token1() : pool.token0();
        uint256 ratioX96 = Math.mulDiv(sqrtPrice, sqrtPrice, 1 << 96);
        uint256 one = 10 ** TestToken(token).decimals();
        uint256 base = isToken0
            ? Math.mulDiv(one * 1e18, ratioX96, 1 << 96)
            : Math.mulDiv(one * 1e18, 1 << 96, ratioX96);
        return base / 10 ** TestToken(quote).decimals();
    }

    function sqrtPriceOf(address token, address quote, uint256 price) internal view returns (uint160) {
        uint256 quoteSide = price * 10 ** TestToken(quote).decimals();
        uint256 tokenSide = 1e18 * 10 ** TestToken(token).decimals();
        uint256 ratioX192 = token < quote
            ? Math.mulDiv(quoteSide, 1 << 192, tokenSide)
            : Math.mulDiv(tokenSide, 1 << 192, quoteSide);
        return uint160(Math.sqrt(ratioX192));
    }

    function uniswapV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata) external {
        _pay(IUniPool(msg.sender).token0(), owed0);
        _pay(IUniPool(msg.sender).token1(), owed1);
    }

    function uniswapV3SwapCallback(int256 delta0, int256 delta1, bytes calldata) external {
        if (delta0 > 0) _pay(IUniPool(msg.sender).token0(), uint256(delta0));
        if (delta1 > 0) _pay(IUniPool(msg.sender).token1(), uint256(delta1));
    }

    function _pay(address token, uint256 amount) private {
        if (amount == 0) return;
        if (token == address(weth)) {
            vm.deal(address(this), address(this).balance + amount);
            weth.deposit{value: amount}();
            weth.transfer(msg.sender, amount);
        } else {
            TestToken(token).mint(msg.sender, amount);
        }
    }
}
