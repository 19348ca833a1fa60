// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {INavOracle} from "../../src/interfaces/INavOracle.sol";
import {ReferenceWindow} from "../../src/libraries/ReferenceWindow.sol";
import {TickPrice} from "../../src/libraries/TickPrice.sol";
import {ProtocolFixture} from "../support/ProtocolFixture.sol";

contract ReferenceWindowMutantsTest is ProtocolFixture {
    function setUp() public {
        deployProtocol();
        skip(600);
    }

    function test_sub_windows_may_lie_600_ticks_apart_and_not_one_more() public {
        assertTrue(_afterAJumpOf(600) == INavOracle.Invalid.None);
    }

    function test_sub_windows_601_ticks_apart_are_no_reference() public {
        assertTrue(_afterAJumpOf(601) == INavOracle.Invalid.Jumpy);
    }

    /// The last of the three sub-windows lies wholly at the new tick.
    function _afterAJumpOf(int24 ticks) private returns (INavOracle.Invalid) {
        (, int24 tick,,,,,) = bravo.pool.slot0();
        uint160 root = TickPrice.sqrtPriceX96At(tick + ticks) + 1;
        bravo.pool.swap(address(this), false, type(int256).max, root, "");
        (, int24 now_,,,,,) = bravo.pool.slot0();
        assertEq(now_, tick + ticks);
        skip(200);
        return ReferenceWindow.latest(address(bravo.pool), 1).reason;
    }
}
