// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Test} from "../support/Test.sol";
import {OrderHandler} from "./OrderHandler.sol";

/// Invariants 7 to 12 of protocol-rules.md over random lives of many exits, limits and schedules. The handler judges
/// each action by books of its own (8 to 12); what the escrows hold is judged here (7).
contract OrderInvariantsTest is Test {
    OrderHandler private handler;
    address[3] private escrows;
    IERC20 private vault;
    IERC20 private usdg;
    address private zapper;

    function setUp() public {
        handler = new OrderHandler();
        handler.found();
        address shares;
        address cash;
        (escrows, shares, cash, zapper) = handler.world();
        (vault, usdg) = (IERC20(shares), IERC20(cash));
        bytes4[] memory selectors = new bytes4[](19);
        selectors[0] = handler.placeExit.selector;
        selectors[1] = handler.placeLimit.selector;
        selectors[2] = handler.placeSchedule.selector;
        selectors[3] = handler.movePrice.selector;
        selectors[4] = handler.letTimePass.selector;
        selectors[5] = handler.letDaysPass.selector;
        selectors[6] = handler.trouble.selector;
        selectors[7] = handler.donate.selector;
        selectors[8] = handler.fill.selector;
        selectors[9] = handler.cancel.selector;
        selectors[10] = handler.sendBack.selector;
        selectors[11] = handler.arm.selector;
        selectors[12] = handler.disarm.selector;
        selectors[13] = handler.cancelAsStranger.selector;
        selectors[14] = handler.sandwich.selector;
        selectors[15] = handler.fillWithHostileSwaps.selector;
        selectors[16] = handler.fillForTheProtocol.selector;
        selectors[17] = handler.fillWithCallback.selector;
        selectors[18] = handler.fillOverBrokenToken.selector;
        targetContract(address(handler));
        targetSelectors(address(handler), selectors);
        bytes4[] memory more = new bytes4[](8); // as likely again as the rest
        more[0] = handler.createAgainstTheRules.selector;
        more[1] = handler.placeExit.selector;
        more[2] = handler.placeLimit.selector;
        more[3] = handler.placeSchedule.selector;
        more[4] = handler.fill.selector;
        more[5] = handler.fill.selector;
        more[6] = handler.letTimePass.selector;
        more[7] = handler.arm.selector;
        targetSelectors(address(handler), more);
    }

    /// One function, since each one would run its own campaign.
    function invariant_escrows_hold_the_open_ledgers_and_no_rule_of_orders_was_broken() public view {
        _holdingsMatch();
        assertEq(handler.violation(), "");
        assertTrue(handler.lastAgrees(), "an order disagrees with the books");
    }

    function afterInvariant() public {
        assertTrue(handler.allAgree(), "an order disagrees with the books");
        handler.report(vm, "orders");
    }

    function _holdingsMatch() private view {
        for (uint256 i; i < 3; i++) {
            address escrow = escrows[i];
            uint256 ledger = handler.owed(escrow);
            assertEq(
                vault.balanceOf(escrow), (i == 0 ? ledger : 0) + handler.donatedShares(escrow), "shares held"
            );
            assertEq(usdg.balanceOf(escrow), (i == 0 ? 0 : ledger) + handler.donatedUsdg(escrow), "USDG held");
            assertEq(vault.allowance(escrow, zapper), 0, "allowance of shares");
            assertEq(usdg.allowance(escrow, zapper), 0, "allowance of USDG");
        }
        assertEq(usdg.balanceOf(zapper), 0, "USDG in the zapper");
        assertEq(vault.balanceOf(zapper), 0, "shares in the zapper");
    }
}
