// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Test} from "../support/Test.sol";
import {OrderHandler} from "./OrderHandler.sol";

/// Invariants 7 to 11 of protocol-rules.md over random lives of many orders.
contract OrderInvariantsTest is Test {
    OrderHandler private handler;
    address private exits;
    address private limits;
    IERC20 private vault;
    IERC20 private usdg;
    address private zapper;

    function setUp() public {
        handler = new OrderHandler();
        handler.found();
        address shares;
        address cash;
        (exits, limits, shares, cash, zapper) = handler.world();
        (vault, usdg) = (IERC20(shares), IERC20(cash));
        bytes4[] memory selectors = new bytes4[](11);
        selectors[0] = OrderHandler.placeExit.selector;
        selectors[1] = OrderHandler.placeLimit.selector;
        selectors[2] = OrderHandler.movePrice.selector;
        selectors[3] = OrderHandler.letTimePass.selector;
        selectors[4] = OrderHandler.letDaysPass.selector;
        selectors[5] = OrderHandler.togglePause.selector;
        selectors[6] = OrderHandler.donate.selector;
        selectors[7] = OrderHandler.fill.selector;
        selectors[8] = OrderHandler.cancel.selector;
        selectors[9] = OrderHandler.sendBack.selector;
        selectors[10] = OrderHandler.arm.selector;
        targetContract(address(handler));
        targetSelectors(address(handler), selectors);
        bytes4[] memory more = new bytes4[](3);
        more[0] = OrderHandler.disarm.selector;
        more[1] = OrderHandler.fill.selector; // three times as likely as the rest
        more[2] = OrderHandler.fill.selector;
        targetSelectors(address(handler), more);
    }

    /// One function, since each one would run its own campaign.
    function invariant_escrows_hold_the_open_ledgers_and_no_rule_of_orders_was_broken() public view {
        _holdingsMatch();
        assertEq(handler.violation(), "");
        assertTrue(handler.ordersAgree(), "an order disagrees with the books");
    }

    /// The invariants would hold just as well over actions that never succeed: this drives the same handler through
    /// a fixed random sequence and asks that every outcome was reached.
    function test_the_random_lives_reach_every_outcome() public {
        uint256 dice = 0x4663;
        for (uint256 i; i < 1_000; i++) {
            dice = uint256(keccak256(abi.encode(dice)));
            _act(dice % 20, dice >> 16);
            if (i % 50 == 0) _holdingsMatch();
        }
        _holdingsMatch();
        assertEq(handler.violation(), "");
        assertTrue(handler.ordersAgree(), "an order disagrees with the books");
        string[11] memory outcomes = [
            "exit placed",
            "limit placed",
            "exit filled",
            "limit filled",
            "auction filled",
            "below floor",
            "cancelled",
            "sent back",
            "armed",
            "disarmed",
            "paused"
        ];
        for (uint256 i; i < outcomes.length; i++) {
            assertGt(handler.times(outcomes[i]), 0, outcomes[i]);
        }
    }

    function _act(uint256 action, uint256 a) private {
        uint256 b = uint256(keccak256(abi.encode(a)));
        if (action == 0) handler.placeExit(a, b, b >> 64, b >> 128);
        else if (action == 1) handler.placeLimit(a, b, b >> 64);
        else if (action < 5) handler.movePrice(a);
        else if (action < 9) handler.letTimePass(a);
        else if (action < 12) handler.arm(a);
        else if (action < 14) handler.disarm(a);
        else if (action == 14 && b % 3 == 0) handler.cancel(a, b >> 8);
        else if (action == 14 && b % 3 == 1) handler.sendBack(a);
        else if (action == 14) handler.donate(a, b);
        else if (action == 15 && b % 8 < (handler.isPaused() ? 6 : 2)) handler.togglePause();
        else if (action == 15 && b % 8 >= 6) handler.letDaysPass(b);
        else handler.fill(a, b);
    }

    function _holdingsMatch() private view {
        assertEq(
            vault.balanceOf(exits), handler.owed(exits) + handler.donatedShares(exits), "shares of exits"
        );
        assertEq(usdg.balanceOf(exits), handler.donatedUsdg(exits), "USDG of exits");
        assertEq(usdg.balanceOf(limits), handler.owed(limits) + handler.donatedUsdg(limits), "USDG of limits");
        assertEq(vault.balanceOf(limits), handler.donatedShares(limits), "shares of limits");
        assertEq(vault.allowance(exits, zapper), 0, "allowance of shares");
        assertEq(usdg.allowance(limits, zapper), 0, "allowance of USDG");
        assertEq(usdg.balanceOf(zapper), 0, "USDG in the zapper");
        assertEq(vault.balanceOf(zapper), 0, "shares in the zapper");
    }
}
