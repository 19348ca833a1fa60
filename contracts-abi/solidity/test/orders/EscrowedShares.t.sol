// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SwapCall} from "../../src/interfaces/IBasketZapper.sol";
import {IOrderEscrow} from "../../src/interfaces/IOrderEscrow.sol";
import {OrderFixture} from "./OrderFixture.sol";

/// The shares that an owner's exits hold count as the owner's for cover: on the books from create to the end.
contract EscrowedSharesTest is OrderFixture {
    function setUp() public {
        deployWorld();
    }

    function test_create_adds_and_cancel_takes_away() public {
        assertEq(_escrowed(alice), 0);
        bytes32 first = createExit(alice, 10e18, 95e18, 0);
        createExit(alice, 5e18, 0, 130e18);
        assertEq(_escrowed(alice), 15e18);
        vm.prank(alice);
        exits.cancel(first);
        assertEq(_escrowed(alice), 5e18);
    }

    function test_a_fill_takes_away() public {
        bytes32 id = createExit(alice, 10e18, 0, 50e18);
        createExit(alice, 5e18, 50e18, 0);
        exits.fill(id, sellSwaps(10e18), keeper);
        assertEq(_escrowed(alice), 5e18);
    }

    function test_an_expired_order_counts_until_it_is_sent_back() public {
        bytes32 id = createExit(alice, 10e18, 95e18, 0);
        vm.warp(exits.orderOf(id).terms.deadline);
        assertEq(_escrowed(alice), 10e18);
        exits.sendBack(id);
        assertEq(_escrowed(alice), 0);
    }

    function test_each_owner_and_each_vault_has_its_own_sum() public {
        createExit(alice, 10e18, 95e18, 0);
        createExit(bob, 7e18, 95e18, 0);
        vault = mixed;
        createExit(alice, 3e18, 95e18, 0);
        assertEq(exits.escrowedShares(alice, address(tech)), 10e18);
        assertEq(exits.escrowedShares(bob, address(tech)), 7e18);
        assertEq(exits.escrowedShares(alice, address(mixed)), 3e18);
        assertEq(exits.escrowedShares(bob, address(mixed)), 0);
    }

    function test_a_refused_fill_and_a_donation_change_nothing() public {
        bytes32 id = createExit(alice, 10e18, 95e18, 0);
        giveShares(address(exits), 4e18);
        SwapCall[] memory swaps = sellSwaps(10e18);
        vm.expectPartialRevert(IOrderEscrow.NotTriggered.selector);
        exits.fill(id, swaps, keeper);
        assertEq(_escrowed(alice), 10e18);
    }

    function _escrowed(address owner) private view returns (uint256) {
        return exits.escrowedShares(owner, address(vault));
    }
}
