// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Test} from "../support/Test.sol";
import {CoverAttacks} from "./CoverAttacks.sol";
import {CoverHandler} from "./CoverHandler.sol";

/// Invariants 17, 18 and 19 of protocol-rules.md over random weeks of cover.
contract CoverInvariantsTest is Test {
    CoverAttacks private handler;

    function setUp() public {
        handler = new CoverAttacks();
        handler.found();
        bytes4[] memory actions = new bytes4[](30);
        actions[0] = CoverHandler.offer.selector;
        actions[1] = CoverHandler.request.selector;
        actions[2] = CoverHandler.cancel.selector;
        actions[3] = CoverHandler.stopRepeating.selector;
        actions[4] = CoverHandler.sendBack.selector;
        actions[5] = CoverHandler.roll.selector;
        actions[6] = CoverHandler.take.selector;
        actions[7] = CoverHandler.fill.selector;
        actions[8] = CoverHandler.snapshot.selector;
        actions[9] = CoverHandler.settle.selector;
        actions[10] = CoverHandler.voidWeek.selector;
        actions[11] = CoverHandler.payout.selector;
        actions[12] = CoverHandler.claim.selector;
        actions[13] = CoverHandler.collectFees.selector;
        actions[14] = CoverHandler.publishWeeks.selector;
        actions[15] = CoverHandler.moveMarket.selector;
        actions[16] = CoverHandler.letTimePass.selector;
        actions[17] = CoverHandler.donate.selector;
        actions[18] = CoverAttacks.meddleAsAStranger.selector;
        actions[19] = CoverAttacks.tradeOutOfTime.selector;
        actions[20] = CoverAttacks.settleOutOfTime.selector;
        actions[21] = CoverAttacks.payOutWrongly.selector;
        actions[22] = CoverAttacks.dealWithOneself.selector;
        actions[23] = CoverAttacks.takeTooMuch.selector;
        actions[24] = CoverAttacks.tradeWhilePaused.selector;
        actions[25] = CoverHandler.listVault.selector;
        actions[26] = CoverHandler.changeOwner.selector;
        actions[27] = CoverHandler.fundFees.selector;
        actions[28] = CoverAttacks.fundWithoutMoney.selector;
        actions[29] = CoverAttacks.renounce.selector;
        targetContract(address(handler));
        targetSelectors(address(handler), actions);
    }

    /// One function, since each one would run its own campaign.
    function invariant_the_market_holds_what_it_owes_and_no_rule_of_cover_was_broken() public view {
        assertEq(handler.violation(), "");
        assertTrue(handler.holds(), "USDG of the market");
    }

    function afterInvariant() public {
        assertTrue(handler.agrees(), "the market disagrees with the books");
        handler.report(vm, "cover", targetSelectors());
    }
}
