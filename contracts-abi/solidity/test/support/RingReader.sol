// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {PoolHistory} from "../../src/libraries/PoolHistory.sol";

/// PoolHistory asked as a pool's `observe` is: `endsAgo` seconds ago and every `step` before, told oldest first.
library RingReader {
    function read(address pool, uint256 endsAgo, uint256 step, uint256 count)
        internal
        view
        returns (bool reaches, int56[] memory ticks, uint160[] memory perLiquidity)
    {
        PoolHistory.Search memory search = PoolHistory.open(pool);
        reaches = PoolHistory.reaches(search, endsAgo + step * (count - 1));
        if (!reaches) return (reaches, ticks, perLiquidity);
        ticks = new int56[](count);
        perLiquidity = new uint160[](count);
        for (uint256 i = count; i != 0; endsAgo += step) {
            PoolHistory.seek(search, endsAgo);
            (ticks[--i], perLiquidity[i]) = (search.ticks, search.perLiquidity);
        }
    }
}
