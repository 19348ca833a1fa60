// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {TestToken} from "./TestToken.sol";
import {IUniPool, UniswapFixture} from "./UniswapFixture.sol";

/// The fixture itself must tell the truth: wrong prices here would make every other test lie.
contract UniswapFixtureTest is UniswapFixture {
    function setUp() public {
        deployUniswap();
    }

    function test_pools_stand_at_the_stated_price_in_both_token_orders_and_any_decimals() public {
        bool seenFirst;
        bool seenLast;
        for (uint8 i; i < 8 || !(seenFirst && seenLast); i++) {
            TestToken token = new TestToken("Token", "TKN", i % 2 == 0 ? 18 : 8);
            IUniPool pool = createPool(address(token), address(usdg), 3000, 123.45e18, 1_000_000e6);
            assertApproxEqRel(poolPrice(pool, address(token)), 123.45e18, 1e12);
            if (pool.token0() == address(token)) seenFirst = true;
            else seenLast = true;
            movePrice(pool, address(token), 99e18);
            assertApproxEqRel(poolPrice(pool, address(token)), 99e18, 1e12);
            assertApproxEqRel(usdg.balanceOf(address(pool)), 895_000e6, 0.01e18);
        }
    }

    function test_an_aged_pool_observes_ten_minutes_with_cardinality_700() public {
        TestToken token = new TestToken("Token", "TKN", 18);
        IUniPool[] memory pools = new IUniPool[](1);
        pools[0] = createPool(address(token), address(weth), 500, 0.05e18, 1_000e18);
        age(pools);
        (,,, uint16 cardinality,,,) = pools[0].slot0();
        assertEq(cardinality, 700);
        uint32[] memory ago = new uint32[](2);
        ago[0] = 600;
        (int56[] memory ticks,) = pools[0].observe(ago);
        (, int24 tick,,,,,) = pools[0].slot0();
        assertEq((ticks[1] - ticks[0]) / 600, int256(tick));
    }
}
