// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {RingReader} from "./RingReader.sol";
import {IUniPool, UniswapFixture} from "./UniswapFixture.sol";

/// What PoolHistory finds in the ring of `pool`, against the genuine pool's own `observe`.
abstract contract RingComparison is UniswapFixture {
    IUniPool internal pool;

    /// External, so that a search has memory of its own and its reads can be counted.
    function read(uint256 endsAgo, uint256 step, uint256 count)
        external
        view
        returns (bool reaches, int56[] memory ticks, uint160[] memory perLiquidity)
    {
        return RingReader.read(address(pool), endsAgo, step, count);
    }

    function _assertSame(uint256 endsAgo, uint256 step, uint256 count) internal view {
        uint32[] memory ago = new uint32[](count);
        for (uint256 i; i < count; ++i) {
            ago[i] = uint32(endsAgo + step * (count - 1 - i));
        }
        (bool reaches, int56[] memory ticks, uint160[] memory perLiquidity) = this.read(endsAgo, step, count);
        try pool.observe(ago) returns (int56[] memory wantTicks, uint160[] memory wantPerLiquidity) {
            assertTrue(reaches, "observe reaches");
            assertEq(abi.encode(ticks), abi.encode(wantTicks));
            assertEq(abi.encode(perLiquidity), abi.encode(wantPerLiquidity));
        } catch Error(string memory reason) {
            assertEq(reason, "OLD");
            assertFalse(reaches, "observe does not reach");
        }
    }
}
