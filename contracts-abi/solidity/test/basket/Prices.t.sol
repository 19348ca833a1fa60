// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IUniPool, UniswapFixture} from "../support/UniswapFixture.sol";
import {TestToken} from "../support/TestToken.sol";
import {PoolPrice} from "../../src/libraries/PoolPrice.sol";
import {TickPrice} from "../../src/libraries/TickPrice.sol";

contract PricesTest is UniswapFixture {
    function setUp() public {
        deployUniswap();
    }

    function sqrtPriceX96At(int24 tick) external pure returns (uint160) {
        return TickPrice.sqrtPriceX96At(tick);
    }

    function test_tickZeroIsParityAndTheBoundsAreUniswaps() public {
        assertApproxEqAbs(TickPrice.sqrtPriceX96At(0), 1 << 96, 1);
        assertApproxEqRel(TickPrice.sqrtPriceX96At(-887_272), MIN_SQRT_RATIO, 1e9);
        assertApproxEqRel(TickPrice.sqrtPriceX96At(887_272), MAX_SQRT_RATIO, 1e9);
        vm.expectRevert(abi.encodeWithSelector(TickPrice.TickOutOfRange.selector, int24(887_273)));
        this.sqrtPriceX96At(887_273);
        vm.expectRevert(abi.encodeWithSelector(TickPrice.TickOutOfRange.selector, int24(-887_273)));
        this.sqrtPriceX96At(-887_273);
    }

    /// The genuine pool names the tick of a price: that tick's own price is at most it, and the next one's above it.
    function testFuzz_agreesWithTheGenuinePoolOnEveryTick(uint256 seed) public {
        int24 tick = int24(int256(bound(seed, 0, 1_000_000))) - 500_000;
        IUniPool pool =
            IUniPool(uniFactory.createPool(address(new TestToken("A", "A", 18)), address(usdg), 500));
        uint160 sqrtPrice = TickPrice.sqrtPriceX96At(tick);
        uint160 next = TickPrice.sqrtPriceX96At(tick + 1);
        pool.initialize(sqrtPrice + (next - sqrtPrice) / 2);
        (, int24 poolTick,,,,,) = pool.slot0();
        assertEq(int256(poolTick), int256(tick));
    }

    function testFuzz_risesWithEveryTickByHalfABasisPoint(uint256 seed) public pure {
        int24 tick = int24(int256(bound(seed, 0, 1_000_000))) - 500_000;
        uint256 here = TickPrice.sqrtPriceX96At(tick);
        uint256 step = uint256(TickPrice.sqrtPriceX96At(tick + 1)) * 1e18 / here;
        assertApproxEqAbs(step, 1.000049998750062496e18, 1e9);
    }

    /// Any decimals, either order of addresses, from a thousandth of a cent to a hundred million dollars.
    function testFuzz_readsADollarPriceBack(uint256 dollars, uint8 decimals, bool tokenFirst) public pure {
        decimals = uint8(decimals % 19);
        dollars = bound(dollars, 1e13, 1e26);
        (address token, address cash) = tokenFirst ? (address(1), address(2)) : (address(2), address(1));
        uint160 sqrtPrice = _sqrt(dollars, 10 ** decimals, 1e6, tokenFirst);
        vm.assume(sqrtPrice > MIN_SQRT_RATIO && sqrtPrice < MAX_SQRT_RATIO);
        uint256 price = PoolPrice.ofUsdgPair(sqrtPrice, token, decimals, cash);
        assertApproxEqRel(price, dollars, 1e10 + 3e18 / uint256(sqrtPrice));
    }

    function testFuzz_readsAPriceBackThroughWeth(
        uint256 dollars,
        uint256 eth,
        uint8 decimals,
        bool tokenFirst
    ) public pure {
        decimals = uint8(decimals % 19);
        dollars = bound(dollars, 1e12, 1e26);
        eth = bound(eth, 100e18, 100_000e18);
        (address token, address weth_) = tokenFirst ? (address(1), address(2)) : (address(2), address(1));
        uint256 inEth = Math.mulDiv(dollars, 1e18, eth);
        vm.assume(inEth > 1e9 && inEth < 10 ** (18 + decimals)); // what _sqrt can write in 256 bits
        uint160 sqrtPrice = _sqrt(inEth, 10 ** decimals, 1e18, tokenFirst);
        vm.assume(sqrtPrice > MIN_SQRT_RATIO && sqrtPrice < MAX_SQRT_RATIO);
        uint256 price = PoolPrice.ofWethPair(sqrtPrice, token, decimals, weth_, eth);
        assertApproxEqRel(price, dollars, 1e10 + 3e18 / uint256(sqrtPrice));
    }

    function testFuzz_noPriceOfAGenuinePoolOverflows(uint160 sqrtPrice, bool first, uint8 decimals)
        public
        pure
    {
        sqrtPrice = uint160(bound(sqrtPrice, MIN_SQRT_RATIO, MAX_SQRT_RATIO - 1));
        (address token, address other) = first ? (address(1), address(2)) : (address(2), address(1));
        uint256 direct = PoolPrice.ofUsdgPair(sqrtPrice, token, decimals % 19, other);
        uint256 throughWeth = PoolPrice.ofWethPair(sqrtPrice, token, decimals % 19, other, 1e24);
        assertLt(direct, 1 << 229);
        assertLt(throughWeth, 1 << 210);
    }

    function test_anUninitialisedPoolHasNoPrice() public pure {
        assertEq(PoolPrice.quote(0, true, 1e18), 0);
    }

    function _sqrt(uint256 price, uint256 tokenUnit, uint256 quoteUnit, bool tokenFirst)
        private
        pure
        returns (uint160)
    {
        // sqrt(quote side / token side) x 2^96, the halves apart so that 256 bits are enough.
        uint256 quoteSide = price * quoteUnit;
        uint256 tokenSide = 1e18 * tokenUnit;
        (uint256 up, uint256 down) = tokenFirst ? (quoteSide, tokenSide) : (tokenSide, quoteSide);
        return uint160(Math.sqrt(Math.mulDiv(up, 1 << 192, down)));
    }
}
