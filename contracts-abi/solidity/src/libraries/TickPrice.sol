// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// The square root of 1.0001^tick, by binary exponentiation.
library TickPrice {
    error TickOutOfRange(int24 tick);

    int24 internal constant MAX_TICK = 887_272; // Uniswap v3's own bound
    uint256 private constant ONE_X128 = 1 << 128;
    uint256 private constant INVERSE_ROOT_X128 = 0xfffcb933bd6fad37aa2d162d1a594001; // 2^128 / sqrt(1.0001)

    /// Q64.96, as slot0 has it. Off by less than 1e-18 of itself where a token and USDG trade (|tick| below 500,000).
    function sqrtPriceX96At(int24 tick) internal pure returns (uint160) {
        if (tick > MAX_TICK || tick < -MAX_TICK) revert TickOutOfRange(tick);
        uint256 exponent = uint256(int256(tick < 0 ? -tick : tick));
        uint256 power = INVERSE_ROOT_X128;
        uint256 inverse = ONE_X128;
        // Every factor is below one, so the products stay within 256 bits.
        unchecked {
            for (; exponent != 0; exponent >>= 1) {
                if (exponent & 1 != 0) inverse = (inverse * power) >> 128;
                power = (power * power) >> 128;
            }
        }
        return tick < 0 ? uint160(inverse >> 32) : uint160((type(uint256).max / inverse) >> 32);
    }
}
