// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Constants} from "../Constants.sol";

/// The management fee as a closed form of time: index(t) = (1 - fee)^(t / 365 days), scaled by RAY. Computed as
/// RAY / exp(rate x t) with 36 digits, which leaves the index exact to 1e-27 for a century and more, so it strictly
/// falls from second to second.
library FeeIndex {
    uint256 private constant YEAR = 365 days;
    uint256 private constant ONE = 1e36;
    /// Above this exponent the power series would not fit into 256 bits; 419 years at the highest fee.
    uint256 private constant MAX_EXPONENT = 4 * ONE;

    /// -ln(1 - fee) x 1e36 = fee + fee^2/2 + fee^3/3 + ..., all digits of it.
    function ratePerYear(uint256 feeBps) internal pure returns (uint256 rate) {
        uint256 fee = feeBps * ONE / Constants.BPS;
        uint256 power = fee;
        for (uint256 n = 1; power != 0; ++n) {
            rate += power / n;
            power = power * fee / ONE;
        }
    }

    /// The index `elapsed` seconds after genesis, to the nearest 1e-27.
    function indexAt(uint256 rate, uint256 elapsed) internal pure returns (uint256) {
        return _inverseExp(rate * elapsed / YEAR);
    }

    function _inverseExp(uint256 exponent) private pure returns (uint256) {
        if (exponent > MAX_EXPONENT) {
            uint256 root = _inverseExp(exponent / 2);
            return root * root / Constants.RAY;
        }
        uint256 term = ONE;
        uint256 sum = ONE;
        // Within 256 bits: every term is below exp(4) x 1e36, and so is term x exponent below 1e76.
        unchecked {
            for (uint256 n = 1; term != 0; ++n) {
                term = term * exponent / (ONE * n);
                sum += term;
            }
        }
        return (ONE * Constants.RAY + sum / 2) / sum;
    }
}
