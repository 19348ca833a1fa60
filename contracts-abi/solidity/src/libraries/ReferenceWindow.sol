// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {INavOracle} from "../interfaces/INavOracle.sol";
import {Constants} from "../Constants.sol";
import {PoolHistory} from "./PoolHistory.sol";

/// Ten minutes of one pool, judged by rule 1: long enough a memory, thick in each sub-window, calm between them.
library ReferenceWindow {
    using PoolHistory for PoolHistory.Search;

    /// `tick`: the mean of the window, rounded down, where `reason` is None. `spot`: the pool's price now.
    struct Reading {
        INavOracle.Invalid reason;
        int24 tick;
        uint160 spot;
    }

    /// The last ten minutes, by sub-windows of 200 s: what orders and session trades see.
    function latest(address pool, uint128 minLiquidity) internal view returns (Reading memory) {
        return _read(pool, minLiquidity, 0, Constants.REFERENCE_SUB_WINDOW, Constants.MIN_CARDINALITY);
    }

    /// The ten minutes that ended `endsAgo` seconds ago, by sub-windows of 50 s: what cover is settled by. One push in
    /// each of three sub-windows leaves them agreeing, which is cheap; a push in each of twelve is not.
    function ended(address pool, uint128 minLiquidity, uint256 endsAgo)
        internal
        view
        returns (Reading memory)
    {
        return _read(
            pool, minLiquidity, endsAgo, Constants.SNAPSHOT_SUB_WINDOW, Constants.MIN_COVER_CARDINALITY
        );
    }

    /// A pool of too short a memory is told from slot0, a young one from its oldest observation. Any other failure,
    /// lack of gas included, reverts: a caller must not be able to make a sound reference look invalid by starving
    /// this call.
    function _read(
        address pool,
        uint128 minLiquidity,
        uint256 endsAgo,
        uint256 subWindow,
        uint256 minCardinality
    ) private view returns (Reading memory reading) {
        PoolHistory.Search memory search = PoolHistory.open(pool);
        reading.spot = search.sqrtPriceX96;
        if (search.cardinality < minCardinality) {
            reading.reason = INavOracle.Invalid.Cardinality;
        } else if (!search.reaches(endsAgo + Constants.REFERENCE_WINDOW)) {
            reading.reason = INavOracle.Invalid.TooYoung;
        } else {
            (reading.reason, reading.tick) = _judge(search, endsAgo, subWindow, minLiquidity);
        }
    }

    /// Sub-window by sub-window, the latest first.
    function _judge(PoolHistory.Search memory search, uint256 age, uint256 subWindow, uint128 minLiquidity)
        private
        view
        returns (INavOracle.Invalid, int24)
    {
        search.seek(age);
        int56 end = search.ticks;
        int24 lowest = type(int24).max;
        int24 highest = type(int24).min;
        unchecked {
            for (uint256 left = Constants.REFERENCE_WINDOW; left != 0; left -= subWindow) {
                int56 ticks = search.ticks;
                uint160 spent = search.perLiquidity;
                search.seek(age += subWindow);
                spent -= search.perLiquidity; // the pool's accumulator wraps by design
                // Harmonic mean liquidity: seconds x 2^128 over what the accumulator gained. One unit of slack: the
                // accumulator rounds differently once a later observation exists, and may not tip the verdict by it.
                if (spent > 1 && (subWindow << 128) / (spent - 1) < minLiquidity) {
                    return (INavOracle.Invalid.Thin, 0);
                }
                int24 mean = _mean(search.ticks, ticks, subWindow);
                if (mean < lowest) lowest = mean;
                if (mean > highest) highest = mean;
            }
        }
        if (highest - lowest > Constants.MAX_SUB_WINDOW_TICK_SPREAD) return (INavOracle.Invalid.Jumpy, 0);
        return (INavOracle.Invalid.None, _mean(search.ticks, end, Constants.REFERENCE_WINDOW));
    }

    function _mean(int56 from, int56 to, uint256 period) private pure returns (int24) {
        unchecked {
            int56 delta = to - from; // wraps as the pool's accumulator does
            int56 length = int56(uint56(period));
            int56 mean = delta / length;
            if (delta < 0 && delta % length != 0) mean--;
            return int24(mean);
        }
    }
}
