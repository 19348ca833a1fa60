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
        selectors[5] = handler.letHoursPass.selector;
        selectors[6] = handler.trouble.selector;
        selectors[7] = handler.fill.selector;
        selectors[8] = handler.cancel.selector;
        selectors[9] = handler.sendBack.selector;
        selectors[10] = handler.arm.selector;
        selectors[11] = handler.disarm.selector;
        selectors[12] = handler.cancelAsStranger.selector;
        selectors[13] = handler.sandwich.selector;
        selectors[14] = handler.fillWithHostileSwaps.selector;
        selectors[15] = handler.fillForTheProtocol.selector;
        selectors[16] = handler.fillWithCallback.selector;
        selectors[17] = handler.fillOverBrokenToken.selector;
        selectors[18] = handler.fillForBlockedOwner.selector;
        targetContract(address(handler));
        targetSelectors(address(handler), selectors);
        bytes4[] memory more = new bytes4[](7); // more of what matters
        more[0] = handler.createAgainstTheRules.selector;
        more[1] = handler.fill.selector;
        more[2] = handler.fill.selector;
        more[3] = handler.fill.selector;
        more[4] = handler.letTimePass.selector;
        more[5] = handler.movePrice.selector;
        more[6] = handler.arm.selector;
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
        handler.report(vm, "orders", targetSelectors());
    }

    /// The invariants would hold just as well over actions that never succeed: the same handler through a fixed random
    /// sequence does every one of them.
    function test_the_random_lives_reach_every_action() public {
        uint256 dice = 0x4663;
        for (uint256 i; i < 1_000; i++) {
            dice = uint256(keccak256(abi.encode(dice)));
            _act(dice % 26, dice, uint256(keccak256(abi.encode(dice, "again"))));
            if (i % 50 == 0) _holdingsMatch();
        }
        _holdingsMatch();
        assertEq(handler.violation(), "");
        assertTrue(handler.allAgree(), "an order disagrees with the books");
        string[32] memory actions = [
            "create exit",
            "create limit",
            "create schedule",
            "fill exit",
            "fill limit",
            "fill schedule",
            "fill in an auction",
            "fill after a small push",
            "fill with a callback",
            "cancel exit",
            "cancel limit",
            "cancel schedule",
            "cancel over a broken token",
            "send back exit",
            "send back limit",
            "send back schedule",
            "arm exit",
            "arm limit",
            "arm schedule",
            "disarm",
            "refuse arm",
            "refuse disarm",
            "refuse cancel",
            "refuse send back",
            "refuse fill of a closed order",
            "refuse fill of an expired order",
            "refuse fill while paused",
            "refuse fill for a blocked owner",
            "refuse fill without its trigger",
            "refuse fill in a sandwich",
            "refuse hostile swaps",
            "refuse fill over a broken token"
        ];
        for (uint256 i; i < actions.length; i++) {
            assertGt(handler.times(actions[i]), 0, actions[i]);
        }
        assertGt(handler.times("refuse bad terms"), 0);
        assertGt(handler.times("refuse the protocol as executor"), 0);
        assertGt(handler.times("refuse a stranger's cancel"), 0);
    }

    function _act(uint256 action, uint256 a, uint256 b) private {
        a >>= 8;
        if (action == 0) handler.placeExit(a, b, a >> 64, b >> 64, a >> 96);
        else if (action == 1) handler.placeLimit(a, b, a >> 64, b >> 64);
        else if (action == 2) handler.placeSchedule(a, b, a >> 64, b >> 64);
        else if (action < 5) handler.movePrice(a);
        else if (action < 7) handler.letTimePass(a);
        else if (action == 7) handler.letHoursPass(a);
        else if (action == 8) handler.trouble(a);
        else if (action == 9) handler.cancel(a);
        else if (action == 10) handler.sendBack(a);
        else if (action < 13) handler.arm(a);
        else if (action == 13) handler.disarm(a);
        else if (action == 14) handler.cancelAsStranger(a);
        else if (action == 15) handler.sandwich(a, b);
        else if (action == 16) handler.fillWithHostileSwaps(a, b);
        else if (action == 17) handler.fillForTheProtocol(a, b);
        else if (action == 18) handler.fillWithCallback(a, b);
        else if (action == 19) handler.fillOverBrokenToken(a, b);
        else if (action == 20) handler.createAgainstTheRules(a, b);
        else if (action == 21) handler.fillForBlockedOwner(a);
        else handler.fill(a, b);
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
