// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// The square root of 1.0001^tick, by binary exponentiation.
library TickPrice {
    error TickOutOfRange(int24 tick);

    int24 internal constant MAX_TICK = 887_272; // Uniswap v3's own bound

    /// Q64.96, as slot0 has it. Off by less than 1e-18 of itself where a token and USDG trade (|tick| below 500,000).
    function sqrtPriceX96At(int24 tick) internal pure returns (uint160) {
        if (tick > MAX_TICK || tick < -MAX_TICK) revert TickOutOfRange(tick);
        uint256 exponent = uint256(int256(tick < 0 ? -tick : tick));
        uint256 inverse = 1 << 128;
        // The n-th factor is 2^128 / sqrt(1.0001)^(2^n). All are below one, so the products stay within 256 bits.
        unchecked {
            if (exponent & 0x1 != 0) inverse = (inverse * 0xfffcb933bd6fad37aa2d162d1a594001) >> 128;
            if (exponent & 0x2 != 0) inverse = (inverse * 0xfff97272373d413259a46990580e213a) >> 128;
            if (exponent & 0x4 != 0) inverse = (inverse * 0xfff2e50f5f656932ef12357cf3c7fdcc) >> 128;
            if (exponent & 0x8 != 0) inverse = (inverse * 0xffe5caca7e10e4e61c3624eaa0941cd0) >> 128;
            if (exponent & 0x10 != 0) inverse = (inverse * 0xffcb9843d60f6159c9db58835c926644) >> 128;
            if (exponent & 0x20 != 0) inverse = (inverse * 0xff973b41fa98c081472e6896dfb254c0) >> 128;
            if (exponent & 0x40 != 0) inverse = (inverse * 0xff2ea16466c96a3843ec78b326b52861) >> 128;
            if (exponent & 0x80 != 0) inverse = (inverse * 0xfe5dee046a99a2a811c461f1969c3053) >> 128;
            if (exponent & 0x100 != 0) inverse = (inverse * 0xfcbe86c7900a88aedcffc83b479aa3a4) >> 128;
            if (exponent & 0x200 != 0) inverse = (inverse * 0xf987a7253ac413176f2b074cf7815e54) >> 128;
            if (exponent & 0x400 != 0) inverse = (inverse * 0xf3392b0822b70005940c7a398e4b70f3) >> 128;
            if (exponent & 0x800 != 0) inverse = (inverse * 0xe7159475a2c29b7443b29c7fa6e889d9) >> 128;
            if (exponent & 0x1000 != 0) inverse = (inverse * 0xd097f3bdfd2022b8845ad8f792aa5825) >> 128;
            if (exponent & 0x2000 != 0) inverse = (inverse * 0xa9f746462d870fdf8a65dc1f90e061e5) >> 128;
            if (exponent & 0x4000 != 0) inverse = (inverse * 0x70d869a156d2a1b890bb3df62baf32f7) >> 128;
            if (exponent & 0x8000 != 0) inverse = (inverse * 0x31be135f97d08fd981231505542fcfa6) >> 128;
            if (exponent & 0x10000 != 0) inverse = (inverse * 0x9aa508b5b7a84e1c677de54f3e99bc9) >> 128;
            if (exponent & 0x20000 != 0) inverse = (inverse * 0x5d6af8dedb81196699c329225ee604) >> 128;
            if (exponent & 0x40000 != 0) inverse = (inverse * 0x2216e584f5fa1ea926041bedfe98) >> 128;
            if (exponent & 0x80000 != 0) inverse = (inverse * 0x48a170391f7dc42444e8fa2) >> 128;
        }
        return tick < 0 ? uint160(inverse >> 32) : uint160((type(uint256).max / inverse) >> 32);
    }
}
