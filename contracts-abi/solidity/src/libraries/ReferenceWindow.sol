// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniswapV3Pool} from "../interfaces/uniswap/IUniswapV3Pool.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {Constants} from "../Constants.sol";

/// Ten minutes of one pool, judged by rule 1: long enough a memory, thick in each sub-window, calm between them.
library ReferenceWindow {
    /// keccak256 of Error("OLD"), Uniswap v3's answer when its memory does not reach back far enough.
    bytes32 private constant OLD = keccak256(abi.encodeWithSignature("Error(string)", "OLD"));

    /// The last ten minutes, by sub-windows of 200 s: what orders and session trades see.
    function latest(address pool, uint128 minLiquidity)
        internal
        view
        returns (INavOracle.Invalid reason, int24 tick)
    {
        return _meanTick(pool, minLiquidity, 0, Constants.REFERENCE_SUB_WINDOW, Constants.MIN_CARDINALITY);
    }

    /// The ten minutes that ended `endsAgo` seconds ago, by sub-windows of 50 s: what cover is settled by. One push in
    /// each of three sub-windows leaves them agreeing, which is cheap; a push in each of twelve is not.
    function ended(address pool, uint128 minLiquidity, uint256 endsAgo)
        internal
        view
        returns (INavOracle.Invalid reason, int24 tick)
    {
        return _meanTick(
            pool, minLiquidity, endsAgo, Constants.SNAPSHOT_SUB_WINDOW, Constants.MIN_COVER_CARDINALITY
        );
    }

    /// The mean tick of the window, rounded down, when `reason` is None.
    function _meanTick(
        address pool,
        uint128 minLiquidity,
        uint256 endsAgo,
        uint256 subWindow,
        uint256 minCardinality
    ) private view returns (INavOracle.Invalid reason, int24 tick) {
        (,,, uint16 cardinality,,,) = IUniswapV3Pool(pool).slot0();
        if (cardinality < minCardinality) return (INavOracle.Invalid.Cardinality, 0);

        (bool old, int56[] memory ticks, uint160[] memory perLiquidity) =
            _observe(pool, endsAgo, subWindow, Constants.REFERENCE_WINDOW / subWindow);
        if (old) return (INavOracle.Invalid.TooYoung, 0);
        reason = _judge(ticks, perLiquidity, minLiquidity, subWindow);
        if (reason != INavOracle.Invalid.None) return (reason, 0);
        return (reason, _mean(ticks[0], ticks[ticks.length - 1], Constants.REFERENCE_WINDOW));
    }

    function _judge(
        int56[] memory ticks,
        uint160[] memory perLiquidity,
        uint128 minLiquidity,
        uint256 subWindow
    ) private pure returns (INavOracle.Invalid) {
        int24 lowest = type(int24).max;
        int24 highest = type(int24).min;
        for (uint256 i = 1; i < ticks.length; ++i) {
            uint160 spent;
            unchecked {
                spent = perLiquidity[i] - perLiquidity[i - 1]; // the pool's accumulator wraps by design
            }
            // Harmonic mean liquidity: seconds x 2^128 over what the accumulator gained.
            if (spent != 0 && (subWindow << 128) / spent < minLiquidity) return INavOracle.Invalid.Thin;
            int24 mean = _mean(ticks[i - 1], ticks[i], subWindow);
            if (mean < lowest) lowest = mean;
            if (mean > highest) highest = mean;
        }
        if (highest - lowest > Constants.MAX_SUB_WINDOW_TICK_SPREAD) return INavOracle.Invalid.Jumpy;
        return INavOracle.Invalid.None;
    }

    /// Only "OLD" means a young pool. Any other failure, lack of gas included, reverts as it came: a caller must not
    /// be able to make a sound reference look invalid by starving this call.
    function _observe(address pool, uint256 endsAgo, uint256 subWindow, uint256 parts)
        private
        view
        returns (bool old, int56[] memory ticks, uint160[] memory perLiquidity)
    {
        uint32[] memory ago = new uint32[](parts + 1);
        for (uint256 i; i <= parts; ++i) {
            ago[i] = uint32(endsAgo + (parts - i) * subWindow);
        }
        try IUniswapV3Pool(pool).observe(ago) returns (
            int56[] memory ticks_, uint160[] memory perLiquidity_
        ) {
            return (false, ticks_, perLiquidity_);
        } catch (bytes memory reason) {
            if (keccak256(reason) == OLD) return (true, ticks, perLiquidity);
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
    }

    function _mean(int56 from, int56 to, uint256 period) private pure returns (int24) {
        int56 delta;
        unchecked {
            delta = to - from; // wraps as the pool's accumulator does
        }
        int56 length = int56(uint56(period));
        int56 mean = delta / length;
        if (delta < 0 && delta % length != 0) mean--;
        return int24(mean);
    }
}
