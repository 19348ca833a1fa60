// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";

/// What a fill must yield and what it pays. USDG in base units (1e6), shares in base units (1e18), NAVs in dollars
/// x 1e18. Whatever protects the owner rounds up; whatever the executor is paid rounds down.
library FillPricing {
    /// shares x nav / this = USDG base units.
    uint256 private constant NAV_PER_USDG = Constants.SHARE * Constants.NAV_SCALE / Constants.USD;

    /// min(max($0.25, 0.15% of gross), 1% of gross), both shares rounded down: never above the cap.
    /// Never falls as `gross` grows, which `grossWithin` relies on.
    function executorFee(uint256 gross) internal pure returns (uint256) {
        uint256 share = Math.mulDiv(gross, Constants.EXECUTOR_FEE_BPS, Constants.BPS);
        uint256 cap = Math.mulDiv(gross, Constants.MAX_EXECUTOR_FEE_BPS, Constants.BPS);
        return Math.min(Math.max(Constants.MIN_EXECUTOR_FEE, share), cap);
    }

    /// The zapper's fee on a buy: 0.20% of gross, rounded up (IBasketZapper).
    function mintFee(uint256 gross) internal pure returns (uint256) {
        return Math.mulDiv(gross, Constants.MINT_FEE_BPS, Constants.BPS, Math.Rounding.Ceil);
    }

    /// The largest gross with gross + mintFee(gross) + executorFee(gross) <= total.
    function grossWithin(uint256 total) internal pure returns (uint256 gross) {
        uint256 feeless = Constants.BPS + Constants.MINT_FEE_BPS;
        uint256 atCap = Math.mulDiv(total, Constants.BPS, feeless + Constants.MAX_EXECUTOR_FEE_BPS);
        uint256 atShare = Math.mulDiv(total, Constants.BPS, feeless + Constants.EXECUTOR_FEE_BPS);
        uint256 atMinimum = total > Constants.MIN_EXECUTOR_FEE
            ? Math.mulDiv(total - Constants.MIN_EXECUTOR_FEE, Constants.BPS, feeless)
            : 0;
        // The larger fee allows the smaller gross: the fee's min and max swap. Each fee's rounding moves the
        // answer by less than one unit, so the search below starts above it and takes a handful of steps.
        gross = Math.max(Math.min(atMinimum, atShare), atCap) + 2;
        while (gross + mintFee(gross) + executorFee(gross) > total) gross--;
    }

    /// Value of `shares` at `nav`, rounded down.
    function valueOf(uint256 shares, uint256 nav) internal pure returns (uint256 usdg) {
        return Math.mulDiv(shares, nav, NAV_PER_USDG);
    }

    /// Least gross of an exit: shares x nav x (1 - tolerance), never below shares x hardFloorNav; rounded up.
    function exitFloor(uint256 shares, uint256 nav, uint256 toleranceBps, uint256 hardFloorNav)
        internal
        pure
        returns (uint256 minGross)
    {
        uint256 tolerated = Math.mulDiv(
            shares, nav * (Constants.BPS - toleranceBps), NAV_PER_USDG * Constants.BPS, Math.Rounding.Ceil
        );
        uint256 hard = Math.mulDiv(shares, hardFloorNav, NAV_PER_USDG, Math.Rounding.Ceil);
        return Math.max(tolerated, hard);
    }

    /// Least shares of a buy of `gross` USDG: gross / (nav x (1 + tolerance)), rounded up.
    function buyFloor(uint256 gross, uint256 nav, uint256 toleranceBps)
        internal
        pure
        returns (uint256 minShares)
    {
        return Math.mulDiv(
            gross, NAV_PER_USDG * Constants.BPS, nav * (Constants.BPS + toleranceBps), Math.Rounding.Ceil
        );
    }
}
