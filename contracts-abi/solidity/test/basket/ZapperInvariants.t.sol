// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Test} from "../support/Test.sol";
import {ZapperHandler} from "./ZapperHandler.sol";

/// Invariants 3 to 6 of protocol-rules.md on genuine pools. What one trade must keep the handler asserts itself.
contract ZapperInvariantsTest is Test {
    ZapperHandler private handler;

    function setUp() public {
        handler = new ZapperHandler();
        handler.found();
        targetContract(address(handler));
        bytes4[] memory selectors = new bytes4[](15);
        selectors[0] = ZapperHandler.buy.selector;
        selectors[1] = ZapperHandler.buyExact.selector;
        selectors[2] = ZapperHandler.sell.selector;
        selectors[3] = ZapperHandler.mangleCalldata.selector;
        selectors[4] = ZapperHandler.noiseCalldata.selector;
        selectors[5] = ZapperHandler.shuffleSwaps.selector;
        selectors[6] = ZapperHandler.failingToken.selector;
        selectors[7] = ZapperHandler.reenter.selector;
        selectors[8] = ZapperHandler.giftInMidTrade.selector;
        selectors[9] = ZapperHandler.trespass.selector;
        selectors[10] = ZapperHandler.donate.selector;
        selectors[11] = ZapperHandler.poke.selector;
        selectors[12] = ZapperHandler.togglePause.selector;
        selectors[13] = ZapperHandler.moveMarket.selector;
        selectors[14] = ZapperHandler.wait.selector;
        targetSelectors(address(handler), selectors);
    }

    function invariant_theZapperKeepsNothing() public view {
        handler.assertZapperKeepsNothing();
    }

    function afterInvariant() public {
        handler.report(vm, "zapper", targetSelectors());
    }
}
