// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";

/// The arithmetic of a session trade, every rounding against the key. Shares are 1e18, NAVs are dollars x 1e18 per
/// share, USDG is 1e6.
library TradeBounds {
    /// shares x nav = dollars x 1e36; a USDG base unit is 1e30 of them.
    uint256 private constant PER_USDG = 1e18 * 1e18 / Constants.USD;

    /// USDG value of `shares` at `nav`.
    function value(uint256 shares, uint256 nav, Math.Rounding rounding) internal pure returns (uint256) {
        return Math.mulDiv(shares, nav, PER_USDG, rounding);
    }

    /// Most USDG that a buy may spend all-in: shares x reference x (1 + slippage).
    function mostSpent(uint256 shares, uint256 nav, uint256 slippageBps) internal pure returns (uint256) {
        return Math.mulDiv(shares, nav * (Constants.BPS + slippageBps), PER_USDG * Constants.BPS);
    }

    /// Least USDG that a sale must bring in net: shares x reference x (1 - slippage).
    function leastReceived(uint256 shares, uint256 nav, uint256 slippageBps) internal pure returns (uint256) {
        return Math.mulDiv(
            shares, nav * (Constants.BPS - slippageBps), PER_USDG * Constants.BPS, Math.Rounding.Ceil
        );
    }

    /// |spot - reference| is at most 3% of the reference (rule 4).
    function spotIsNear(uint256 spot, uint256 nav) internal pure returns (bool) {
        uint256 gap = spot > nav ? spot - nav : nav - spot;
        return gap * Constants.BPS <= nav * Constants.MAX_SPOT_DEVIATION_BPS;
    }

    /// min($20, max($1, 20% of the daily limit)) (rule 20).
    function dailyFeeCap(uint256 dailyLimit) internal pure returns (uint256) {
        uint256 share = Math.mulDiv(dailyLimit, Constants.DAILY_NETWORK_FEES_BPS, Constants.BPS);
        return Math.min(Constants.MAX_DAILY_NETWORK_FEES, Math.max(Constants.MIN_DAILY_NETWORK_FEES, share));
    }
}
