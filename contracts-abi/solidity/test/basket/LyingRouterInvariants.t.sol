// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Test} from "../support/Test.sol";
import {LyingRouterHandler} from "./LyingRouterHandler.sol";

/// Invariants 5 and 6 of protocol-rules.md for a router that nobody should have trusted. What one trade must keep the
/// handler asserts itself.
contract LyingRouterInvariantsTest is Test {
    LyingRouterHandler private handler;

    function setUp() public {
        handler = new LyingRouterHandler();
        handler.found();
        targetContract(address(handler));
        bytes4[] memory selectors = new bytes4[](7);
        selectors[0] = LyingRouterHandler.honest.selector;
        selectors[1] = LyingRouterHandler.lieToASeller.selector;
        selectors[2] = LyingRouterHandler.lieToABuyer.selector;
        selectors[3] = LyingRouterHandler.lieToASpender.selector;
        selectors[4] = LyingRouterHandler.callBack.selector;
        selectors[5] = LyingRouterHandler.grab.selector;
        selectors[6] = LyingRouterHandler.wait.selector;
        targetSelectors(address(handler), selectors);
    }

    function invariant_the_zapper_keeps_nothing_whatever_the_router_does() public view {
        handler.assertZapperKeepsNothing();
    }

    function afterInvariant() public {
        handler.report(vm, "lying router", targetSelectors());
    }
}
