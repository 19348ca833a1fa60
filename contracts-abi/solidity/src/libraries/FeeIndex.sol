// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Constants} from "../Constants.sol";

/// The management fee as a closed form of time: index(t) = (1 - fee)^(t / 365 days), scaled by RAY.
/// Every step rounds to the nearest 1e-27, and the whole is within 1e-18 of the exact value for over a century, so
/// it strictly falls from second to second.
library FeeIndex {
    uint256 private constant YEAR = 365 days;

    /// (1 - fee)^(1 / 365 days) in RAY: exp(ln(1 - fee) / year), both by their series. At fees up to 1% the terms
    /// left out are below 1e-27.
    function factorPerSecond(uint256 feeBps) internal pure returns (uint256) {
        uint256 fee = feeBps * Constants.RAY / Constants.BPS;
        uint256 power = fee;
        uint256 logarithm = fee; // -ln(1 - fee) = fee + fee^2/2 + fee^3/3 + ...
        for (uint256 n = 2; n <= 14; ++n) {
            power = power * fee / Constants.RAY;
            logarithm += power / n;
        }
        uint256 rate = (logarithm + YEAR / 2) / YEAR;
        return Constants.RAY - rate + rate * rate / (2 * Constants.RAY); // exp(-rate); rate^3/6 is below 1e-27
    }

    /// The index `elapsed` seconds after genesis: factor^elapsed by squaring.
    function indexAt(uint256 factor, uint256 elapsed) internal pure returns (uint256 index) {
        index = Constants.RAY;
        for (; elapsed != 0; elapsed >>= 1) {
            if (elapsed & 1 != 0) index = _times(index, factor);
            factor = _times(factor, factor);
        }
    }

    function _times(uint256 a, uint256 b) private pure returns (uint256) {
        return (a * b + Constants.RAY / 2) / Constants.RAY;
    }
}
