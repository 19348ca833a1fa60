// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Constants} from "../Constants.sol";

/// The price auction of an armed order or slot (rule 11): the tolerance is `baseBps` until armed, widens linearly
/// to `capBps` over 30 minutes, stays there until 60 minutes after arming, then is the base again.
/// Pure over (armedAt, time), so that whoever owns a clock (an order, a schedule's slot) can share it.
library PriceAuction {
    /// True from `armedAt` (inclusive) to 60 minutes later (exclusive). Zero means never armed.
    function isArmed(uint256 armedAt, uint256 time) internal pure returns (bool) {
        return armedAt != 0 && time < armedAt + Constants.ARM_VALIDITY;
    }

    /// Tolerance in bps, rounded down: towards the owner.
    function toleranceBps(uint256 baseBps, uint256 capBps, uint256 armedAt, uint256 time)
        internal
        pure
        returns (uint256)
    {
        if (!isArmed(armedAt, time)) return baseBps;
        uint256 elapsed = time - armedAt;
        if (elapsed >= Constants.ARM_WIDENING) return capBps;
        return baseBps + (capBps - baseBps) * elapsed / Constants.ARM_WIDENING;
    }
}
