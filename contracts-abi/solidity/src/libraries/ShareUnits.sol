// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";

/// How much of a constituent stands behind shares (1e18), given its genesis units per share and the fee index.
library ShareUnits {
    uint256 private constant SCALE = Constants.RAY * Constants.SHARE;

    /// One rounding for the whole product; GenesisCheck bounds `units`, so that no realistic `shares` overflows.
    function amountOf(uint256 units, uint256 shares, uint256 index, Math.Rounding rounding)
        internal
        pure
        returns (uint256)
    {
        return Math.mulDiv(units * shares, index, SCALE, rounding);
    }

    /// The most shares that `amount` can stand behind.
    function sharesOf(uint256 amount, uint256 units, uint256 index) internal pure returns (uint256) {
        return Math.mulDiv(amount, SCALE, units * index);
    }
}
