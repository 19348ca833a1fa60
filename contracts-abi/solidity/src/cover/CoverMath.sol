// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Constants} from "../Constants.sol";

/// What cover costs, pays and rewards. Cover in whole dollars, money in USDG base units, NAVs in dollars x 1e18.
library CoverMath {
    uint256 private constant PRICE_UNIT_USD = 1_000; // prices are per $1,000 of cover

    /// What an underwriter locks.
    function locked(uint256 coverUsd) internal pure returns (uint256) {
        return coverUsd * Constants.USD;
    }

    /// Exact, since prices are multiples of COVER_PRICE_STEP: parts of a listing cost what the whole costs.
    function premium(uint256 coverUsd, uint256 pricePer1k) internal pure returns (uint256) {
        return coverUsd * pricePer1k / PRICE_UNIT_USD;
    }

    /// 1% of the premium, rounded up.
    function fee(uint256 premium_) internal pure returns (uint256) {
        return Math.mulDiv(premium_, Constants.COVER_FEE_BPS, Constants.BPS, Math.Rounding.Ceil);
    }

    /// cover x clamp((drop - from) / (to - from), 0, 1), rounded down once. `closeNav` and `settleNav` fit 128 bits.
    function payout(uint256 coverUsd, uint256 fromBps, uint256 toBps, uint256 closeNav, uint256 settleNav)
        internal
        pure
        returns (uint256)
    {
        uint256 drop = Math.saturatingSub(closeNav, settleNav) * Constants.BPS;
        uint256 above = Math.saturatingSub(drop, closeNav * fromBps);
        uint256 width = closeNav * (toBps - fromBps);
        if (width == 0) return 0; // a NAV of nothing cannot drop
        return Math.mulDiv(locked(coverUsd), Math.min(above, width), width);
    }

    /// Of a snapshot, a settlement or a void: a quarter of the market's own fees at most. With the halves below, nobody
    /// takes more out of the fee pool by serving his own cover than that cover puts in.
    function stepReward(uint256 marketFees) internal pure returns (uint256) {
        return Math.min(Constants.COVER_STEP_REWARD, marketFees / 4);
    }

    /// Of paying out one position: half of its own fee at most.
    function payoutReward(uint256 positionFee) internal pure returns (uint256) {
        return Math.min(Constants.COVER_PAYOUT_REWARD, positionFee / 2);
    }
}
