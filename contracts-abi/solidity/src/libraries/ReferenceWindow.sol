// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniswapV3Pool} from "../interfaces/uniswap/IUniswapV3Pool.sol";
import {INavOracle} from "../interfaces/INavOracle.sol";
import {Constants} from "../Constants.sol";

/// One pool's last ten minutes, judged by rule 1: long enough a memory, thick in each of three sub-windows, calm
/// between them.
library ReferenceWindow {
    /// keccak256 of Error("OLD"), Uniswap v3's answer when its memory does not reach back far enough.
    bytes32 private constant OLD = keccak256(abi.encodeWithSignature("Error(string)", "OLD"));

    /// The mean tick of the window, rounded down, when `reason` is None.
    function meanTick(address pool, uint128 minLiquidity)
        internal
        view
        returns (INavOracle.Invalid reason, int24 tick)
    {
        (,,, uint16 cardinality,,,) = IUniswapV3Pool(pool).slot0();
        if (cardinality < Constants.MIN_CARDINALITY) return (INavOracle.Invalid.Cardinality, 0);

        (bool old, int56[] memory ticks, uint160[] memory perLiquidity) = _observe(pool);
        if (old) return (INavOracle.Invalid.TooYoung, 0);

        int24 lowest = type(int24).max;
        int24 highest = type(int24).min;
        for (uint256 i; i < 3; ++i) {
            uint160 spent;
            unchecked {
                spent = perLiquidity[i + 1] - perLiquidity[i]; // the pool's accumulator wraps by design
            }
            // Harmonic mean liquidity: seconds x 2^128 over what the accumulator gained.
            if (spent != 0 && (Constants.REFERENCE_SUB_WINDOW << 128) / spent < minLiquidity) {
                return (INavOracle.Invalid.Thin, 0);
            }
            int24 mean = _mean(ticks[i], ticks[i + 1], Constants.REFERENCE_SUB_WINDOW);
            if (mean < lowest) lowest = mean;
            if (mean > highest) highest = mean;
        }
        if (highest - lowest > Constants.MAX_SUB_WINDOW_TICK_SPREAD) return (INavOracle.Invalid.Jumpy, 0);
        return (INavOracle.Invalid.None, _mean(ticks[0], ticks[3], Constants.REFERENCE_WINDOW));
    }

    /// Only "OLD" means a young pool. Any other failure, lack of gas included, reverts as it came: a caller must not
    /// be able to make a sound reference look invalid by starving this call.
    function _observe(address pool)
        private
        view
        returns (bool old, int56[] memory ticks, uint160[] memory perLiquidity)
    {
        uint32[] memory ago = new uint32[](4);
        for (uint256 i; i < 3; ++i) {
            ago[i] = uint32(Constants.REFERENCE_WINDOW - i * Constants.REFERENCE_SUB_WINDOW);
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
